//! The proportional-fair scheduler: which of the users with data gets a slot.
//!
//! It is the user with the highest ratio of instantaneous rate to average rate over the last
//! `window` slots (docs/reference/networks/lte.md).

use alloc::vec::Vec;

/// A user in the scheduler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The bits that a slot would carry for the user; zero without data.
    pub(crate) bits: f64,
    /// Average bits per slot.
    average: f64,
}

/// The initial average of a user, in bits.
const LEAST: f64 = 1.0;

/// The scheduler. User 0 is ours.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    pub(crate) users: Vec<Share>,
    fresh: f64,
}

impl Fair {
    pub(crate) fn new(users: usize, window: u32) -> Self {
        let user = Share {
            bits: 0.0,
            average: LEAST,
        };
        Self {
            users: alloc::vec![user; users],
            fresh: 1.0 / f64::from(window.max(1)),
        }
    }

    /// Whether user 0, which is served only if it `competes`, gets or would get this slot.
    pub(crate) fn slot(&mut self, competes: bool) -> bool {
        let (mut best, mut winner, mut ours) = (0.0, None, 0.0);
        for (index, user) in self.users.iter().enumerate() {
            let metric = user.bits / user.average;
            if index == 0 {
                ours = metric;
                if !competes {
                    continue;
                }
            }
            if metric > best {
                best = metric;
                winner = Some(index);
            }
        }
        for (index, user) in self.users.iter_mut().enumerate() {
            user.average *= 1.0 - self.fresh;
            if winner == Some(index) {
                user.average += self.fresh * user.bits;
            }
            user.average = user.average.max(LEAST);
        }
        if competes {
            winner == Some(0)
        } else {
            ours > best
        }
    }

    /// Advances by slots in which user 0 has no data, all at once, separately from the others.
    pub(crate) fn rest(&mut self, slots: u64) {
        let kept = libm::pow(1.0 - self.fresh, slots as f64);
        if let Some(user) = self.users.first_mut() {
            user.average = (user.average * kept).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::unit;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// With exponential rates of mean one, the cell carries H_N; scheduling without regard to rates
    /// would carry one.
    #[test]
    fn the_cell_carries_the_harmonic_number() {
        for (users, harmonic, published) in [(2, 1.50, 1.49), (4, 2.083, 2.08), (10, 2.929, 2.89)] {
            let mut rng = ChaCha8Rng::seed_from_u64(users as u64);
            let mut fair = Fair::new(users, 100);
            let (mut total, mut ours) = (0.0, 0.0);
            let slots = 200_000;
            for _ in 0..slots {
                for user in &mut fair.users {
                    // In units far above the smallest average.
                    user.bits = -1e6 * libm::log(1.0 - unit(&mut rng));
                }
                let rates: Vec<f64> = fair.users.iter().map(|user| user.bits).collect();
                let before: Vec<f64> = fair.users.iter().map(|user| user.average).collect();
                let mine = fair.slot(true);
                ours += if mine { rates[0] } else { 0.0 };
                let winner = (0..users)
                    .max_by(|a, b| (rates[*a] / before[*a]).total_cmp(&(rates[*b] / before[*b])));
                total += rates[winner.expect("some user has data")];
            }
            let total = total / 1e6 / f64::from(slots);
            let ours = ours / 1e6 / f64::from(slots);
            // A window of 100 slots loses a little against H_N, as in the reference calculation.
            assert!((total - published).abs() < 0.03, "{users}: {total}");
            assert!(total < harmonic + 0.01, "{users}: {total}");
            assert!(
                (ours * users as f64 / total - 1.0).abs() < 0.02,
                "{users}: {ours}"
            );
        }
    }

    #[test]
    fn an_idle_user_wins_on_return_and_nothing_overflows() {
        let mut fair = Fair::new(2, 100);
        for user in &mut fair.users {
            user.bits = 40_000.0;
        }
        let won = (0..1000).filter(|_| fair.slot(true)).count();
        assert!((495..=505).contains(&won), "{won}");
        // It would have won every slot of a long idle time except the first.
        let would = (0..1000).filter(|_| fair.slot(false)).count();
        assert!(would >= 990, "{would}");
        fair.rest(u64::MAX);
        assert!((fair.users[0].average - LEAST).abs() < 1e-9);
        let won = (0..60).filter(|_| fair.slot(true)).count();
        assert!(won > 55, "{won}");
    }
}
