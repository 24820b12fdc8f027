//! The start-up of a flow: why and how slow start ended, and what it brought until then.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant, Rate};

/// Delivered bytes are counted at these times after the SYN, in seconds.
const MARKS: [u64; 3] = [1, 3, 10];
/// The capacity is reached with this much of it, in percent.
const NEAR: u64 = 90;
/// The shortest interval in which a rate is measured.
const SHORTEST: Duration = Duration::from_millis(20);

/// The first slow-start exit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowStartExitResult {
    /// Seconds since the SYN left.
    pub time_s: f64,
    /// The congestion window at the decision, before any reduction.
    pub cwnd_bytes: u64,
    /// The same in full packets: TCP counts the payload of segments, QUIC that of UDP datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd_packets: Option<u64>,
    /// The reason for the exit.
    pub reason: Cow<'static, str>,
    /// The reason with its numbers, in one line: `ack-train: 51.2 ms > 50.0 ms`. The reason alone
    /// where no numbers are known.
    #[serde(default)]
    pub evidence: Cow<'static, str>,
    /// The same numbers by name; the names end with their units (`_ms`, `_bytes`, `_bps`). Absent
    /// without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// The measured value and the threshold of the test, where there was one; times in
    /// milliseconds. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<[f64; 2]>,
    /// The state of the path at the exit; absent where only the sender is observed, and for passive
    /// exits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathAtExit>,
}

impl SlowStartExitResult {
    /// An exit of which only the word for its reason is known.
    #[must_use]
    pub const fn without_evidence(time_s: f64, cwnd_bytes: u64, reason: &'static str) -> Self {
        Self {
            time_s,
            cwnd_bytes,
            cwnd_packets: None,
            reason: Cow::Borrowed(reason),
            evidence: Cow::Borrowed(reason),
            values: BTreeMap::new(),
            measured: None,
            path: None,
        }
    }

    /// The same, with its window in packets of `bytes`.
    #[must_use]
    pub const fn in_packets_of(mut self, bytes: u64) -> Self {
        self.cwnd_packets = self.cwnd_bytes.checked_div(bytes);
        self
    }
}

/// What a simulator sees when slow start ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathAtExit {
    /// Round trips since the handshake: the one in progress counts.
    pub round_trips: u32,
    /// Bytes in flight, before the exit's ACK releases any.
    pub in_flight_bytes: u64,
    /// Rate of payload that the ACKs of the last complete round trip delivered; null before the end
    /// of the first.
    pub delivered_bps: Option<u64>,
    /// Packets that waited at the bottleneck; null for a flow that does not use it.
    pub queue_packets: Option<u64>,
    /// Their bytes, with the link's overhead.
    pub queue_bytes: Option<u64>,
    /// Whether the application limited the sender.
    pub app_limited: bool,
}

/// What a start-up brought, and what it cost the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartupResult {
    /// Payload acknowledged or SACKed one second after the SYN; all of it if the transfer completed
    /// before. Null if the flow ended before without completing. Counted with the first ACK from
    /// then on.
    pub delivered_1s_bytes: Option<u64>,
    /// The same after three seconds.
    pub delivered_3s_bytes: Option<u64>,
    /// The same after ten seconds.
    pub delivered_10s_bytes: Option<u64>,
    /// The end of the first base RTT (at least 20 ms) in which ACKs delivered 90 % of what the
    /// bottleneck carries at its mean rate. Null if there was none.
    pub near_capacity_s: Option<f64>,
    /// Payload of the flow that was sent in slow start and that the network dropped.
    pub overshoot_bytes: u64,
    /// The longest queue at the bottleneck until one base RTT after the exit, or until the end of
    /// the flow, in packets. Null for a flow that does not use it.
    pub queue_max_packets: Option<u64>,
    /// Whether a test ended slow start before capacity while the application limited the sender.
    pub false_exit: bool,
}

/// The state of the path that [`StartupProbe`] cannot see.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    /// Waiting packets and bytes.
    pub queue: (u64, Bytes),
    /// The longest queue so far, in packets.
    pub queue_max_packets: u64,
}

