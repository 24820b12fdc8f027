//! A connection whose peer is a script: the input of the sender and its expected output, line by
//! line.
//!
//! Segments are numbered from zero and have the same size. Time is in milliseconds since the end of
//! the handshake. An expectation about transmissions covers all since the previous expectation.

use std::fmt::Write as _;

use congestion::{Algorithm, Phase};
use tcp::segment::{AckSegment, SackBlocks};
use tcp::{LossDetection, Sender, SenderConfig, Tick};
use units::{Bytes, Duration, Instant};

/// How a script begins. The defaults are common to the packetdrill scripts.
pub struct Setup {
    pub algorithm: &'static str,
    pub mss: u32,
    pub rtt_ms: u64,
    pub pacing: bool,
    pub restart_after_idle: bool,
    pub ecn: bool,
    pub sack: bool,
    pub impatient: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            algorithm: "cubic",
            mss: 1000,
            rtt_ms: 100,
            pacing: false,
            restart_after_idle: false,
            ecn: false,
            sack: true,
            impatient: false,
        }
    }
}

/// One segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    start: u64,
    end: u64,
    again: bool,
}

/// A scripted connection; see the module.
pub struct Script {
    pub sender: Sender,
    mss: u64,
    epoch: Instant,
    now: Instant,
    unseen: Vec<Sent>,
    /// Highest byte sent so far.
    highest: u64,
    window: u32,
    /// Timestamps of the segments sent, and the echo of the next ACKs (zero: none).
    stamps: Vec<(Instant, u32)>,
    echo: u32,
    /// Whether the next ACKs report congestion marks.
    marked: bool,
}

impl Script {
    /// An established connection: the SYN left one round trip before time zero.
    pub fn new(setup: Setup) -> Self {
        let config = SenderConfig {
            algorithm: setup
                .algorithm
                .parse::<Algorithm>()
                .expect("a known algorithm"),
            smss: setup.mss,
            initial_window: 10,
            pacing: setup.pacing,
            tso_segments: (65_536 / setup.mss).min(45),
            restart_after_idle: setup.restart_after_idle,
            rto_min: Duration::from_millis(200),
            ecn: setup.ecn,
            sack: setup.sack,
            impatient: setup.impatient,
            small_queue: None,
            loss_detection: LossDetection::default(),
            byte_counting: true,
            seed: 1,
            tick: Tick::NONE,
        };
        let mut sender = Sender::new(config);
        let start = Instant::from_millis(1);
        sender.open(start);
        let syn = sender.poll_transmit(start).expect("a SYN");
        assert!(syn.syn);
        assert!(sender.poll_transmit(start).is_none(), "nothing but a SYN");
        let epoch = start + Duration::from_millis(setup.rtt_ms);
        let syn_ack = AckSegment {
            window: 65_535,
            syn: true,
            ..AckSegment::default()
        };
        sender.handle_ack(epoch, &syn_ack);
        let mut script = Self {
            sender,
            mss: u64::from(setup.mss),
            epoch,
            now: epoch,
            unseen: Vec::new(),
            highest: 0,
            window: 1 << 20,
            stamps: Vec::new(),
            echo: 0,
            marked: false,
        };
        script.send();
        script
    }

