//! Which stack supports which key.
//!
//! A stack is what runs a scenario: the simulated TCP, the running kernel's, a QUIC library. It
//! declares, in one [`Stack`], the keys that it knows; a scenario that sets any other is refused. So
//! a new key is refused by each stack until that stack declares it. A key that a shared part
//! implements (a link is the same object on every stack) says so itself: [`Key::everywhere`].

use crate::Key;

/// A stack, and the keys that it supports.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Its name in commands and results.
    pub name: &'static str,
    /// Where a run takes place, at the end of a sentence: `on the kernel`.
    pub place: &'static str,
    /// The tables of which the stack knows only some keys, by their names. Of a table that is not
    /// listed it supports all keys, if it supports the key that holds the table.
    pub tables: &'static [(&'static str, &'static [Supported])],
    /// Reasons why it lacks a key. A key without a reason is available with
    /// the simulated TCP only.
    pub lacks: &'static [Lack],
}

/// A key that a stack supports.
#[derive(Clone, Copy, Debug)]
pub struct Supported {
    /// Its name.
    pub key: &'static str,
    /// How the stack implements it, for the documentation.
    pub how: &'static str,
    /// The words that it takes; empty for all.
    pub words: &'static [&'static str],
    /// Whether all flows of a run must have the same value.
    pub is_shared: bool,
}

/// A key that a stack does not support.
#[derive(Clone, Copy, Debug)]
pub struct Lack {
    /// The name of its table.
    pub table: &'static str,
    /// Its name.
    pub key: &'static str,
    /// Why, as the end of a sentence.
    pub reason: &'static str,
}

impl Supported {
    /// A key with any value.
    #[must_use]
    pub const fn new(key: &'static str, how: &'static str) -> Self {
        Self {
            key,
            how,
            words: &[],
            is_shared: false,
        }
    }

    /// Supports only these words.
    #[must_use]
    pub const fn only(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    /// Requires the same value for all flows of a run.
    #[must_use]
    pub const fn shared(self) -> Self {
        Self {
            is_shared: true,
            ..self
        }
    }
}

impl Stack {
    /// The keys of a table that the stack supports; `None` if it supports all.
    #[must_use]
    pub fn known(&self, table: &str) -> Option<&'static [Supported]> {
        let known = self.tables.iter().find(|(name, _)| *name == table);
        known.map(|(_, keys)| *keys)
    }

    /// Whether the stack supports a key of a table, with the word `word` if it has one.
    #[must_use]
    pub fn supports(&self, table: &str, key: &Key, word: Option<&str>) -> bool {
        let Some(known) = self.known(table).filter(|_| !key.everywhere) else {
            return true;
        };
        let takes = |each: &Supported| word.is_none_or(|word| each.words.contains(&word));
        known
            .iter()
            .any(|each| each.key == key.name && (each.words.is_empty() || takes(each)))
    }

    /// Why the stack does not support a key, as the end of a sentence.
    #[must_use]
    pub fn reason(&self, table: &str, key: &str) -> &'static str {
        let is_it = |lack: &&Lack| lack.table == table && lack.key == key;
        let lack = self.lacks.iter().find(is_it);
        lack.map_or("it is available with the simulated TCP only", |lack| {
            lack.reason
        })
    }
}