/// Follows the start-up of one flow. It is asked at an ACK that ends slow start or a round trip of it,
/// and at others only when [`Self::is_due`] says so.
///
/// What [`Self::is_due`] reads lies together at the beginning, because it is in no cache where many
/// flows run.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct StartupProbe {
    /// The time of [`Self::due`].
    due: Instant,
    /// Before this, nothing but the rate is due.
    other: Instant,
    /// Fewer bytes in an interval are not near the capacity, however long it is.
    least: u64,
    /// Begin of the interval in which the rate is measured, and what was delivered by then.
    interval: Option<(Instant, u64)>,
    /// The end of the current round trip as an offset.
    round_end: u64,
    exit: Option<Box<(Instant, PathAtExit)>>,
    base_rtt: Duration,
    start: Instant,
    /// Payload that the bottleneck carries at its mean rate.
    capacity: Option<Rate>,
    /// Begin of the current round trip, and what was delivered by then.
    round: (Instant, u64),
    round_trips: u32,
    delivered_bps: Option<u64>,
    queue_max_packets: Option<u64>,
    /// Whether `queue_max_packets` is final.
    is_queue_known: bool,
    marks: [Option<u64>; MARKS.len()],
    near_capacity: Option<Instant>,
    overshoot: u64,
}

impl StartupProbe {
    /// The probe of a flow whose SYN leaves at `start`, over a bottleneck that carries payload at
    /// `capacity`.
    #[must_use]
    pub fn new(start: Instant, base_rtt: Duration, capacity: Option<Rate>) -> Self {
        let near = |capacity: Rate| capacity.bytes_in(span(base_rtt)).get().saturating_mul(NEAR);
        Self {
            start,
            base_rtt,
            capacity,
            round: (Instant::ZERO, 0),
            round_end: 0,
            round_trips: 0,
            delivered_bps: None,
            exit: None,
            queue_max_packets: None,
            is_queue_known: false,
            marks: [None; MARKS.len()],
            interval: None,
            near_capacity: None,
            overshoot: 0,
            due: Instant::ZERO,
            other: Instant::ZERO,
            least: capacity.map_or(0, |capacity| near(capacity).div_ceil(100)),
        }
    }

    /// Whether there is a capacity to reach: the flow's data crosses the bottleneck, which has a rate.
    #[must_use]
    pub const fn has_capacity(&self) -> bool {
        self.capacity.is_some()
    }

    /// When to call [`Self::is_due`] again: at the first ACK from then on.
    #[must_use]
    pub const fn due(&self) -> Instant {
        if self.exit.is_some() {
            self.due
        } else {
            Instant::ZERO
        }
    }

    /// Whether an ACK up to `snd_una` ends a round trip of slow start, so that [`Self::on_ack`] is to be
    /// called.
    #[must_use]
    pub const fn ends_round(&self, snd_una: u64) -> bool {
        self.exit.is_none() && snd_una >= self.round_end
    }

    /// Whether [`Self::on_ack`] is to be called at this ACK, which ends neither slow start nor a round
    /// trip of it. `delivered` is what was acknowledged or SACKed so far.
    ///
    /// Shortcut: an ACK at which only the search for the capacity is due, and which ends an interval far
    /// from it, is taken here. It is exact because `on_ack` would do no more than begin the next
    /// interval.
    pub fn is_due(&mut self, now: Instant, delivered: u64) -> bool {
        if now < self.due {
            return false;
        }
        let before = self.interval.map_or(0, |(_, before)| before);
        if now >= self.other || delivered.saturating_sub(before) >= self.least {
            return true;
        }
        self.interval = Some((now, delivered));
        self.due = self.other.min(now + span(self.base_rtt));
        false
    }

    /// Whether slow start was seen to end.
    #[must_use]
    pub const fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// An ACK was processed: `delivered` is what was acknowledged or SACKed so far, `snd_una` and
    /// `snd_nxt` the sender's offsets before it sends anything new.
    pub fn on_ack(&mut self, now: Instant, snd_una: u64, snd_nxt: u64, delivered: u64) {
        if self.ends_round(snd_una) {
            let (began, before) = self.round;
            if self.round_trips > 0 {
                let rate = bits_per_second(
                    // A receiver may discard what it SACKed.
                    delivered.saturating_sub(before),
                    now.saturating_since(began),
                );
                self.delivered_bps = rate.or(self.delivered_bps);
            }
            self.round = (now, delivered);
            // What leaves now belongs to the round that begins.
            self.round_end = snd_nxt + 1;
            self.round_trips += 1;
        }
        for (mark, seconds) in self.marks.iter_mut().zip(MARKS) {
            if mark.is_none() && now >= self.start + Duration::from_secs(seconds) {
                *mark = Some(delivered);
            }
        }
        self.seek_capacity(now, delivered);
    }

    fn seek_capacity(&mut self, now: Instant, delivered: u64) {
        let (None, Some(capacity)) = (self.near_capacity, self.capacity) else {
            return;
        };
        let Some((began, before)) = self.interval else {
            self.interval = Some((now, delivered));
            return;
        };
        let elapsed = now.saturating_since(began);
        if elapsed < span(self.base_rtt) {
            return;
        }
        let carried = capacity.bytes_in(elapsed).get();
        if delivered.saturating_sub(before).saturating_mul(100) >= carried.saturating_mul(NEAR) {
            self.near_capacity = Some(now);
        }
        self.interval = Some((now, delivered));
    }

