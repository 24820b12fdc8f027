//! A short text without allocation.

use core::fmt;

/// A text of at most `N` bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Name<N> {
    pub const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    /// Appends `text`; false, and nothing appended, when it does not fit.
    pub fn push(&mut self, text: &str) -> bool {
        let end = self.len + text.len();
        let Some(space) = self.bytes.get_mut(self.len..end) else {
            return false;
        };
        space.copy_from_slice(text.as_bytes());
        self.len = end;
        true
    }

    /// `text`, or its beginning and an ellipsis when it is longer.
    pub fn abridged(text: &str) -> Self {
        const ELLIPSIS: &str = "...";
        let mut name = Self::new();
        if name.push(text) {
            return name;
        }
        for (at, character) in text.char_indices() {
            let next = at + character.len_utf8();
            if next + ELLIPSIS.len() > N || !name.push(&text[at..next]) {
                break;
            }
        }
        name.push(ELLIPSIS);
        name
    }

    pub fn as_str(&self) -> &str {
        // Only whole texts are ever pushed.
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Debug for Name<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
