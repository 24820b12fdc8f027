//! The error of the crate: a place and a sentence.

use std::fmt;

/// What was wrong with an input, in one sentence: `file.toml:12:8: unknown key ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    file: Option<String>,
    place: Option<(u32, u32)>,
    message: String,
}

impl Error {
    /// An error without a place.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            file: None,
            place: None,
            message: one_line(&message.into()),
        }
    }

    /// An error about a whole file.
    pub(crate) fn in_file(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: Some(one_line(file)),
            ..Self::new(message)
        }
    }

    /// An error at a line and column, both counted from one.
    pub(crate) fn at(file: &str, line: u32, column: u32, message: impl Into<String>) -> Self {
        Self {
            place: Some((line, column)),
            ..Self::in_file(file, message)
        }
    }

    /// The file, where there is one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Line and column, both counted from one; the column counts characters.
    #[must_use]
    pub const fn place(&self) -> Option<(u32, u32)> {
        self.place
    }

    /// The sentence without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let Some((line, column)) = self.place {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Control characters of an input must not break the sentence over lines or move the cursor.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Input text in quotes, shortened if it is long.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let shown: String = text
        .chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    let dots = if text.chars().nth(LONGEST).is_some() {
        "..."
    } else {
        ""
    };
    format!("\"{shown}{dots}\"")
}

/// `; did you mean "x"?`, or the list of known words if none is near.
pub(crate) fn suggestion<'a>(
    unknown: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let all: Vec<&str> = known.clone().into_iter().collect();
    match nearest(unknown, known) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None if all.is_empty() => String::new(),
        None => format!("; known are {}", all.join(", ")),
    }
}

/// The known word nearest to `unknown`, if any is near.
pub(crate) fn nearest<'a>(
    unknown: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Long text is not a misspelling, and the distance takes quadratic time.
    if unknown.chars().count() > 40 {
        return None;
    }
    let lower = unknown.to_lowercase();
    // A word that contains the other, such as `every-segment` and `every`, is near. Fewer edits are
    // nearer still: `outage_maxs` is `outage_max` rather than `outage`.
    let distance = |word: &str| {
        let related =
            word.len() >= 3 && lower.len() >= 3 && (lower.contains(word) || word.contains(&lower));
        let edits = strsim::damerau_levenshtein(&lower, &word.to_lowercase());
        (if related { edits.min(1) } else { edits }, edits)
    };
    let ((edits, _), word) = known
        .into_iter()
        .map(|word| (distance(word), word))
        .min_by_key(|&(distance, _)| distance)?;
    // Words without a common letter are not near: `%` is not `s`.
    let letters = lower.chars().count();
    let in_common = edits < letters.max(word.chars().count());
    (in_common && edits <= (letters / 2).clamp(1, 4)).then_some(word)
}