    /// Slow start has ended at `at`; `in_flight` is in flight.
    pub fn on_exit(
        &mut self,
        at: Instant,
        in_flight: Bytes,
        app_limited: bool,
        bottleneck: Option<&Bottleneck>,
    ) {
        let queue = bottleneck.map(|bottleneck| bottleneck.queue);
        let path = PathAtExit {
            round_trips: self.round_trips,
            in_flight_bytes: in_flight.get(),
            delivered_bps: self.delivered_bps,
            queue_packets: queue.map(|(packets, _)| packets),
            queue_bytes: queue.map(|(_, bytes)| bytes.get()),
            app_limited,
        };
        self.exit = Some(Box::new((at, path)));
    }

    /// Whether the longest queue is to be read, with [`Self::on_queue`].
    #[must_use]
    pub fn reads_queue(&self, now: Instant) -> bool {
        let until = self.exit.as_deref().map(|(at, _)| *at + self.base_rtt);
        !self.is_queue_known && until.is_some_and(|until| now >= until)
    }

    /// The longest queue so far, in packets.
    pub fn on_queue(&mut self, packets: Option<u64>) {
        if !self.is_queue_known {
            self.queue_max_packets = packets;
            self.is_queue_known = true;
        }
    }

    /// The network dropped `payload` of a segment that left at `sent`.
    pub fn on_drop(&mut self, sent: Instant, payload: u64) {
        if self.exit.as_deref().is_none_or(|(at, _)| sent <= *at) {
            self.overshoot += payload;
        }
    }

    /// Finds out when the next ACK matters.
    pub fn plan(&mut self) {
        let marks = self.marks.iter().zip(MARKS);
        let open = marks.filter(|(mark, _)| mark.is_none());
        let mark = open.map(|(_, seconds)| self.start + Duration::from_secs(seconds));
        let exit = self.exit.as_deref().filter(|_| !self.is_queue_known);
        let queue = exit.map(|(at, _)| *at + self.base_rtt);
        self.other = mark.chain(queue).min().unwrap_or(Instant::MAX);
        self.due = self.other;
        if let (Some((began, _)), None) = (self.interval, self.near_capacity) {
            self.due = self.other.min(began + span(self.base_rtt));
        }
    }

    /// Each ACK matters, until the next [`Self::plan`].
    pub const fn ask_always(&mut self) {
        self.due = Instant::ZERO;
        self.other = Instant::ZERO;
    }

    /// The state of the path at the exit.
    #[must_use]
    pub fn at_exit(&self) -> Option<PathAtExit> {
        self.exit.as_deref().map(|(_, path)| path.clone())
    }

    /// The result of a flow with `delivered` bytes in the end; `is_early` says that a test ended
    /// slow start before capacity.
    #[must_use]
    pub fn result(&self, delivered: u64, is_complete: bool, is_early: bool) -> StartupResult {
        let mark = |place: usize| self.marks[place].or(is_complete.then_some(delivered));
        let app_limited = self
            .exit
            .as_deref()
            .is_some_and(|(_, path)| path.app_limited);
        StartupResult {
            delivered_1s_bytes: mark(0),
            delivered_3s_bytes: mark(1),
            delivered_10s_bytes: mark(2),
            near_capacity_s: self
                .near_capacity
                .map(|at| at.saturating_since(self.start).as_secs_f64()),
            overshoot_bytes: self.overshoot,
            queue_max_packets: self.queue_max_packets,
            false_exit: is_early && app_limited,
        }
    }
}

/// The shortest interval in which the rate is measured.
fn span(base_rtt: Duration) -> Duration {
    base_rtt.max(SHORTEST)
}

