//! CPU time and memory of a process, from the kernel's accounting in nanoseconds.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// CPU seconds of this process, summed over all its threads.
pub fn cpu_seconds() -> f64 {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .map_or(f64::NAN, |time| time.num_nanoseconds() as f64 / 1e9)
}

/// CPU seconds of this process's children that have ended.
pub fn children_cpu_seconds() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(f64::NAN, |usage| {
        let spent = usage.user_time() + usage.system_time();
        spent.num_microseconds() as f64 / 1e6
    })
}

/// Peak resident memory of this process, in kilobytes.
pub fn peak_kilobytes() -> u64 {
    getrusage(UsageWho::RUSAGE_SELF)
        .ok()
        .and_then(|usage| u64::try_from(usage.max_rss()).ok())
        .unwrap_or(0)
}

/// Quartiles of a sample: a quarter, half and three quarters of the values are at most these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Quartiles {
    /// The quartiles of at least one value, none of which is NaN. Interpolates between neighbours.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |fraction: f64| {
            let place = fraction * last as f64;
            let below = values[place as usize];
            let above = values[(place as usize + 1).min(last)];
            below + (above - below) * place.fract()
        };
        Some(Self {
            low: at(0.25),
            median: at(0.5),
            high: at(0.75),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        assert_eq!(Quartiles::of(Vec::new()), None);
        let of = |values: &[f64]| {
            let quartiles = Quartiles::of(values.to_vec()).expect("values");
            [quartiles.low, quartiles.median, quartiles.high]
        };
        assert_eq!(of(&[3.0]), [3.0; 3]);
        assert_eq!(of(&[4.0, 1.0, 3.0, 2.0, 5.0]), [2.0, 3.0, 4.0]);
        assert_eq!(of(&[1.0, 2.0]), [1.25, 1.5, 1.75]);
    }

    #[test]
    fn cpu_time_advances_in_less_than_a_millisecond() {
        let start = cpu_seconds();
        let mut now = start;
        let mut steps = 0;
        // The clock of the scheduler's tick would advance in steps of 4 ms.
        while now < start + 0.02 {
            let then = cpu_seconds();
            assert!(then - now < 0.02);
            steps += u32::from(then > now);
            now = then;
        }
        assert!(steps > 100, "{steps}");
    }
}
