//! Adaptive video: a client that chooses the bitrate of each segment by its buffer.
//!
//! No connection vector describes it, because the next request depends on when the last segment
//! arrived. The client therefore reacts: the caller reports each delivered segment and gets the
//! next request. A client has one connection: it sends each request over it, and the server answers
//! at once with the segment.
//!
//! Source: T.-Y. Huang, R. Johari, N. McKeown, M. Trunnell and M. Watson, "A Buffer-Based Approach
//! to Rate Adaptation: Evidence from a Large Video Streaming Service", ACM SIGCOMM 2014, algorithm
//! BBA-0, with its reservoir of 90 s, cushion of 126 s and buffer of 240 s. These are quoted from
//! memory and were not read again for this project.
//!
//! ## Deviations
//!
//! - All segments of a bitrate have the same size.
//! - Playback begins with the first segment and resumes after a stall with the next one.

use std::sync::Arc;

use units::{Bytes, Duration, Instant, Rate};

use crate::generate::REQUEST;

/// Parameters of the client. A copy shares the bitrates.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VideoConfig {
    /// Bitrates of the video, ascending, at least one.
    pub bitrates: Arc<[Rate]>,
    /// Playing time of a segment, positive.
    pub segment: Duration,
    /// Number of segments of the video; `None` if it never ends.
    pub segments: Option<u32>,
    /// Size of a request.
    pub request: Bytes,
    /// Buffered playing time up to which the lowest bitrate is chosen.
    pub reservoir: Duration,
    /// Buffered playing time above the reservoir over which the bitrate grows to the highest.
    pub cushion: Duration,
    /// Largest buffered playing time: the client waits until another segment fits.
    pub buffer: Duration,
}

impl VideoConfig {
    /// BBA-0 with segments of 4 s and requests of 400 bytes.
    #[must_use]
    pub fn new(bitrates: impl Into<Arc<[Rate]>>, segments: Option<u32>) -> Self {
        Self {
            bitrates: bitrates.into(),
            segment: Duration::from_secs(4),
            segments,
            request: REQUEST,
            reservoir: Duration::from_secs(90),
            cushion: Duration::from_secs(126),
            buffer: Duration::from_secs(240),
        }
    }
}

/// What the client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRequest {
    /// When it sends the request.
    pub at: Instant,
    /// The size of the request.
    pub request: Bytes,
    /// The size of the segment.
    pub bytes: Bytes,
    /// The place of its bitrate in the list.
    pub level: usize,
}

/// The client.
#[derive(Clone, Debug)]
pub struct AdaptiveVideo {
    config: VideoConfig,
    /// The segments that it has requested.
    requested: u32,
    level: usize,
    /// Buffered playing time at `since`.
    buffered: Duration,
    since: Instant,
    stalled: Duration,
    waiting: bool,
}

impl AdaptiveVideo {
    /// A client that has requested nothing.
    #[must_use]
    pub const fn new(config: VideoConfig) -> Self {
        Self {
            config,
            requested: 0,
            level: 0,
            buffered: Duration::ZERO,
            since: Instant::ZERO,
            stalled: Duration::ZERO,
            waiting: false,
        }
    }

    /// The next request, when the last segment has arrived at `now`, or at the beginning. `None`
    /// after the last segment.
    pub fn next(&mut self, now: Instant) -> Option<SegmentRequest> {
        if self.waiting {
            self.play(now);
            self.buffered += self.config.segment;
            self.waiting = false;
        }
        self.since = now;
        let ended = self
            .config
            .segments
            .is_some_and(|all| self.requested >= all);
        if ended || self.config.bitrates.is_empty() {
            return None;
        }
        self.requested = self.requested.saturating_add(1);
        let full = self.buffered + self.config.segment;
        let pause = full.saturating_sub(self.config.buffer).min(self.buffered);
        let at = now + pause;
        self.buffered -= pause;
        self.since = at;
        self.level = self.choose();
        self.waiting = true;
        Some(SegmentRequest {
            at,
            request: self.config.request,
            bytes: self.config.bitrates[self.level].bytes_in(self.config.segment),
            level: self.level,
        })
    }

    /// Playing time in the buffer when the client last acted.
    #[must_use]
    pub const fn buffered(&self) -> Duration {
        self.buffered
    }