fn bits_per_second(bytes: u64, span: Duration) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    let rate = bits.checked_div(u128::from(span.as_nanos()))?;
    u64::try_from(rate).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000;

    /// A flow that doubles each 100 ms from ten segments of 1000 bytes, over 8 Mbit/s.
    fn probe() -> StartupProbe {
        let rate = Rate::from_bits_per_sec(8_000_000);
        StartupProbe::new(Instant::ZERO, Duration::from_millis(100), Some(rate))
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn round_trips_and_the_rate_of_the_last_complete_one_are_found() {
        let mut probe = probe();
        let (mut una, mut window) = (0, 10);
        for round in 1..=4 {
            // One ACK for each segment, one millisecond apart.
            let begin = round * 100 * MS;
            for segment in 0..=window {
                let acked = una + segment * 1_000;
                let sent = una + window * 1_000; // nothing is released yet
                probe.on_ack(at(begin + segment * MS), acked, sent, acked);
            }
            una += window * 1_000;
            window *= 2;
        }
        probe.on_exit(at(500 * MS), Bytes::new(7), true, None);
        let path = probe.at_exit().expect("it has left");
        assert_eq!(path.round_trips, 4);
        // The fourth round began with 70 segments delivered, the third one with 30.
        assert_eq!(path.delivered_bps, Some(40_000 * 8 * 10));
        assert_eq!((path.in_flight_bytes, path.queue_packets), (7, None));
        let result = probe.result(1_000_000, true, true);
        assert!(result.false_exit);
        assert!(!probe.result(1_000_000, true, false).false_exit);
    }

    #[test]
    fn capacity_is_near_with_nine_tenths_of_it() {
        for (per_ack, expected) in [(890, None), (900, Some(0.2))] {
            let mut probe = probe();
            for ack in 0..=2_000 {
                probe.on_ack(
                    at(100 * MS + ack * MS),
                    ack * per_ack,
                    ack * per_ack,
                    ack * per_ack,
                );
            }
            let result = probe.result(0, false, false);
            assert_eq!(result.near_capacity_s, expected, "{per_ack}");
            assert_eq!(result.delivered_1s_bytes, Some(900 * per_ack));
            assert_eq!(result.delivered_3s_bytes, None);
        }
    }

    #[test]
    fn only_segments_of_slow_start_overshoot() {
        let mut probe = probe();
        probe.on_drop(at(10), 1_000);
        let bottleneck = Bottleneck {
            queue: (3, Bytes::new(3_000)),
            queue_max_packets: 8,
        };
        probe.on_exit(at(20), Bytes::ZERO, false, Some(&bottleneck));
        probe.on_drop(at(20), 1_000);
        probe.on_drop(at(21), 1_000);
        assert_eq!(probe.result(0, false, false).overshoot_bytes, 2_000);
        assert!(!probe.reads_queue(at(20)) && probe.reads_queue(at(20 + 100 * MS)));
        probe.on_queue(Some(8));
        probe.on_queue(Some(9));
        assert_eq!(probe.result(0, false, false).queue_max_packets, Some(8));
        // What is left are the first mark and the search for capacity, once there was an ACK.
        probe.plan();
        assert_eq!(probe.due(), at(1_000 * MS));
        assert!(!probe.is_due(at(1_000 * MS - 1), 0));
        assert!(probe.is_due(at(1_000 * MS), 0));
    }

    /// A flow that is now near the capacity and now far from it, with ACKs at random times. It leaves slow
    /// start at once, late, or never.
    #[test]
    fn a_probe_asked_when_due_ends_like_one_asked_at_each_ack() {
        let mut generator = testing::random::Random::new(7);
        let (mut asked, mut found) = (0, 0);
        for _ in 0..200 {
            let [mut always, mut watched] = [probe(), probe()];
            let exit =
                [0, 0, generator.below(20), generator.below(500)][generator.below(4) as usize];
            let (mut now, mut delivered) = (0, 0_u64);
            let most = 4 + generator.below(30);
            for ack in 0..400 {
                now += generator.below(30 * MS);
                // 1000 bytes in a millisecond are the capacity. A receiver may discard SACKed data.
                delivered += generator.below(most) * 1_000;
                delivered -= delivered.min(generator.below(2_000));
                let in_flight = generator.below(50) * 1_000;
                let step = |probe: &mut StartupProbe| {
                    probe.on_ack(at(now), delivered, delivered + in_flight, delivered);
                    if ack == exit {
                        probe.on_exit(at(now), Bytes::ZERO, false, None);
                    }
                    if probe.reads_queue(at(now)) {
                        probe.on_queue(Some(now));
                    }
                };
                step(&mut always);
                if ack == exit
                    || watched.ends_round(delivered)
                    || now >= watched.due().as_micros() && watched.is_due(at(now), delivered)
                {
                    step(&mut watched);
                    watched.plan();
                    asked += 1;
                }
            }
            assert_eq!(always.at_exit(), watched.at_exit());
            let results = [&always, &watched].map(|probe| probe.result(0, false, false));
            assert_eq!(results[0], results[1]);
            found += u32::from(results[0].near_capacity_s.is_some());
        }
        assert!((20..180).contains(&found), "{found} of 200 came near");
        assert!(asked < 200 * 100, "asked {asked} times");
    }
}
