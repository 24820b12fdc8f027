//! Shuffled bins: the order of a trace's parts is drawn, so that its load has no trend.

use units::{Duration, Instant, Rate};

use super::Mrg32k3a;
use crate::Connection;

/// The suite's seed of [`Mrg32k3a`].
pub const SUITE_SEED: u32 = 7_654_321;

/// The suite's bins: `500 * 10^6 / rate` seconds of experiment time, 5 s at 100 Mbit/s. `None` at
/// rate zero.
#[must_use]
pub const fn bin_length(rate: Rate) -> Option<Duration> {
    match rate.bits_per_sec() {
        0 => None,
        bits => Some(Duration::from_nanos(500_000_000_000_000_000 / bits)),
    }
}

/// The random numbers with which the suite shuffles the trace file number `file`, counted from
/// zero: the sub-stream `file + 1` of the seed [`SUITE_SEED`].
///
/// The port of the suite's scripts to ns-3 goes to a new sub-stream before each file, the first
/// included; that the ns-2 scripts do the same was not verified.
#[must_use]
pub fn suite_stream(file: u32) -> Mrg32k3a {
    let mut random = Mrg32k3a::new(SUITE_SEED);
    for _ in 0..=file {
        random.next_substream();
    }
    random
}

/// A new order of the bins of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shuffle {
    bin: Duration,
    /// Where each bin goes.
    places: Vec<u32>,
}

impl Shuffle {
    /// A new order of the bins of length `bin` (positive) in a trace that lasts `length` of
    /// experiment time. The last bin may be incomplete.
    ///
    /// Fisher and Yates, forward: for i from 0 to len - 2, swap the bins i and
    /// i + floor((len - i) * U), where `uniform` draws U from 0 (included) to 1 (excluded). After
    /// that, the bin at place k of the list is the k-th of the shuffled trace.
    #[must_use]
    pub fn new(bin: Duration, length: Duration, mut uniform: impl FnMut() -> f64) -> Self {
        let bins = length.as_nanos().div_ceil(bin.as_nanos().max(1));
        let bins = u32::try_from(bins).unwrap_or(u32::MAX);
        let mut order: Vec<u32> = (0..bins).collect();
        for place in 0..order.len().saturating_sub(1) {
            let rest = order.len() - place;
            let chosen = (rest as f64 * uniform()) as usize;
            order.swap(place, place + chosen.min(rest - 1));
        }
        let mut places = vec![0; order.len()];
        for (place, &bin) in (0..).zip(&order) {
            places[bin as usize] = place;
        }
        Self { bin, places }
    }

    /// When a connection starts that started at `start` of experiment time; `None` after the end of
    /// the trace.
    #[must_use]
    pub fn moved(&self, start: Instant) -> Option<Instant> {
        let bin = self.bin.as_nanos();
        let (number, offset) = (start.as_nanos() / bin, start.as_nanos() % bin);
        let place = self.places.get(usize::try_from(number).ok()?)?;
        Some(Instant::ZERO + self.bin * u64::from(*place) + Duration::from_nanos(offset))
    }

    /// Moves connections whose start times have been scaled, drops those after the end of the trace
    /// and puts the rest in order of their new start times.
    pub fn apply(&self, connections: &mut Vec<Connection>) {
        connections.retain_mut(|connection| match self.moved(connection.start) {
            Some(start) => {
                connection.start = start;
                true
            }
            None => false,
        });
        connections.sort_by_key(|connection| connection.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_the_suites_lengths() {
        for (bits_per_s, micros) in [
            (64_000, 7_812_500_000),
            (4_000_000, 125_000_000),
            (10_000_000, 50_000_000),
            (40_000_000, 12_500_000),
            (100_000_000, 5_000_000),
            (1_000_000_000, 500_000),
        ] {
            let bin = bin_length(Rate::from_bits_per_sec(bits_per_s));
            assert_eq!(bin, Some(Duration::from_micros(micros)));
        }
        assert_eq!(bin_length(Rate::ZERO), None);
    }

    #[test]
    fn the_forward_form_swaps_as_it_says() {
        // U = 0.5: 0 1 2 3 4 -> 2 1 0 3 4 -> 2 3 0 1 4 -> 2 3 1 0 4 -> 2 3 1 4 0.
        let bin = Duration::from_secs(1);
        let shuffle = Shuffle::new(bin, Duration::from_millis(4_500), || 0.5);
        assert_eq!(shuffle.places, [4, 2, 0, 1, 3]);
        let moved = shuffle.moved(Instant::from_millis(2_250));
        assert_eq!(moved, Some(Instant::from_millis(250)));
        assert_eq!(shuffle.moved(Instant::from_secs(5)), None);
    }

    #[test]
    fn every_bin_keeps_one_place_for_any_file_of_the_suite() {
        let bin = Duration::from_secs(5);
        let orders: Vec<Shuffle> = (0..9)
            .map(|file| {
                let mut random = suite_stream(file);
                Shuffle::new(bin, Duration::from_secs(15_828), || random.uniform())
            })
            .collect();
        for order in &orders {
            let mut places = order.places.clone();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..3166));
        }
        assert_ne!(orders[0], orders[1]);
    }

    #[test]
    fn places_are_uniform() {
        let mut random = Mrg32k3a::new(1);
        let draws = 60_000;
        let mut counts = [[0u32; 4]; 4];
        for _ in 0..draws {
            let second = Duration::from_secs(1);
            let shuffle = Shuffle::new(second, second * 4, || random.uniform());
            for (bin, &place) in shuffle.places.iter().enumerate() {
                counts[bin][place as usize] += 1;
            }
        }
        let error = libm::sqrt(f64::from(draws) * 0.25 * 0.75);
        for count in counts.into_iter().flatten() {
            let off = (f64::from(count) - f64::from(draws) / 4.0) / error;
            assert!(off.abs() < 3.5, "{off} standard errors");
        }
    }
}
