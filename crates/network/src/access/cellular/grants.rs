//! The uplink of a cell of LTE or 5G NR: a terminal asks, and sends when it is told to.
//!
//! Network-models, section B.3.3 (item 8). A terminal that has no grant waits for its next opportunity to ask
//! (the scheduling request), and sends a fixed time later. As long as each grant finds something
//! to carry, the next one comes a fixed time after it; one that finds nothing is the last. A grant
//! carries whatever was there a preparation time before, up to its size. Grants that fail are repeated and
//! packets handed on in order.
//!
//! ## Deviations
//!
//! - Opportunities to ask lie on a grid whose beginning is drawn once; the wait is uniform over the times of arrival.
//! - A grant that finds nothing is not seen by others: the uplink's rate is the user's own.

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Rate};

use super::blocks::{BlockConfig, Blocks, InOrder};
use super::stream;
use crate::access::Served;
use crate::random::unit;

/// A cell's uplink.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GrantsConfig {
    /// What the grants carry if the terminal never runs out.
    pub rate: Rate,
    /// Time from one opportunity to ask to the next.
    pub request: Duration,
    /// From asking to sending.
    pub wait: Duration,
    /// From one grant to the next.
    pub every: Duration,
    /// What is to be sent has to be there so long before.
    pub prepare: Duration,
    /// What becomes of grants that fail.
    pub blocks: BlockConfig,
    /// From the beginning of what a grant sends until its packets are handed on.
    pub latency: Duration,
}

impl GrantsConfig {
    /// LTE at `rate` (section B.3.2): asks each 10 ms, sends 4 + 4 ms later, grants each 5 ms.
    #[must_use]
    pub const fn lte(rate: Rate) -> Self {
        Self {
            rate,
            request: Duration::from_millis(10),
            wait: Duration::from_millis(8),
            every: Duration::from_millis(5),
            prepare: Duration::from_millis(4),
            blocks: BlockConfig {
                error: 0.1,
                again: 0.1,
                transmissions: 4,
                retry: Duration::from_millis(8),
                residual: 1e-4,
                recovery: (Duration::from_millis(40), Duration::from_millis(70)),
            },
            latency: Duration::from_millis(3),
        }
    }

    /// What an empty link adds to a packet's delay on average: the wait for asking, for sending, what failures
    /// cost and the latency.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        self.request / 2 + self.wait + self.blocks.mean_wait() + self.latency
    }
}

/// The server of the uplink.
#[derive(Clone, Debug)]
pub(crate) struct Grants {
    /// Of a grant, in bits.
    size: u64,
    /// In nanoseconds, as all of these.
    request: u64,
    phase: u64,
    wait: u64,
    every: u64,
    prepare: u64,
    rate: Rate,
    latency: Duration,
    blocks: Blocks,
    order: InOrder,
    /// When the last grant that carried something sends, and the bits that are left of it.
    last: Option<u64>,
    left: u64,
}

impl Grants {
    pub(crate) fn new(config: &GrantsConfig, rng: &ChaCha8Rng) -> Self {
        let every = config.every.as_nanos().max(1);
        let work = u128::from(config.rate.bits_per_sec()) * u128::from(every);
        let request = config.request.as_nanos().max(1);
        Self {
            size: u64::try_from(work / 1_000_000_000)
                .unwrap_or(u64::MAX)
                .max(1),
            request,
            phase: (unit(&mut stream(rng, 1)) * request as f64) as u64,
            wait: config.wait.as_nanos(),
            every,
            prepare: config.prepare.as_nanos(),
            rate: config.rate,
            latency: config.latency,
            blocks: Blocks::new(&config.blocks, stream(rng, 0)),
            order: InOrder::default(),
            last: None,
            left: 0,
        }
    }

    /// A grant sends at `at`, and carries something.
    fn grant(&mut self, at: u64) {
        self.last = Some(at);
        self.left = self.size;
        // Each grant is the only one of its time.
        let wait = self.blocks.wait(at / self.every);
        self.order
            .wait_for(Instant::from_nanos(at) + self.latency + wait);
    }

    /// The packet is there from `now` on; or it `goes_on` with what is left of the last grant.
    pub(crate) fn serve(&mut self, now: Instant, goes_on: bool, bytes: u64) -> Served {
        let mut missing = bytes.saturating_mul(8).max(1);
        let now = now.as_nanos();
        let ready = now.saturating_add(self.prepare);
        let mut after_gap = false;
        let next = self.last.map(|last| last.saturating_add(self.every));
        match (self.last, next) {
            (Some(last), _) if last >= ready || goes_on => {}
            (Some(_), Some(next)) if next >= ready => {
                after_gap = self.left >= missing;
                self.grant(next);
            }
            _ => {
                after_gap = true;
                let since = now.saturating_sub(self.phase);
                let periods = since.div_ceil(self.request);
                let asks = self
                    .phase
                    .saturating_add(periods.saturating_mul(self.request));
                let sends = asks.saturating_add(self.wait);
                self.grant(sends.max(next.unwrap_or(0)));
            }
        }
        if self.left == 0 {
            self.grant(self.last.map_or(0, |last| last.saturating_add(self.every)));
        }
        let start = self.last.unwrap_or(0);
        // Whole grants at once.
        let more = missing.saturating_sub(self.left).div_ceil(self.size);
        if more > 0 {
            missing -= self.left + (more - 1) * self.size;
            for grant in more.saturating_sub(64)..more {
                // Of very many grants the fates of the last ones stand for all.
                self.grant(start.saturating_add((grant + 1).saturating_mul(self.every)));
            }
        }
        self.left -= missing;
        let end = self.last.unwrap_or(0);
        Served {
            start: Instant::from_nanos(start),
            end: Instant::from_nanos(end),
            after_gap,
        }
    }

    pub(crate) fn release(&self, end: Instant) -> Instant {
        self.order.last.max(end)
    }

    pub(crate) fn capacity(&self, until: Instant) -> Bytes {
        self.rate.bytes_in(until - Instant::ZERO)
    }
}
