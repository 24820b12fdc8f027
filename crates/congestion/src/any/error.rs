//! Why a description of an algorithm was refused, in one sentence.

use core::fmt;
use core::ops::Range;

use super::name::Name;
use super::{PARTS, PartInfo, PartKind};

/// Longer words are compared and quoted by their beginning.
const WORD: usize = 32;

/// Why a description of an algorithm was refused, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlgorithmError {
    /// What is wrong.
    pub problem: Problem,
    start: usize,
    end: usize,
    word: Name<WORD>,
}

/// What is wrong with a description of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A name is missing.
    MissingName,
    /// No part has this name.
    UnknownPart {
        /// What was expected here.
        expected: PartKind,
        /// A known name that is nearly the same.
        nearest: Option<&'static str>,
    },
    /// A part of this kind cannot stand here.
    Misplaced {
        /// The part's kind.
        kind: PartKind,
    },
    /// More after a monolithic congestion control.
    NotAlone {
        /// The monolithic congestion control.
        name: &'static str,
    },
    /// Two parts that exist and have no meaning together.
    Contradiction {
        /// The avoidance.
        avoidance: &'static str,
        /// Why, as a clause after "because".
        why: &'static str,
    },
    /// The part has no such option.
    UnknownOption {
        /// The part.
        part: &'static PartInfo,
        /// A known option that is nearly the same.
        nearest: Option<&'static str>,
    },
    /// An option without `=value`.
    MissingValue,
    /// An option that was given before.
    Repeated,
    /// The option does not take this value.
    InvalidValue {
        /// The option.
        option: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// The description is longer than any that makes sense.
    TooLong {
        /// The most that is taken, in bytes.
        most: usize,
    },
}

impl AlgorithmError {
    pub(super) fn new(input: &str, at: Range<usize>, problem: Problem) -> Self {
        Self {
            problem,
            start: at.start,
            end: at.end,
            word: Name::abridged(input.get(at).unwrap_or_default()),
        }
    }

    /// The bytes of the description that are wrong.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

impl fmt::Display for AlgorithmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.as_str();
        match self.problem {
            Problem::MissingName => {
                f.write_str("a name is missing in the algorithm: write it as in `cubic+hystart`")
            }
            Problem::UnknownPart { expected, nearest } => {
                write!(f, "unknown {} `{word}`", expected.word())?;
                suggest(f, nearest)?;
                let alone = expected == PartKind::Avoidance;
                let known = PARTS.iter().filter(|part| {
                    part.kind == expected || alone && part.kind == PartKind::Monolithic
                });
                list(f, known.map(|part| part.name))
            }
            Problem::Misplaced { kind } => {
                write!(f, "`{word}` is ")?;
                let (article, place) = match kind {
                    PartKind::Avoidance => ("an", "it comes first, as in `cubic+hystart`"),
                    PartKind::Startup => ("a", "it follows an avoidance, as in `cubic+hystart`"),
                    PartKind::Recovery => ("a", "it comes last, as in `cubic+hystart+prr`"),
                    PartKind::Monolithic => ("a monolithic", "it stands alone"),
                };
                write!(f, "{article} {}: {place}", kind.word())
            }
            Problem::NotAlone { name } => write!(
                f,
                "`{name}` is a monolithic congestion control and stands alone: remove `+{word}`"
            ),
            Problem::Contradiction { avoidance, why } => {
                write!(f, "`{word}` does not go with `{avoidance}`, because {why}")
            }
            Problem::UnknownOption { part, nearest } => {
                write!(f, "unknown option `{word}` of `{}`", part.name)?;
                suggest(f, nearest)?;
                if part.options.is_empty() {
                    f.write_str(": it has no options")
                } else {
                    list(f, part.options.iter().map(|option| option.name))
                }
            }
            Problem::MissingValue => {
                write!(f, "option `{word}` has no value: write it as `name=value`")
            }
            Problem::Repeated => write!(f, "option `{word}` is given twice"),
            Problem::InvalidValue { option, expected } => {
                write!(f, "option `{option}` takes {expected}, not `{word}`")
            }
            Problem::TooLong { most } => {
                write!(f, "an algorithm is described in at most {most} bytes")
            }
        }
    }
}

impl core::error::Error for AlgorithmError {}

fn suggest(f: &mut fmt::Formatter<'_>, nearest: Option<&str>) -> fmt::Result {
    match nearest {
        Some(name) => write!(f, ": did you mean `{name}`?"),
        None => Ok(()),
    }
}

fn list<'a>(f: &mut fmt::Formatter<'_>, mut known: impl Iterator<Item = &'a str>) -> fmt::Result {
    if let Some(first) = known.next() {
        write!(f, " (known: {first}")?;
        known.try_for_each(|name| write!(f, ", {name}"))?;
        f.write_str(")")?;
    }
    Ok(())
}

/// The candidate nearest to `word`, if it is near enough to be a slip.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = (word.len() / 3).clamp(1, 3);
    candidates
        .map(|candidate| (distance(word.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and exchanges of neighbours between two words, ASCII case
/// ignored.
fn distance(a: &[u8], b: &[u8]) -> usize {
    if a.len() > WORD || b.len() > WORD {
        return usize::MAX;
    }
    let mut before = [0; WORD + 1];
    let mut row = [0; WORD + 1];
    let mut next = [0; WORD + 1];
    for (column, cost) in row.iter_mut().enumerate() {
        *cost = column;
    }
    for i in 0..a.len() {
        next[0] = i + 1;
        for j in 0..b.len() {
            let same = |x: usize, y: usize| a[x].eq_ignore_ascii_case(&b[y]);
            let replaced = row[j] + usize::from(!same(i, j));
            next[j + 1] = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j) {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        (before, row, next) = (row, next, before);
    }
    row[b.len()]
}
