//! A flow while it runs.

use scenario::Application;
use units::Instant;

use crate::dial::Control;
use crate::host::{Act, Facts, Host};
use crate::observer::Observer;

/// A flow of the run.
pub(crate) struct Flow<'a> {
    pub config: &'a scenario::Flow,
    pub control: Control,
    pub observer: Observer,
    pub hosts: Option<[Box<dyn Host>; 2]>,
    pub established: Option<Instant>,
    pub finished: Option<Instant>,
    pub capacity: Option<Instant>,
    /// When the application acts next, and what is left of its data.
    pub next_act: Option<Instant>,
    pub left: Option<u64>,
}

impl Flow<'_> {
    /// Nothing more happens in it.
    pub fn is_over(&mut self, now: Instant) -> bool {
        if self.finished.is_some() {
            return true;
        }
        let Some(hosts) = &mut self.hosts else {
            return false;
        };
        let [client, server] = hosts.each_mut().map(|host| host.facts());
        if server.is_finished {
            self.finished = Some(now);
        }
        let is_closed = |facts: &Facts| facts.closed.is_some() || facts.fault.is_some();
        server.is_finished || is_closed(&client) || is_closed(&server)
    }

    /// What a stack of others did wrong.
    pub fn fault(&mut self) -> Option<String> {
        let hosts = self.hosts.as_mut()?;
        hosts.iter_mut().find_map(|host| host.facts().fault)
    }

    /// What its application does at `now`.
    pub fn act(&mut self, now: Instant) {
        let Some([client, _]) = &mut self.hosts else {
            return;
        };
        let stop = self
            .config
            .duration
            .map(|duration| self.config.start + duration);
        if stop.is_some_and(|stop| now >= stop) {
            self.next_act = None;
            client.application(now, Act::Finish);
            return;
        }
        let left = self.left.unwrap_or(u64::MAX);
        let (amount, next) = match self.config.application {
            Application::Periodic { write, every } => (write.get().min(left), Some(now + every)),
            Application::Bulk | Application::Pausing { .. } => (left, None),
        };
        self.left = self.left.map(|left| left - amount);
        if self.left == Some(0) {
            client.application(now, Act::WriteLast(amount));
            self.next_act = None;
        } else {
            client.application(now, Act::Write(amount));
            let next = next.into_iter().chain(stop);
            self.next_act = next.min();
        }
    }
}
