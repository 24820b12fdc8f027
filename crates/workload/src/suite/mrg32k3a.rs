//! The random number generator of ns-2, for shuffles that are the same as the suite's.
//!
//! Sources: P. L'Ecuyer, "Good Parameters and Implementations for Combined Multiple Recursive
//! Random Number Generators", Operations Research 47(1), 1999; streams and sub-streams of P.
//! L'Ecuyer, R. Simard, E. J. Chen and W. D. Kelton, "An Object-Oriented Random-Number Package with
//! Many Long Streams and Substreams", Operations Research 50(6), 2002. A sub-stream is 2^76 numbers
//! long. ns-2 sets all six numbers of the state to the seed.

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
/// Coefficients of the numbers one to three steps back, oldest first, and their modulus. The
/// published ones are negative where a modulus stands in front.
const FIRST: ([u64; 3], u64) = ([M1 - 810_728, 1_403_580, 0], M1);
const SECOND: ([u64; 3], u64) = ([M2 - 1_370_589, 0, 527_612], M2);

type Matrix = [[u64; 3]; 3];

/// MRG32k3a.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mrg32k3a {
    /// The last three numbers of each component, oldest first.
    state: [[u64; 3]; 2],
    /// The state at the beginning of the sub-stream.
    begin: [[u64; 3]; 2],
}

impl Mrg32k3a {
    /// The generator with all six numbers of its state set to `seed`, from 1 to 4,294,944,442.
    #[must_use]
    pub const fn new(seed: u32) -> Self {
        debug_assert!(
            seed > 0 && (seed as u64) < M2,
            "a state of zeros stays zero"
        );
        let state = [[seed as u64; 3]; 2];
        let begin = state;
        Self { state, begin }
    }

    /// The next number, from 1 to 4,294,967,087.
    pub fn next_number(&mut self) -> u64 {
        let mut drawn = [0; 2];
        for ((coefficients, modulus), (state, drawn)) in [FIRST, SECOND]
            .into_iter()
            .zip(self.state.iter_mut().zip(&mut drawn))
        {
            let sum: u128 = coefficients
                .iter()
                .zip(&*state)
                .map(|(&a, &b)| u128::from(a) * u128::from(b))
                .sum();
            *drawn = (sum % u128::from(modulus)) as u64;
            *state = [state[1], state[2], *drawn];
        }
        match (drawn[0] + M1 - drawn[1]) % M1 {
            0 => M1,
            difference => difference,
        }
    }

    /// Uniform in 0 to 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        self.next_number() as f64 * (1.0 / (M1 as f64 + 1.0))
    }

    /// Goes to the beginning of the next sub-stream.
    pub fn next_substream(&mut self) {
        for ((coefficients, modulus), state) in [FIRST, SECOND].into_iter().zip(&mut self.begin) {
            let mut power = [[0, 1, 0], [0, 0, 1], coefficients];
            for _ in 0..76 {
                power = product(&power, &power, modulus);
            }
            let column = product(
                &power,
                &[[state[0]; 3], [state[1]; 3], [state[2]; 3]],
                modulus,
            );
            *state = column.map(|row| row[0]);
        }
        self.state = self.begin;
    }
}

fn product(one: &Matrix, other: &Matrix, modulus: u64) -> Matrix {
    let mut result = [[0; 3]; 3];
    for (row, factors) in result.iter_mut().zip(one) {
        for (column, cell) in row.iter_mut().enumerate() {
            let sum: u128 = factors
                .iter()
                .zip(other)
                .map(|(&a, b)| u128::from(a) * u128::from(b[column]))
                .sum();
            *cell = (sum % u128::from(modulus)) as u64;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published first numbers of the package with its default seed.
    #[test]
    fn the_first_numbers_are_the_published_ones() {
        let mut random = Mrg32k3a::new(12_345);
        for expected in [
            0.127_011_122_046_577_14,
            0.318_527_565_396_794_5,
            0.309_186_015_583_270_1,
        ] {
            let found = random.uniform();
            assert!((found - expected).abs() < 1e-15, "{found}, not {expected}");
        }
    }

    /// ns-2.35 checks itself with these numbers (`tools/rng.cc`, `RNGTest`): the 10,000th and the
    /// 551,246th, times 2^31.
    #[test]
    fn the_numbers_are_those_of_ns2() {
        let mut random = Mrg32k3a::new(1);
        let mut numbers = (1..).map(|place| (place, (random.uniform() * 2_147_483_648.0) as u64));
        assert_eq!(
            numbers.find(|&(place, _)| place == 10_000),
            Some((10_000, 1_179_983_147))
        );
        assert_eq!(
            numbers.find(|&(place, _)| place == 551_246),
            Some((551_246, 817_829_295))
        );
    }

    /// The published matrix of 2^76 steps of the first component.
    #[test]
    fn a_substream_is_2_to_the_76_numbers_long() {
        let mut power = [[0, 1, 0], [0, 0, 1], FIRST.0];
        for _ in 0..76 {
            power = product(&power, &power, M1);
        }
        assert_eq!(power[0], [82_758_667, 1_871_391_091, 4_127_413_238]);
        let mut used = Mrg32k3a::new(7_654_321);
        let mut fresh = used.clone();
        used.next_number();
        used.next_substream();
        fresh.next_substream();
        assert_eq!(used, fresh);
        let row = power[0].map(|cell| u128::from(cell) * 7_654_321);
        let first = (row.iter().sum::<u128>() % u128::from(M1)) as u64;
        assert_eq!(fresh.state[0][0], first);
    }
}
