//! The blocks of a radio: failed ones are retransmitted, and delivery is in order.
//!
//! Sources: 3GPP TS 36.321 and 36.322, the 25 series; docs/reference/sources.md. The first
//! transmission of a block fails with the configured error rate, retransmissions less and less
//! often. RLC retransmits a block that fails every time after its status report. The fate of a
//! block is drawn at its own place in a stream, whether it is used or not. Blocks behind a late one
//! wait for it.

use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::{Duration, Instant};

use crate::random::Chance;

/// Retransmission of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockConfig {
    /// Fraction of the blocks whose first transmission fails.
    pub error: f64,
    /// Fraction of the retransmissions that fail, except the last.
    pub again: f64,
    /// Transmissions of a block, at most eight.
    pub transmissions: u32,
    /// From one transmission to the next.
    pub retry: Duration,
    /// Fraction of all blocks that fail in every transmission.
    pub residual: f64,
    /// Time from the last transmission until RLC has delivered such a block, uniform between these.
    pub recovery: (Duration, Duration),
}

impl BlockConfig {
    /// The mean delay of an isolated block.
    pub(crate) fn mean_wait(&self) -> Duration {
        let failures = self.failures();
        let retries: f64 = failures.iter().sum::<f64>() - failures.last().unwrap_or(&0.0);
        let lost = failures.last().copied().unwrap_or(0.0);
        let recovery = (self.recovery.0 + self.recovery.1).as_nanos() as f64 / 2.0;
        Duration::from_nanos((retries * self.retry.as_nanos() as f64 + lost * recovery) as u64)
    }

    /// The fraction of all blocks whose first, second, ... transmission fails.
    fn failures(&self) -> Vec<f64> {
        let again = self.again.clamp(0.0, 1.0);
        let last = self.transmissions.clamp(1, 8);
        let mut failures = Vec::new();
        let mut share = 1.0;
        for transmission in 1..last {
            share *= if transmission == 1 {
                self.error.clamp(0.0, 1.0)
            } else {
                again
            };
            failures.push(share);
        }
        failures.push(self.residual.clamp(0.0, share));
        failures
    }
}

/// The 32-bit words that a block takes from the stream.
const WORDS: u128 = 4;

/// The fates of consecutive blocks.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    failures: Vec<Chance>,
    retry: Duration,
    recovery: (u64, u64),
    rng: ChaCha8Rng,
    /// The next block to be drawn.
    next: u64,
}

impl Blocks {
    pub(crate) fn new(config: &BlockConfig, rng: ChaCha8Rng) -> Self {
        let (least, most) = config.recovery;
        Self {
            failures: config.failures().into_iter().map(Chance::new).collect(),
            retry: config.retry,
            recovery: (least.as_nanos(), most.saturating_sub(least).as_nanos()),
            rng,
            next: 0,
        }
    }

    /// The delay of a block by its failures.
    pub(crate) fn wait(&mut self, block: u64) -> Duration {
        if block != self.next {
            self.rng.set_word_pos(u128::from(block) * WORDS);
        }
        self.next = block.wrapping_add(1);
        let fate = self.rng.next_u64();
        let place = self.rng.next_u64();
        let failed = self.failures.iter().take_while(|chance| chance.meets(fate));
        let failed = failed.count();
        if failed < self.failures.len() {
            return self.retry * failed as u64;
        }
        let (least, span) = self.recovery;
        let more = ((u128::from(place) * (u128::from(span) + 1)) >> 64) as u64;
        self.retry * (failed as u64 - 1) + Duration::from_nanos(least.saturating_add(more))
    }
}

/// Hands on in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InOrder {
    pub(crate) last: Instant,
}

