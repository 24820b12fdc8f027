//! The uplink of a cell of LTE or 5G NR: a terminal requests grants, and sends when it has one.
//!
//! Sources: 3GPP TS 36.213 and 36.321; docs/reference/networks/lte.md. A terminal without a grant
//! waits for its next opportunity to send a scheduling request, and transmits a fixed time later.
//! As long as each grant carries data, the next one follows a fixed time after it; a grant without
//! data is the last. A grant carries data that was present a preparation time before, up to its
//! size. Failed grants are retransmitted, and delivery is in order.
//!
//! ## Deviations
//!
//! - Request opportunities are on a grid whose start is drawn once; the wait is uniform over the
//!   times of arrival.
//! - Other users do not affect the grants: the uplink's rate is the user's own.

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
    /// Rate of the grants for a saturated terminal.
    pub rate: Rate,
    /// Time from one request opportunity to the next.
    pub request: Duration,
    /// Time from a request to the first transmission.
    pub wait: Duration,
    /// Time from one grant to the next.
    pub every: Duration,
    /// Time before a transmission at which its data has to be present.
    pub prepare: Duration,
    /// Retransmission of failed grants.
    pub blocks: BlockConfig,
    /// Time from the start of a transmission to the delivery of its packets.
    pub latency: Duration,
}

impl GrantsConfig {
    /// LTE at `rate`: requests every 10 ms, transmission 4 + 4 ms later, grants every 5 ms.
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

    /// Mean addition of an empty link to a packet's delay: the waits for a request and a
    /// transmission, failures and the latency.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        self.request / 2 + self.wait + self.blocks.mean_wait() + self.latency
    }
}

/// The server of the uplink.
#[derive(Clone, Debug)]
pub(crate) struct Grants {
    /// Size of a grant, in bits.
    size: u64,
    /// In nanoseconds, as are all of these.
    request: u64,
    phase: u64,
    wait: u64,
    every: u64,
    prepare: u64,
    rate: Rate,
    latency: Duration,
    blocks: Blocks,
    order: InOrder,
    /// The time of the last grant that carried data, and its unused bits.
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

    /// A grant transmits data at `at`.
    fn grant(&mut self, at: u64) {
        self.last = Some(at);
        self.left = self.size;
        // No two grants have the same time.
        let wait = self.blocks.wait(at / self.every);
        self.order
            .wait_for(Instant::from_nanos(at) + self.latency + wait);
    }

    /// The packet is present from `now` on; or it `goes_on` with the rest of the last grant.
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
                // For very many grants, the fates of the last ones represent all.
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
