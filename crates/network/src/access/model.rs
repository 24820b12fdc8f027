//! What a model of an access network is: two short contracts, and the macros that forward them.
//!
//! A model's configuration is an [`AccessModel`]: it answers what a scenario asks before a run. A model that
//! serves one link [`Serves`] as well: it makes an [`AccessServer`]. A model that several links
//! share [`Carries`] instead: it makes a [`Medium`].
//!
//! Each hook stands once, in the list of its contract below. The enums of all models forward what stands in the
//! lists, so that no hook can be forgotten.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt::Debug;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Rate};

use crate::medium::{SharedMedium, StationConfig};
use crate::{DropReason, Ecn};

/// Declares a contract and its forwarding: `$each!(self, model => call)` calls the model that an enum holds.
macro_rules! hooks {
    (
        $(#[$about:meta])*
        trait $contract:ident: $($bound:path),+; for $enum:ident by $each:ident
        needs { $( $(#[$doc:meta])* fn $hook:ident(&$this:ident $(, $arg:ident: $ty:ty)*) -> $ret:ty; )* }
        may { $(
            $(#[$may_doc:meta])*
            fn $may:ident(&$may_this:ident $(, $may_arg:ident: $may_ty:ty)*) -> $may_ret:ty $usual:block
        )* }
    ) => {
        $(#[$about])*
        #[allow(unused_variables, reason = "what is usual does not depend on them")]
        pub trait $contract: $($bound +)+ {
            $( $(#[$doc])* fn $hook(&$this $(, $arg: $ty)*) -> $ret; )*
            $( $(#[$may_doc])* fn $may(&$may_this $(, $may_arg: $may_ty)*) -> $may_ret $usual )*
        }
        impl $contract for super::$enum {
            $( fn $hook(&$this $(, $arg: $ty)*) -> $ret { $each!($this, model => model.$hook($($arg),*)) } )*
            $( fn $may(&$may_this $(, $may_arg: $may_ty)*) -> $may_ret {
                $each!($may_this, model => model.$may($($may_arg),*))
            } )*
        }
    };
    (
        $(#[$about:meta])*
        mut trait $contract:ident: $($bound:path),+; for $enum:ident by $each:ident
        needs { $( $(#[$doc:meta])* fn $hook:ident(&mut $this:ident $(, $arg:ident: $ty:ty)*) -> $ret:ty; )* }
        may { $(
            $(#[$may_doc:meta])*
            fn $may:ident(&mut $may_this:ident $(, $may_arg:ident: $may_ty:ty)*) -> $may_ret:ty $usual:block
        )* }
    ) => {
        $(#[$about])*
        #[allow(unused_variables, reason = "what is usual does not depend on them")]
        pub trait $contract: $($bound +)+ {
            $( $(#[$doc])* fn $hook(&mut $this $(, $arg: $ty)*) -> $ret; )*
            $( $(#[$may_doc])* fn $may(&mut $may_this $(, $may_arg: $may_ty)*) -> $may_ret $usual )*
        }
        impl $contract for super::$enum {
            $( fn $hook(&mut $this $(, $arg: $ty)*) -> $ret {
                $each!($this, model => model.$hook($($arg),*))
            } )*
            $( fn $may(&mut $may_this $(, $may_arg: $may_ty)*) -> $may_ret {
                $each!($may_this, model => model.$may($($may_arg),*))
            } )*
        }
    };
}

/// What becomes of a packet in a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When its service starts: it no longer counts as waiting.
    pub start: Instant,
    /// When its last bit is through; [`Instant::MAX`] is never.
    pub end: Instant,
    /// Whether, since the packet before it, so much went unused that this packet could have been served
    /// with it: a new busy period.
    pub after_gap: bool,
}

/// What the models of both directions of a path use together.
pub type Shared = Arc<dyn Any + Send + Sync>;

/// What a server is made beside: its random streams, and what it shares with the other direction.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The model draws from streams beside this one.
    pub rng: &'a ChaCha8Rng,
    /// What it has in common with the other direction it draws beside this one.
    pub path: &'a ChaCha8Rng,
    /// What the models of the path share, by direction.
    pub shared: &'a [Option<Shared>],
}

impl Surroundings<'_> {
    /// What is shared of type `S`: of the first direction that has one.
    #[must_use]
    pub fn shared<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        let shared = self.shared.iter().flatten();
        shared
            .filter_map(|shared| Arc::clone(shared).downcast().ok())
            .next()
    }
}

hooks! {
    /// A model of an access network, by its configuration: what a scenario asks before a run.
    trait AccessModel: Debug; for AccessConfig by each_config
    needs {
        /// The rate averaged over a long time, for a buffer given in bandwidth-delay products.
        fn mean_rate(&self) -> Rate;
    }
    may {
        /// What the model adds on average to the delay of a packet that finds nobody there.
        fn idle_delay(&self) -> Duration {
            Duration::ZERO
        }

        /// Whether the end of a service can depend on packets that arrive after its own, so that a packet
        /// is served when its turn has come and not before.
        fn serves_late(&self) -> bool {
            false
        }

        /// Whether the model suppresses ACKs that have become redundant while they waited. Its drop-tail
        /// queue then looks at what a packet acknowledges ([`crate::Link::filter_acks`]).
        fn filters_acks(&self) -> bool {
            false
        }

        /// What this direction has for both directions of its path; its random numbers are beside `path`.
        /// A server finds it in its [`Surroundings`].
        fn shared(&self, path: &ChaCha8Rng) -> Option<Shared> {
            None
        }
    }
}

hooks! {
    /// The server of a model. Calls come in order of time.
    mut trait AccessServer: Clone, Debug; for Model by each_server
    needs {
        /// Serves a packet that is offered at `now` (of a model that serves late: whose turn comes at
        /// `now`), while those before it are through by `busy_until`.
        fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served;

        /// The bytes that could be through before `until`, of a server at its beginning whose queue is
        /// never empty, which is of no use afterwards. Takes time in proportion to the slots: it is for the
        /// end of a run.
        fn capacity(&mut self, until: Instant) -> Bytes;
    }
    may {
        /// Whether a packet offered at `now` is refused before it could queue: what the model itself drops. A
        /// model that marks changes `ecn`.
        fn refuses(&mut self, now: Instant, bytes: u64, ecn: &mut Ecn) -> Option<DropReason> {
            None
        }

        /// A packet was taken into the queue (or straight into service) at `now`. For models that
        /// learn from arrivals; it comes before the packet's `serve`.
        fn enters(&mut self, now: Instant, bytes: u64) -> () {}

        /// Of what was taken into the queue so many bytes are dropped at `now` and will not be served.
        fn loses(&mut self, now: Instant, bytes: u64) -> () {}

        /// Whether when a packet came, and not when its turn comes, says which of its blocks may carry it,
        /// where a queue holds packets until their turn.
        fn asks_when_it_came(&mut self) -> bool {
            false
        }

        /// When what was through at `end` is handed on: in order, so never before what was handed on last.
        /// Called once for each packet, after its `serve`.
        fn release(&mut self, end: Instant) -> Instant {
            end
        }
    }
}

/// A model that serves one link.
pub trait Serves: AccessModel {
    /// Its server.
    type Server: AccessServer;

    /// The server at the beginning of a run.
    fn server(&self, around: &Surroundings<'_>) -> Self::Server;
}

/// A model whose links share a medium.
pub trait Carries: AccessModel {
    /// The medium that this configuration describes, with a station for each of `stations`, the first of which
    /// its streams lie beside.
    fn medium<T: Payload>(&self, stations: &[StationConfig<'_>]) -> SharedMedium<T>;
}

/// What a link carries and does not look into.
pub trait Payload: Debug + Send + Sync + 'static {}

impl<T: Debug + Send + Sync + 'static> Payload for T {}