impl InOrder {
    /// A packet whose block arrives at `through` is delivered no earlier than the packets before
    /// it.
    pub(crate) fn wait_for(&mut self, through: Instant) {
        self.last = self.last.max(through);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    const LTE: BlockConfig = BlockConfig {
        error: 0.1,
        again: 0.01,
        transmissions: 3,
        retry: Duration::from_millis(8),
        residual: 0.0,
        recovery: (Duration::from_millis(40), Duration::from_millis(70)),
    };

    fn blocks(config: BlockConfig) -> Blocks {
        Blocks::new(&config, ChaCha8Rng::seed_from_u64(3))
    }

    /// A saturated user: 10 % of the blocks fail, and then 1 % of those. (With 1 % of all, 0.9^8
    /// 0.99^8 = 39.7 % are not delayed, which does not fit the reference values.)
    #[test]
    fn in_order_delivery_of_a_saturated_user() {
        let count = 1_000_000_u64;
        let run = |config: BlockConfig| {
            let mut blocks = blocks(config);
            let mut order = InOrder::default();
            let mut waits = Vec::new();
            let mut bursts = Vec::new();
            let mut last = Instant::ZERO;
            for block in 0..count {
                let sent = Instant::from_millis(block);
                order.wait_for(sent + blocks.wait(block));
                waits.push((order.last - sent).as_millis());
                if order.last == last {
                    if let Some(burst) = bursts.last_mut() {
                        *burst += 1_u64;
                    }
                } else {
                    bursts.push(1);
                    last = order.last;
                }
            }
            let mean = waits.iter().sum::<u64>() as f64 / count as f64;
            let undelayed = waits.iter().filter(|wait| **wait == 0).count() as f64 / count as f64;
            waits.sort_unstable();
            bursts.sort_unstable();
            let at = |values: &[u64], share: f64| values[(values.len() as f64 * share) as usize];
            (
                mean,
                undelayed,
                [at(&waits, 0.5), at(&waits, 0.9), waits[waits.len() - 1]],
                [at(&bursts, 0.9), at(&bursts, 0.95)],
                count as f64 / bursts.len() as f64,
            )
        };
        let (mean, undelayed, waits, bursts, mean_burst) = run(LTE);
        // Reference value: 43.0 %; 0.9^8 0.999^8 = 42.7 % by hand. Blocks are correlated over 8:
        // 0.15 % is 1 sigma.
        assert!((undelayed - 0.43).abs() < 0.005, "{undelayed}");
        assert!((mean - 2.95).abs() < 0.04, "{mean}");
        assert_eq!(waits, [2, 8, 16]);
        assert_eq!(bursts, [7, 9]);
        assert!((mean_burst - 2.07).abs() < 0.03, "{mean_burst}");
        let single = BlockConfig {
            transmissions: 2,
            ..LTE
        };
        let (mean, _, waits, ..) = run(single);
        assert!((mean - 2.87).abs() < 0.04, "{mean}");
        assert_eq!([waits[0], waits[2]], [2, 8]);
        let (_, undelayed, ..) = run(BlockConfig { again: 0.1, ..LTE });
        assert!((undelayed - 0.397).abs() < 0.005, "{undelayed}");
    }

    #[test]
    fn the_fate_of_a_block_does_not_depend_on_earlier_calls() {
        let config = BlockConfig {
            again: 0.1,
            residual: 0.005,
            ..LTE
        };
        let all: Vec<_> = {
            let mut blocks = blocks(config);
            (0..100_000).map(|block| blocks.wait(block)).collect()
        };
        let mut some = blocks(config);
        for block in (0..100_000).filter(|block| block % 13 == 0 || block % 101 < 3) {
            assert_eq!(some.wait(block), all[block as usize]);
        }
        let recovered = all.iter().filter(|wait| **wait > Duration::from_millis(16));
        let waits: Vec<_> = recovered.copied().collect();
        // Half a percent: 500, standard deviation 22.
        assert!((412..588).contains(&waits.len()), "{}", waits.len());
        assert!(
            waits
                .iter()
                .all(|wait| (56..=86).contains(&wait.as_millis()))
        );
        let mean = all.iter().map(|wait| wait.as_nanos()).sum::<u64>() as f64 / 1e11;
        let expected = config.mean_wait().as_nanos() as f64 / 1e6;
        assert!((mean / expected - 1.0).abs() < 0.05, "{mean} {expected}");
        // The limits.
        let certain = BlockConfig {
            error: 7.0,
            again: 1.0,
            transmissions: 99,
            residual: 1.0,
            ..LTE
        };
        let wait = blocks(certain).wait(u64::MAX).as_millis();
        assert!((96..=126).contains(&wait), "{wait}");
    }
}
