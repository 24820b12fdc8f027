//! What a start-up would send as a TCP of Linux.

use congestion::{Algorithm, AnyCongestionControl, CongestionControl};
use units::{Bytes, Instant, Rate};

use super::First;
use crate::feed::{Feed, bytes};
use crate::report::Connection;
use crate::series::Step;

/// Segments that leave at once before Linux begins to pace.
const UNPACED: i64 = 10;

/// Bursts at a pace: when the next one may leave, and when the current one began with how much.
#[derive(Clone, Copy, Default)]
struct Pacer {
    due: i64,
    began: i64,
    sent: f64,
}

impl Pacer {
    /// Bytes leave at `at`.
    fn charge(&mut self, at: i64, amount: f64, rate: Rate) {
        if at > self.began {
            (self.began, self.sent) = (at, 0.0);
        }
        self.sent += amount;
        let bits = rate.bits_per_sec() as f64;
        self.due = at + (self.sent * 8e9 / bits.max(1.0)) as i64;
    }
}

/// What a start-up would send.
pub struct Candidate {
    feed: Feed,
    pub control: AnyCongestionControl,
    is_paced: bool,
    pub paces: bool,
    /// One past the last byte that it would have sent, and until when.
    next: f64,
    at: i64,
    /// Its pace, and the same for what the real sender sent.
    pacer: Pacer,
    real: Pacer,
    /// The end of the receive window, and of the data.
    edge: i64,
    total: i64,
    /// Most in flight since a round trip, and what was sent then (Linux `max_packets_out`).
    most: i64,
    usage: i64,
}

impl Candidate {
    pub fn new(
        connection: &Connection,
        algorithm: &Algorithm,
        is_paced: bool,
        first: First,
    ) -> Self {
        let total = connection.bytes as i64;
        let built = |initial: u64| {
            let feed = Feed::new(connection, first.at, Bytes::new(initial));
            let mut control = algorithm.build(feed.context());
            control.on_established(&feed.established(bytes(total), bytes(first.edge)));
            (feed, control)
        };
        let (mut feed, mut control) = built(first.flight);
        // One that begins with a multiple of the initial window.
        let window = control.window().cwnd.get();
        if window > first.flight {
            let less = first.flight * first.flight / window;
            let (other, smaller) = built(less);
            if smaller.window().cwnd.get().abs_diff(first.flight) < window - first.flight {
                (feed, control) = (other, smaller);
            }
        }
        Self {
            feed,
            control,
            is_paced,
            paces: false,
            next: 0.0,
            at: first.at,
            pacer: Pacer::default(),
            real: Pacer::default(),
            edge: first.edge,
            total,
            most: 0,
            usage: 0,
        }
    }

    /// Whether the window was the limit in the last round trip (Linux `tcp_is_cwnd_limited`).
    fn is_limited(&self) -> bool {
        self.control.window().cwnd < bytes(self.most) * 2
    }

    /// The pace, if segments do not leave at once.
    fn pace(&mut self) -> Option<Rate> {
        let own = self.control.pacing_rate();
        self.paces |= own.is_some();
        own.or_else(|| self.is_paced.then(|| self.window_rate()))
    }

    /// Twice the window per smoothed round trip in the first half of slow start, then 1.2.
    fn window_rate(&self) -> Rate {
        let window = self.control.window();
        let Some(srtt) = self.feed.srtt.filter(|srtt| !srtt.is_zero()) else {
            return Rate::MAX;
        };
        let percent = if window.cwnd < window.ssthresh / 2 {
            200
        } else {
            120
        };
        let bits = u128::from(window.cwnd.get()) * 8 * percent / 100 * 1_000_000_000;
        let rate = bits / u128::from(srtt.as_nanos());
        Rate::from_bits_per_sec(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// One past the last byte that the windows permit.
    fn limit(&self) -> f64 {
        let cwnd = self.control.window().cwnd.get().min(1 << 40) as i64;
        (self.feed.una + cwnd).min(self.edge).min(self.total) as f64
    }

    /// A burst of Linux in bytes: a millisecond of the pace, and more on short paths.
    fn burst(&self, rate: Rate) -> f64 {
        let smss = self.feed.smss.get();
        let halvings = (self.feed.min_rtt.as_nanos() / 1000) >> 9;
        let bonus = if halvings < 32 { 65_536 >> halvings } else { 0 };
        let most = ((rate.bytes_per_sec() >> 10) + bonus).min(65_536);
        let least = u64::from(self.control.least_burst_segments());
        ((most / smss).max(least) * smss) as f64
    }

    /// Whether what is sent up to `next` leaves without a pace: the first segments of Linux.
    fn is_free(&self, next: f64) -> bool {
        !self.paces && next < (UNPACED * self.feed.smss.get() as i64) as f64
    }

    /// It sends until `at`.
    fn run(&mut self, at: i64) {
        let limit = self.limit();
        let since = self.at;
        self.at = at.max(since);
        let Some(rate) = self.pace().filter(|rate| *rate != Rate::MAX) else {
            self.next = self.next.max(limit);
            return;
        };
        let start = self.control.pacing_start();
        let start = start.map_or(0, |start| Instant::as_nanos(start) as i64);
        let (burst, smss) = (self.burst(rate), self.feed.smss.get() as f64);
        while self.next < limit {
            let when = self.pacer.due.max(since).max(start);
            let left = limit - self.next;
            if when > self.at || left < smss && limit < self.total as f64 {
                break;
            }
            let amount = burst.min(left);
            if self.is_free(self.next) {
                self.next += smss.min(left);
                continue;
            }
            self.pacer.charge(when, amount, rate);
            self.next += amount;
        }
    }

    pub fn take(&mut self, step: Step) {
        match step {
            Step::Sent(at, start, end, _) => {
                self.run(at);
                if let Some(rate) = self.pace()
                    && !self.is_free(start as f64)
                {
                    self.real.charge(at, (end - start) as f64, rate);
                }
                let sent = self.feed.sent(at, start, end);
                self.control.on_sent(&sent);
                let flight = self.feed.in_flight();
                if self.feed.una >= self.usage || flight > self.most {
                    (self.most, self.usage) = (flight, end);
                }
            }
            Step::Acked(at, una, edge, _) => {
                self.run(at);
                let window = self.control.window().cwnd;
                let mut ack = self.feed.acked(at, una, window);
                ack.cwnd_limited = self.is_limited();
                ack.paced = self.is_paced || self.paces;
                ack.pacing_rate = self.window_rate();
                self.control.on_delivery(&ack);
                self.control.on_ack(&ack);
                self.edge = edge;
                self.next = self.next.max(una as f64);
            }
        }
    }

    /// What it has in flight at `at`; it continues from what was really sent.
    pub fn compare(&mut self, at: i64) -> u64 {
        self.run(at);
        let made = (self.next - self.feed.una as f64).max(0.0) as u64;
        self.next = self.feed.next as f64;
        self.pacer = self.real;
        made
    }
}
