//! The memory of connections, and the settings of new ones.

use std::sync::Arc;

use measure::StartupProbe;
use scenario::{Flow, FlowSettings};
use tcp::{ReceiverConfig, SenderConfig, Tick};
use units::Duration;

use super::result::Names;
use super::{Endpoints, FlowState};
use crate::connection::Member;
use crate::conversation::Conversation;

/// Linux's `TCP_RTO_MIN`.
const RTO_MIN: Duration = Duration::from_millis(200);

/// The memory of connections that are over, for those that follow.
#[derive(Debug, Default)]
pub struct Pool<'a> {
    /// The settings of the connection that opened last: the next one often has the same.
    recent: Option<Recent<'a>>,
    /// The last one closed is in the cache, and opens first.
    #[expect(clippy::vec_box, reason = "they move between here and their flows")]
    pub(super) closed: Vec<Box<Endpoints>>,
    #[expect(clippy::vec_box, reason = "they move between here and their flows")]
    startups: Vec<Box<StartupProbe>>,
    #[expect(clippy::vec_box, reason = "they move between here and their flows")]
    conversations: Vec<Box<Conversation>>,
    #[expect(clippy::vec_box, reason = "they move between here and their flows")]
    members: Vec<Box<Member>>,
    pub(super) names: Names,
    /// No connection opens any more.
    is_over: bool,
}

/// The settings of connections with these parameters.
#[derive(Debug)]
struct Recent<'a> {
    config: &'a Flow,
    smss: u32,
    sender: SenderConfig,
    receiver: ReceiverConfig,
}

impl<'a> Recent<'a> {
    fn new(config: &'a Flow, smss: u32) -> Self {
        Self {
            config,
            smss,
            sender: sender_config(config, smss),
            receiver: receiver_config(config, smss),
        }
    }

    fn is_of(&self, config: &'a Flow, smss: u32) -> bool {
        let alike = || {
            let settings = FlowSettings {
                // The ends do not know it.
                extra_delay: self.config.extra_delay,
                ..config.settings
            };
            Arc::ptr_eq(&self.config.algorithm, &config.algorithm)
                && self.config.settings == settings
        };
        self.smss == smss && (std::ptr::eq(self.config, config) || alike())
    }

    /// Sets what each connection has of its own.
    fn sow(&mut self, seed: u64) {
        self.sender.seed = seed;
        self.sender.tick = Tick::new(self.config.tick, seed);
        // Another host, with a phase of its own.
        self.receiver.tick = Tick::new(self.config.tick, !seed);
    }
}

impl<'a> Pool<'a> {
    /// The endpoints of a new connection.
    pub(super) fn open(&mut self, config: &'a Flow, smss: u32, seed: u64) -> Box<Endpoints> {
        self.recent.take_if(|recent| !recent.is_of(config, smss));
        let recent = self.recent.get_or_insert_with(|| Recent::new(config, smss));
        recent.sow(seed);
        let Recent {
            sender, receiver, ..
        } = recent;
        let mut endpoints = match self.closed.pop() {
            Some(mut endpoints) => {
                endpoints.renew(sender, *receiver);
                endpoints
            }
            None => Box::new(Endpoints::new(sender.clone(), *receiver)),
        };
        if config.ecn && config.accurate_ecn.is_agreed() {
            endpoints.count_marks();
        }
        endpoints
    }

    pub(super) fn close(&mut self, mut endpoints: Box<Endpoints>) {
        if !self.is_over {
            self.startups.extend(endpoints.startup.take());
            self.closed.push(endpoints);
        }
    }

    /// A probe of a start-up, in the memory of one that is over.
    pub fn startup(&mut self, probe: StartupProbe) -> Box<StartupProbe> {
        in_memory_of(self.startups.pop(), probe)
    }

    /// An application, in the memory of one that is over.
    pub fn conversation(&mut self, conversation: Conversation) -> Box<Conversation> {
        in_memory_of(self.conversations.pop(), conversation)
    }

    /// A place in a connection, in the memory of one that is over.
    pub fn member(&mut self, member: Member) -> Box<Member> {
        in_memory_of(self.members.pop(), member)
    }

    /// Takes the memory of a flow that is over.
    pub fn take(&mut self, state: &mut FlowState<'_>) {
        if !self.is_over {
            self.conversations.extend(state.conversation.take());
            self.members.extend(state.member.take());
        }
    }

    /// No connection opens any more: gives the memory up, which the results may take.
    pub fn end(&mut self) {
        self.is_over = true;
        self.closed = Vec::new();
        self.startups = Vec::new();
        self.conversations = Vec::new();
        self.members = Vec::new();
    }
}

fn in_memory_of<T>(old: Option<Box<T>>, new: T) -> Box<T> {
    match old {
        Some(mut old) => {
            *old = new;
            old
        }
        None => Box::new(new),
    }
}

fn sender_config(config: &Flow, smss: u32) -> SenderConfig {
    SenderConfig {
        algorithm: *config.algorithm,
        smss,
        initial_window: config.initial_window,
        pacing: config.pacing,
        tso_segments: config.tso_segments,
        restart_after_idle: config.restart_after_idle,
        rto_min: RTO_MIN,
        ecn: config.ecn,
        sack: config.sack,
        impatient: config.impatient,
        small_queue: config.small_queue,
        loss_detection: config.loss_detection,
        byte_counting: config.byte_counting,
        seed: 0,
        tick: Tick::new(config.tick, 0),
    }
}

fn receiver_config(config: &Flow, smss: u32) -> ReceiverConfig {
    ReceiverConfig {
        receive_buffer: config.receive_buffer,
        initial_window: config.syn_window.min(config.receive_buffer),
        mss: smss,
        merged: smss,
        truesize: config.truesize.map_or(0, |bytes| bytes.get() as u32),
        autotuning: config.autotuning,
        ack_policy: config.ack_policy,
        sack: config.sack,
        tick: Tick::new(config.tick, 0),
    }
}
