//! Seeded mutations of an input: the same seed gives the same inputs on any machine.

/// Words that are edge cases for parsers of numbers and lines.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1",
    "0.1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "-0.0",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "0 s",
    "1 ns",
    "60 s",
    "1000000 s",
    "1 bit/s",
    "1 Tbit/s",
    "1 B",
    "1 TB",
    "100 %",
    "\"",
    "'",
    "[",
    "]]",
    "{",
    "=",
    "=>",
    ",",
    ":",
    "+",
    "#",
    "\n",
    "\r\n",
    "\t",
    "\u{0}",
    "\u{feff}",
    "\u{1d7d8}",
];

/// Largest size of an input.
const LONGEST: usize = 1 << 16;

/// Derives inputs from others.
#[derive(Debug)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// The sequence of mutations from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, or zero if `limit` is zero.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// An input that differs from one of `corpus` in one to four places.
    pub fn input(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut data = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            let other = &corpus[self.below(corpus.len())];
            self.change(&mut data, other);
            data.truncate(LONGEST);
        }
        data
    }

    fn change(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(data.len() + 1);
        match self.below(9) {
            0 if at < data.len() => data[at] ^= 1 << self.below(8),
            1 if at < data.len() => data[at] = self.next() as u8,
            2 => {
                let end = (at + 1 + self.below(16)).min(data.len());
                data.drain(at..end);
            }
            3 => {
                let word = WORDS[self.below(WORDS.len())];
                data.splice(at..at, word.bytes());
            }
            4 => {
                // Replace a number with a word.
                let numbers = spans(data, |byte| byte.is_ascii_digit() || *byte == b'.');
                self.replace(data, &numbers);
            }
            5 => {
                let names = spans(data, |byte| {
                    byte.is_ascii_alphanumeric() || b"-_".contains(byte)
                });
                self.replace(data, &names);
            }
            6 => {
                // Insert a line of another input.
                let lines: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
                if let Some(line) = lines.get(self.below(lines.len())) {
                    let start = data[..at].iter().rposition(|byte| *byte == b'\n');
                    let start = start.map_or(0, |end| end + 1);
                    data.splice(start..start, line.iter().copied());
                }
            }
            7 => {
                // Delete a line.
                let start = data[..at].iter().rposition(|byte| *byte == b'\n');
                let start = start.map_or(0, |end| end + 1);
                let length = data[start..].iter().position(|byte| *byte == b'\n');
                let end = length.map_or(data.len(), |length| start + length + 1);
                data.drain(start..end);
            }
            _ => {
                let from = self.below(other.len() + 1);
                data.truncate(at);
                data.extend_from_slice(&other[from..]);
            }
        }
    }

    fn replace(&mut self, data: &mut Vec<u8>, places: &[(usize, usize)]) {
        if let Some(&(start, end)) = places.get(self.below(places.len())) {
            let word = WORDS[self.below(WORDS.len())];
            data.splice(start..end, word.bytes());
        }
    }
}

/// Start and end of each run of bytes of a kind.
fn spans(data: &[u8], kind: impl Fn(&u8) -> bool) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut start = None;
    for (at, byte) in data.iter().enumerate() {
        match (kind(byte), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                spans.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    spans.extend(start.map(|from| (from, data.len())));
    spans
}
