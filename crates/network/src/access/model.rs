//! The traits of an access network model, and the macro that generates their forwarding.
//!
//! The configuration of a model implements [`AccessModel`], which a scenario queries before a run.
//! A model that serves a single link also implements [`Serves`] and creates an [`AccessServer`]. A
//! model of a shared medium implements [`Carries`] instead and creates a
//! [`Medium`](crate::medium::Medium).
//!
//! Each hook is declared once, in the list of its trait below. The macro generates the trait and
//! the forwarding of the enums of all models from that list, so a hook cannot be forgotten.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt::Debug;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Rate};

use crate::medium::{SharedMedium, StationConfig};
use crate::{DropReason, Ecn, Payload, Served};

/// Declares a trait and implements it for the enum of all models.
/// `$each!(self, model => call)` calls the model that the enum holds.
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
        #[allow(unused_variables, reason = "most defaults ignore their arguments")]
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
        #[allow(unused_variables, reason = "most defaults ignore their arguments")]
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

/// State that the models of both directions of a path share.
pub type Shared = Arc<dyn Any + Send + Sync>;

/// What a server is created with: its random streams, and the state shared by both directions.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The model draws from streams derived from this one.
    pub rng: &'a ChaCha8Rng,
    /// Values that both directions have in common are drawn from streams derived from this one.
    pub path: &'a ChaCha8Rng,
    /// The shared state that the model of each direction provides.
    pub shared: &'a [Option<Shared>],
}

impl Surroundings<'_> {
    /// The shared state of type `S`, from the first direction that provides it.
    #[must_use]
    pub fn shared<S: Any + Send + Sync>(&self) -> Option<Arc<S>> {
        let shared = self.shared.iter().flatten();
        shared
            .filter_map(|shared| Arc::clone(shared).downcast().ok())
            .next()
    }
}

hooks! {
    /// The configuration of an access network model: what a scenario queries before a run.
    trait AccessModel: Debug; for AccessConfig by each_config
    needs {
        /// The long-term mean rate, for a buffer given in BDPs.
        fn mean_rate(&self) -> Rate;
    }
    may {
        /// The mean delay that the model adds to a packet on an idle link.
        fn idle_delay(&self) -> Duration {
            Duration::ZERO
        }

        /// Whether the end of a packet's service can depend on packets that arrive later. The link
        /// then serves a packet when it reaches the head of the queue, not on its arrival.
        fn serves_late(&self) -> bool {
            false
        }

        /// Whether it draws random numbers, so that two runs may differ.
        fn is_random(&self) -> bool {
            true
        }

        /// Whether the model suppresses queued ACKs that a newer ACK makes redundant. Its drop-tail
        /// queue then reads acknowledgment numbers ([`crate::Link::filter_acks`]).
        fn filters_acks(&self) -> bool {
            false
        }

        /// State that this direction provides for both directions of its path. Its random numbers
        /// come from streams derived from `path`. A server finds it in its [`Surroundings`].
        fn shared(&self, path: &ChaCha8Rng) -> Option<Shared> {
            None
        }
    }
}

hooks! {
    /// The server of a model. Calls come in order of time.
    mut trait AccessServer: Clone, Debug; for Model by each_server
    needs {
        /// Serves a packet that arrives at `now`; the packets before it are served by `busy_until`.
        /// With [`AccessModel::serves_late`], `now` is when the packet reaches the head of the queue.
        fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served;

        /// The bytes that a new server with a saturated queue can serve before `until`. The call may
        /// use the server up. It takes time in proportion to the number of slots, so it is made
        /// once, at the end of a run.
        fn capacity(&mut self, until: Instant) -> Bytes;
    }
    may {
        /// Whether the model drops a packet that arrives at `now`, before the queue sees it. A model
        /// that marks packets changes `ecn`.
        fn refuses(&mut self, now: Instant, bytes: u64, ecn: &mut Ecn) -> Option<DropReason> {
            None
        }

        /// The queue accepted a packet at `now`, or the packet went straight into service. The call
        /// precedes the packet's `serve`.
        fn enters(&mut self, now: Instant, bytes: u64) -> () {}

        /// The queue drops `bytes` of the accepted packets at `now`; they will not be served.
        fn loses(&mut self, now: Instant, bytes: u64) -> () {}

        /// Whether a packet that was queued is served as of its arrival instead of as of the moment
        /// at which it reached the head of the queue.
        fn asks_when_it_came(&mut self) -> bool {
            false
        }

        /// When a packet whose service ended at `end` is delivered, in order. Called once for each
        /// packet, after its `serve`.
        fn release(&mut self, end: Instant) -> Instant {
            end
        }
    }
}

/// A model that serves a single link.
pub trait Serves: AccessModel {
    /// Its server.
    type Server: AccessServer;

    /// Creates the server for a run.
    fn server(&self, around: &Surroundings<'_>) -> Self::Server;
}

/// A model of a medium that several links share.
pub trait Carries: AccessModel {
    /// Creates the medium, with a station for each of `stations`. Its random streams are derived
    /// from that of the first station.
    fn medium<T: Payload>(&self, stations: &[StationConfig<'_>]) -> SharedMedium<T>;
}
