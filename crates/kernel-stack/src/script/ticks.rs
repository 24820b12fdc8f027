//! The ticks of the running kernel: their length, and when a group of them begins.

use std::fs;

use emulator::{monotonic_nanos, pause};
use nix::time::{ClockId, clock_getres};
use units::Duration;

/// Ticks of the largest group of the timer wheel that a script's timers reach.
const GROUP: u64 = 512;
/// What the kernel's list of timers calls the tick: since 6.9, and before.
const TICK_TIMERS: [&str; 2] = [", tick_nohz_handler,", ", tick_sched_timer,"];
/// Most readings are far enough from a tick, so that a third one is rare.
const READINGS: usize = 20;

/// The length of the kernel's tick: that by which its coarse clock advances.
#[must_use]
pub fn tick() -> Duration {
    match clock_getres(ClockId::CLOCK_MONOTONIC_COARSE) {
        Ok(time) => Duration::from_nanos(std::time::Duration::from(time).as_nanos() as u64),
        Err(_) => Duration::ZERO,
    }
}

/// Waits for the next group of ticks. Returns when it began on the monotonic clock, in nanoseconds, or
/// `None` at once if the kernel does not show its ticks, or too slowly.
pub fn next_beginning() -> Option<u64> {
    let tick = tick();
    let start = (0..READINGS).find_map(|reading| {
        // A fast machine reads the list twenty times near one tick.
        if reading > 0 {
            pause(tick / 3);
        }
        let list = fs::read_to_string("/proc/timer_list").ok()?;
        next_group(&list, tick.as_nanos(), monotonic_nanos())
    })?;
    // A thread that wakes late changes nothing of the phase.
    pause(Duration::from_nanos(
        start.saturating_sub(monotonic_nanos()),
    ));
    Some(start)
}

/// When the kernel's tick number (`jiffies`) is next a multiple of [`GROUP`], from the kernel's `list`
/// of timers, which was read until `end`. Times are of the monotonic clock, in nanoseconds.
///
/// The tick's own timer has its phase. The coarse clock, which advances with the tick, has another: it
/// advances by whole ticks, and lags behind the tick by up to one. `None` near a tick, which the
/// kernel may not have counted yet, and without a timer of the tick.
fn next_group(list: &str, tick: u64, end: u64) -> Option<u64> {
    let after = |text: &str, label: &str| -> Option<u64> {
        let value = text.split_once(label)?.1.trim_start();
        let digits = value.split(|each: char| !each.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let begin = after(list, "now at ")?;
    let jiffies = after(list, "\njiffies:")?;
    let timer = TICK_TIMERS.iter().find_map(|name| list.split_once(name))?.1;
    let phase = after(timer, "expires at ")?.checked_rem(tick)?;
    let last = begin - (begin + tick - phase) % tick;
    let margin = tick / 4;
    let clear = begin >= last + margin && end + margin <= last + tick;
    clear.then(|| last + (GROUP - jiffies % GROUP) * tick)
}

#[cfg(test)]
mod tests {
    use super::next_group;

    const TICK: u64 = 4_000_000;

    /// A list in the kernel's form: read from `begin` on, in tick number `jiffies`, with a tick of
    /// phase 1 ms.
    fn list(begin: u64, jiffies: u64) -> String {
        format!(
            "Timer List Version: v0.10\nnow at {begin} nsecs\n #0: <0>, hrtimer_wakeup, S:01\n \
             # expires at 7-57 nsecs [in 7 to 57 nsecs]\n #1: <0>, tick_nohz_handler, S:01\n \
             # expires at 801000000-801000000 nsecs\n  .last_jiffies   : 9\njiffies: {jiffies}\n"
        )
    }

    #[test]
    fn a_group_begins_at_a_tick_of_the_timer() {
        // Tick 1022 was at 401 ms; the next multiple of 512 is 1024, two ticks later.
        let begin = 402_500_000;
        let found = next_group(&list(begin, 1022), TICK, begin + 100_000);
        assert_eq!(found, Some(409_000_000));
        // A whole group later, if it has just begun.
        let found = next_group(&list(begin, 1024), TICK, begin + 100_000);
        assert_eq!(found, Some(401_000_000 + 512 * TICK));
    }

    #[test]
    fn a_reading_near_a_tick_is_no_answer() {
        for (begin, end) in [
            (401_900_000, 402_000_000),
            (403_900_000, 404_100_000),
            (402_500_000, 406_600_000),
        ] {
            assert_eq!(next_group(&list(begin, 1022), TICK, end), None);
        }
    }

    #[test]
    fn a_list_without_a_tick_is_no_answer() {
        let list = list(402_500_000, 1022).replace("tick_nohz_handler", "hrtimer_wakeup");
        assert_eq!(next_group(&list, TICK, 402_600_000), None);
    }
}