    /// How long playback has stalled since the first segment arrived.
    #[must_use]
    pub const fn stalled(&self) -> Duration {
        self.stalled
    }

    /// Plays from the buffer up to `now`.
    fn play(&mut self, now: Instant) {
        let span = now.saturating_since(self.since);
        // Before the first segment nothing plays yet.
        if self.requested > 1 {
            self.stalled += span.saturating_sub(self.buffered);
        }
        self.buffered = self.buffered.saturating_sub(span);
    }

    /// Keeps its bitrate until the rate that the buffer suggests reaches the next one.
    fn choose(&self) -> usize {
        let rates = &self.config.bitrates;
        let highest = rates.len() - 1;
        let above = self.buffered.saturating_sub(self.config.reservoir);
        if above.is_zero() {
            return 0;
        }
        if above >= self.config.cushion {
            return highest;
        }
        let lowest = rates[0].bits_per_sec();
        let range = rates[highest].bits_per_sec().saturating_sub(lowest);
        let range = Rate::from_bits_per_sec(range);
        let grown = range.mul_div(above.as_nanos(), self.config.cushion.as_nanos());
        let suggested = Rate::from_bits_per_sec(lowest + grown.bits_per_sec());
        let (up, down) = ((self.level + 1).min(highest), self.level.saturating_sub(1));
        if self.level < highest && suggested >= rates[up] {
            rates
                .iter()
                .rposition(|&rate| rate < suggested)
                .unwrap_or(0)
        } else if self.level > 0 && suggested <= rates[down] {
            rates
                .iter()
                .position(|&rate| rate > suggested)
                .unwrap_or(highest)
        } else {
            self.level
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(segments: u32) -> AdaptiveVideo {
        let mbps = |mbps: u64| Rate::from_bits_per_sec(mbps * 1_000_000);
        AdaptiveVideo::new(VideoConfig::new([1, 2, 4, 8].map(mbps), Some(segments)))
    }

    /// Plays over a path of constant rate.
    fn play(client: &mut AdaptiveVideo, path: Rate) -> Vec<SegmentRequest> {
        let mut requests = Vec::new();
        let mut now = Instant::from_secs(1);
        while let Some(request) = client.next(now) {
            assert!(request.at >= now);
            now = request.at + path.time_for(request.bytes);
            requests.push(request);
        }
        requests
    }

    #[test]
    fn a_fast_path_fills_the_buffer_and_gets_the_highest_bitrate() {
        let mut client = client(200);
        let requests = play(&mut client, Rate::from_bits_per_sec(50_000_000));
        assert_eq!(requests.len(), 200);
        assert_eq!(requests[0].level, 0);
        assert_eq!(requests[199].level, 3);
        assert!(requests.is_sorted_by_key(|request| request.level));
        assert_eq!(client.stalled(), Duration::ZERO);
        // A full buffer takes a segment every 4 s.
        let gap = requests[199].at - requests[198].at;
        assert_eq!(gap, Duration::from_secs(4));
        assert!(client.buffered() <= Duration::from_secs(240));
    }

    #[test]
    fn a_path_of_3_mbps_settles_between_the_bitrates_around_it() {
        let mut client = client(1000);
        let requests = play(&mut client, Rate::from_bits_per_sec(3_000_000));
        assert_eq!(client.stalled(), Duration::ZERO);
        let late = &requests[500..];
        assert!(late.iter().all(|request| (1..=2).contains(&request.level)));
        let mean = late.iter().map(|request| request.bytes.get()).sum::<u64>() / 500;
        // 3 Mbit/s for 4 s are 1.5 MB.
        assert!((1_400_000..1_600_000).contains(&mean), "{mean}");
    }

    #[test]
    fn a_slow_path_stalls_at_the_lowest_bitrate() {
        let mut client = client(100);
        let requests = play(&mut client, Rate::from_bits_per_sec(500_000));
        assert!(requests.iter().all(|request| request.level == 0));
        // A segment takes 8 s and plays 4 s: 99 stalls of 4 s.
        assert_eq!(client.stalled(), Duration::from_secs(4 * 99));
        assert_eq!(client.next(Instant::from_secs(10_000)), None);
    }
}
