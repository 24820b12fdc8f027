//! A congestion control that is not common, in a box, and others that watch it.
//!
//! A watcher is notified of all that happens to the connection, and acts on nothing. One transfer
//! then shows what each of several passive start-ups decides
//! ([`Algorithm::acts_as`](congestion::Algorithm::acts_as)).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use congestion::{
    Algorithm, AnyCongestionControl, BuildContext, CongestionControl, Hold, SlowStartExit,
};

use super::Sender;

/// Where a sender holds such a congestion control.
#[derive(Clone, Debug)]
pub struct Held(Box<Content>);

#[derive(Clone, Debug)]
struct Content {
    control: AnyCongestionControl,
    /// What builds the watchers when the connection is established.
    watching: Vec<Algorithm>,
    watchers: Vec<AnyCongestionControl>,
}

impl Held {
    /// Holds `control`, in the memory of one that is over if there is one.
    pub(super) fn in_memory_of(over: Option<Self>, control: AnyCongestionControl) -> Self {
        let content = Content {
            control,
            watching: Vec::new(),
            watchers: Vec::new(),
        };
        match over {
            Some(mut held) => {
                *held.0 = content;
                held
            }
            None => Self(Box::new(content)),
        }
    }

    /// The connection is established: builds the watchers.
    pub(super) fn establish(&mut self, context: &BuildContext) {
        let Content {
            watching, watchers, ..
        } = &mut *self.0;
        watchers.clear();
        watchers.extend(watching.iter().map(|algorithm| algorithm.build(*context)));
    }
}

impl Deref for Held {
    type Target = AnyCongestionControl;

    fn deref(&self) -> &AnyCongestionControl {
        &self.0.control
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut AnyCongestionControl {
        &mut self.0.control
    }
}

impl Hold for Held {
    fn watchers(&mut self) -> &mut [AnyCongestionControl] {
        &mut self.0.watchers
    }
}

impl Sender {
    /// Lets congestion controls of `algorithms`, each of which acts as the connection's own, watch
    /// it. Call it before [`Self::open`].
    pub fn watch(&mut self, algorithms: impl IntoIterator<Item = Algorithm>) {
        if let Some(held) = self.cc.other() {
            held.0.watching.extend(algorithms);
        }
    }

    /// What each watcher decided and did not carry out; see [`Self::passive_decision`].
    pub fn watched_decisions(&mut self) -> Vec<Option<SlowStartExit>> {
        let held = self.cc.other();
        let watchers = held.map_or(&mut [][..], |held| held.watchers());
        watchers
            .iter()
            .map(CongestionControl::passive_decision)
            .collect()
    }
}