    fn send(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let start = segment.seq;
            let end = start + u64::from(segment.len);
            let again = end <= self.highest;
            assert_eq!(
                segment.retransmission,
                again && segment.len > 0,
                "{}",
                self.place()
            );
            self.stamps.push((self.now, segment.ts_val));
            self.highest = self.highest.max(end);
            self.unseen.push(Sent {
                at: self.now,
                start,
                end,
                again,
            });
        }
    }

    fn advance(&mut self, until: Instant) {
        while let Some(due) = self.sender.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.sender.handle_timeout(self.now);
            self.send();
        }
        self.now = until;
    }

    /// The position in the script, for messages.
    fn place(&self) -> String {
        let window = self.sender.window();
        let micros = self.now.saturating_since(self.epoch).as_micros();
        format!(
            "at {}.{:03} ms (una {}, cwnd {}, {:?})",
            micros / 1_000,
            micros % 1_000,
            self.sender.snd_una() / self.mss,
            window.cwnd_segments(),
            self.sender.phase(),
        )
    }

    /// Advances to `ms` after the handshake. Timers fire on the way.
    pub fn at(&mut self, ms: u64) -> &mut Self {
        let until = self.epoch + Duration::from_millis(ms);
        assert!(
            until >= self.now,
            "the script must not go back in time, {}",
            self.place()
        );
        self.advance(until);
        self
    }

    /// Advances by `ms`.
    pub fn after(&mut self, ms: u64) -> &mut Self {
        self.advance(self.now + Duration::from_millis(ms));
        self
    }

    /// The application writes `segments` more.
    pub fn write(&mut self, segments: u64) -> &mut Self {
        self.sender.write(self.now, segments * self.mss);
        self.send();
        self
    }

    /// The advertised window of all ACKs from here on.
    pub fn window(&mut self, bytes: u32) -> &mut Self {
        self.window = bytes;
        self
    }

    /// The ACKs from here on echo the timestamp of the segment sent at `ms`.
    pub fn echo(&mut self, ms: u64) -> &mut Self {
        let at = self.epoch + Duration::from_millis(ms);
        let sent = self.stamps.iter().rfind(|(sent, _)| *sent <= at);
        self.echo = sent.expect("a segment was sent by then").1;
        self
    }

    /// Whether the ACKs from here on report congestion marks.
    pub fn marked(&mut self, marked: bool) -> &mut Self {
        self.marked = marked;
        self
    }

    /// All segments below `next` are acknowledged.
    pub fn ack(&mut self, next: u64) -> &mut Self {
        self.sack(next, &[])
    }

    /// Like [`Self::ack`], with SACK blocks of segments, the ends exclusive.
    pub fn sack(&mut self, next: u64, blocks: &[(u64, u64)]) -> &mut Self {
        let bytes: Vec<_> = blocks
            .iter()
            .map(|(from, to)| (from * self.mss, to * self.mss))
            .collect();
        self.sack_bytes(next, &bytes)
    }

    /// Like [`Self::sack`], with blocks in bytes.
    pub fn sack_bytes(&mut self, next: u64, blocks: &[(u64, u64)]) -> &mut Self {
        let ack = next * self.mss;
        let mut sack = SackBlocks::default();
        for (from, to) in blocks {
            sack.push(ack, *from, *to);
        }
        let segment = AckSegment {
            ack,
            window: self.window,
            sack,
            ts_ecr: self.echo,
            ece: self.marked,
            ..AckSegment::default()
        };
        self.sender.handle_ack(self.now, &segment);
        self.send();
        self
    }

    fn described(&self) -> String {
        let mut text = String::new();
        for sent in &self.unseen {
            let micros = sent.at.saturating_since(self.epoch).as_micros();
            let again = if sent.again { " retransmitted" } else { "" };
            let (from, to) = (
                sent.start as f64 / self.mss as f64,
                sent.end as f64 / self.mss as f64,
            );
            let _ = write!(text, " [{from}..{to}{again} at {} us]", micros);
        }
        if text.is_empty() {
            " nothing".into()
        } else {
            text
        }
    }

    /// Expects retransmissions of the segments `again`, then `new` new segments, and nothing else.
    pub fn expect_sent(&mut self, again: &[u64], new: u64) -> &mut Self {
        let repeated: Vec<_> = self
            .unseen
            .iter()
            .filter(|sent| sent.again)
            .map(|sent| sent.start / self.mss)
            .collect();
        let fresh: u64 = self
            .unseen
            .iter()
            .filter(|sent| !sent.again)
            .map(|sent| sent.end - sent.start)
            .sum();
        assert!(
            repeated == again && fresh == new * self.mss,
            "expected {again:?} retransmitted and {new} new, got{} {}",
            self.described(),
            self.place()
        );
        self.unseen.clear();
        self
    }

    /// Expects `new` new segments and nothing else.
    pub fn expect_new(&mut self, new: u64) -> &mut Self {
        self.expect_sent(&[], new)
    }

    /// Expects these retransmissions and nothing else.
    pub fn expect_retransmitted(&mut self, again: &[u64]) -> &mut Self {
        self.expect_sent(again, 0)
    }

    /// Expects that nothing was sent.
    pub fn expect_nothing(&mut self) -> &mut Self {
        self.expect_sent(&[], 0)
    }

    /// Discards the segments sent since the last expectation.
    pub fn ignore_sent(&mut self) -> &mut Self {
        self.unseen.clear();
        self
    }

    /// Departure times of the segments since the last expectation, in microseconds after the
    /// handshake.
    pub fn take_departures(&mut self) -> Vec<u64> {
        let since = |sent: Sent| sent.at.saturating_since(self.epoch).as_micros();
        let times = self.unseen.iter().map(|sent| since(*sent)).collect();
        self.unseen.clear();
        times
    }

    /// The segments retransmitted since the last expectation.
    pub fn take_retransmitted(&mut self) -> Vec<u64> {
        let all = std::mem::take(&mut self.unseen);
        all.into_iter()
            .filter(|sent| sent.again)
            .map(|sent| sent.start / self.mss)
            .collect()
    }

    /// Expects that the last transmission left at `ms` after the handshake.
    pub fn expect_sent_at(&mut self, ms: u64) -> &mut Self {
        let last = self
            .unseen
            .last()
            .map(|sent| sent.at.saturating_since(self.epoch));
        assert_eq!(
            last,
            Some(Duration::from_millis(ms)),
            "sent{} {}",
            self.described(),
            self.place()
        );
        self
    }

    pub fn expect_cwnd(&mut self, segments: u64) -> &mut Self {
        let cwnd = self.sender.window().cwnd;
        assert_eq!(
            cwnd,
            Bytes::new(segments * self.mss),
            "cwnd {}",
            self.place()
        );
        self
    }

    /// `None`: never set.
    pub fn expect_ssthresh(&mut self, segments: Option<u64>) -> &mut Self {
        let expected = segments.map_or(Bytes::MAX, |segments| Bytes::new(segments * self.mss));
        assert_eq!(
            self.sender.window().ssthresh,
            expected,
            "ssthresh {}",
            self.place()
        );
        self
    }

    pub fn expect_phase(&mut self, phase: Phase) -> &mut Self {
        assert_eq!(self.sender.phase(), phase, "{}", self.place());
        self
    }

    /// Segments marked lost and not yet delivered.
    pub fn expect_lost(&mut self, segments: u32) -> &mut Self {
        assert_eq!(
            self.sender.segments_lost_out(),
            segments,
            "lost {}",
            self.place()
        );
        self
    }

    pub fn expect_sacked(&mut self, segments: u32) -> &mut Self {
        assert_eq!(
            self.sender.segments_sacked_out(),
            segments,
            "SACKed {}",
            self.place()
        );
        self
    }

    pub fn expect_retrans(&mut self, segments: u32) -> &mut Self {
        assert_eq!(
            self.sender.segments_retrans_out(),
            segments,
            "retransmitted {}",
            self.place()
        );
        self
    }

    /// The reordering metric.
    pub fn expect_reordering(&mut self, segments: u32) -> &mut Self {
        assert_eq!(
            self.sender.reordering(),
            segments,
            "reordering {}",
            self.place()
        );
        self
    }
}
