//! Delivery-rate samples, as Linux takes them (`tcp_rate.c`) and the BBR draft describes them.
//!
//! The transport keeps one [`RateEstimator`] for a connection and one [`SendStamp`] for each
//! segment in flight.

use units::{Bytes, Duration, Instant};

/// What a segment remembers of the connection at the time it was (last) sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendStamp {
    /// Delivered so far, then.
    pub delivered: Bytes,
    /// When that was delivered.
    pub delivered_time: Instant,
    /// Send time of the first segment of the flight that the sample measures.
    pub first_sent: Instant,
    /// Whether the application limited the sender.
    pub app_limited: bool,
}

/// A delivery-rate sample of one ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Delivered in the interval.
    pub delivered: Bytes,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// The connection's total when the sampled segment was sent (round counting).
    pub prior_delivered: Bytes,
    /// The connection's total now.
    pub total_delivered: Bytes,
    /// Lost since the connection began.
    pub total_lost: Bytes,
    /// In flight just after the sampled segment left, itself included. Zero, as is [`Self::lost`],
    /// where the congestion control does not watch losses.
    pub tx_in_flight: Bytes,
    /// Declared lost since the sampled segment left.
    pub lost: Bytes,
    /// Whether the sampled segment was sent while the application limited the sender.
    pub app_limited: bool,
    /// Whether the ACK was probably delayed by the receiver (one segment, not a full pair).
    pub ack_delayed: bool,
}

/// The connection's side of delivery-rate sampling.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateEstimator {
    delivered: Bytes,
    delivered_time: Instant,
    first_sent: Instant,
    /// While non-zero: samples are application-limited until `delivered` passes it.
    app_limited_until: Bytes,
}

/// The most recently sent segment that an ACK delivered.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Its stamp.
    pub stamp: SendStamp,
    /// When it was (last) sent.
    pub sent: Instant,
    /// In flight just after that, and declared lost since the connection began until then; zero
    /// where the congestion control does not watch losses.
    pub tx_in_flight: Bytes,
    /// See [`Self::tx_in_flight`].
    pub lost: Bytes,
}

impl RateEstimator {
    /// Delivered since the connection began.
    #[must_use]
    pub const fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// The stamp for a segment that is sent now; `nothing_in_flight` before it.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, nothing_in_flight: bool) -> SendStamp {
        if nothing_in_flight {
            self.first_sent = now;
            self.delivered_time = now;
        }
        SendStamp {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            app_limited: self.is_app_limited(),
        }
    }

    /// Whether samples are application-limited now (Linux `tp->app_limited`).
    #[inline]
    #[must_use]
    pub const fn is_app_limited(&self) -> bool {
        !self.app_limited_until.is_zero()
    }

    /// `size` more was delivered by the ACK now being processed.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, size: Bytes) {
        self.delivered += size;
        self.delivered_time = now;
    }

    /// The application has nothing more to send for now, with this much in flight.
    pub fn on_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited_until = (self.delivered + in_flight).max(Bytes::new(1));
    }

    /// What [`Self::sample`] leaves for later samples, if the algorithm does not read this one.
    /// `newest_sent` is when the newest segment left that the ACK delivered.
    #[inline]
    pub fn skip_sample(&mut self, newest_sent: Option<Instant>) {
        if self.is_app_limited() && self.delivered > self.app_limited_until {
            self.app_limited_until = Bytes::ZERO;
        }
        if let Some(sent) = newest_sent {
            self.first_sent = sent;
        }
    }

    /// The sample of an ACK, after all its deliveries were counted. `None` when nothing was
    /// delivered or the interval is shorter than the path's smallest RTT.
    pub fn sample(
        &mut self,
        now: Instant,
        newest: Option<Newest>,
        min_rtt: Duration,
        lost: Bytes,
        ack_delayed: bool,
    ) -> Option<RateSample> {
        self.skip_sample(newest.map(|newest| newest.sent));
        let Newest {
            stamp,
            sent,
            tx_in_flight,
            lost: lost_before,
        } = newest?;
        let send_interval = sent.saturating_since(stamp.first_sent);
        let ack_interval = now.saturating_since(stamp.delivered_time);
        let interval = send_interval.max(ack_interval);
        if interval.is_zero() || interval < min_rtt {
            return None;
        }
        Some(RateSample {
            delivered: self.delivered.saturating_sub(stamp.delivered),
            interval,
            prior_delivered: stamp.delivered,
            total_delivered: self.delivered,
            total_lost: lost,
            tx_in_flight,
            lost: if tx_in_flight.is_zero() {
                Bytes::ZERO
            } else {
                lost.saturating_sub(lost_before)
            },
            app_limited: stamp.app_limited,
            ack_delayed,
        })
    }
}
