//! Kathleen Nichols' windowed maximum with three samples (Linux `win_minmax`), over round trips.

/// A value and the round in which it was measured.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    round: u64,
    value: u64,
}

/// The largest value of the last `window` rounds, kept in three samples.
#[derive(Clone, Debug)]
pub struct WindowedMax {
    window: u64,
    /// The best, the best since then, and the best since that one.
    best: [Sample; 3],
}

impl WindowedMax {
    /// A maximum of zero over `window` rounds.
    pub fn new(window: u64) -> Self {
        Self {
            window,
            best: [Sample::default(); 3],
        }
    }

    /// Changes the length of the window, in rounds.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// The maximum.
    #[inline]
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds a `value` measured in `round`; rounds never decrease.
    pub fn update(&mut self, round: u64, value: u64) {
        let new = Sample { round, value };
        let best = &mut self.best;
        if value >= best[0].value || round - best[2].round > self.window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].value {
            best[2] = new;
        }
        self.age(new);
    }

    /// Expires old samples, so that the second and third best come from later quarters.
    fn age(&mut self, new: Sample) {
        let best = &mut self.best;
        let age = new.round - best[0].round;
        if age > self.window {
            *best = [best[1], best[2], new];
            if new.round - best[0].round > self.window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].round == best[0].round && age > self.window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].round == best[1].round && age > self.window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_lasts_its_window() {
        let mut filter = WindowedMax::new(10);
        let mut best = [0; 13];
        for (round, value) in [100, 50, 40, 60, 30, 30, 30, 30, 30, 30, 30, 30, 30]
            .into_iter()
            .enumerate()
        {
            filter.update(round as u64, value);
            best[round] = filter.get();
        }
        // The 100 of round 0 expires in round 11; the 60 of round 3 follows.
        assert_eq!(best[..11], [100; 11]);
        assert_eq!(best[11..], [60, 60]);
        filter.update(13, 200);
        assert_eq!(filter.get(), 200);
        filter.update(40, 1);
        assert_eq!(filter.get(), 1);
    }
}
