//! Stages of a link that hold packets whose departure is unknown on arrival.
//!
//! A stage stands between the random losses of a link and its delay line. It puts a packet on the
//! line as soon as its departure is known, possibly before that departure.

use core::fmt::Debug;

use units::{Bytes, Duration, Instant};

use crate::busy::{BusyTime, Period};
use crate::line::Line;
use crate::{AirCounters, Counters, DropReason, Dropped, Ecn, Packet, Sent};

pub(crate) trait DequeueStage<T>: Debug + Send + Sync {
    /// Whether a packet that arrives at `now` is dropped before the queue sees it; may mark it. The
    /// stage has advanced to `now`.
    fn refuses(&mut self, _now: Instant, _bytes: u64, _ecn: &mut Ecn) -> Option<DropReason> {
        None
    }

    /// Offers a packet of `bytes`, overhead included.
    fn push(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
        line: &mut Line<T>,
    ) -> Result<(), DropReason>;

    /// Performs all services that are due by `now`, each as of the instant at which it is due.
    fn advance(&mut self, now: Instant, line: &mut Line<T>);

    /// Puts packets on the line that may leave it before its current front.
    fn receive(&mut self, _now: Instant, _line: &mut Line<T>) {}

    /// When a packet may become due earlier than the front of the line.
    fn next_event(&self) -> Instant {
        Instant::MAX
    }

    /// Packets and bytes in the queue.
    fn queue_len(&self) -> (u64, Bytes);

    fn queue_max_packets(&self) -> u64;

    fn queue_mean_packets(&mut self, now: Instant) -> f64;

    /// Packets in the stage that are not on the line.
    fn held(&self) -> u64;

    /// Adds the drops and marks of accepted packets.
    fn count(&self, counters: &mut Counters);

    fn has_dropped(&self) -> bool;

    fn take_dropped(&mut self) -> Option<Dropped<T>>;

    /// From now on [`Self::take_sent`] returns packets.
    fn keep_sent(&mut self) {}

    /// A packet that the sender's radio is done with.
    fn take_sent(&mut self) -> Option<Sent> {
        None
    }

    fn busy(&self) -> BusyTime;

    fn keep_busy_periods(&mut self, shortest: Duration);

    fn take_busy_period(&mut self) -> Option<Period>;

    /// The bytes that could have been served before `now`, if that is defined.
    fn capacity(&mut self, _now: Instant) -> Option<Bytes> {
        None
    }

    /// Used and available service until `now`: both in bytes or both in nanoseconds.
    fn used(&mut self, now: Instant) -> (u64, u64);

    /// Sets how its queue reads ACKs, if it suppresses redundant ones.
    fn filter_acks(&mut self, _plain_ack: fn(&T) -> Option<u32>) {}

    /// The frames sent over its medium.
    fn air(&self) -> Option<AirCounters> {
        None
    }
}
