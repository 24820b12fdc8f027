//! Names that are not known when the program is built.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Every name so far; they are few, and live until the process ends.
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The name of a stack of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(&'static str);

impl Name {
    /// The name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().copied().find(|known| *known == name);
        Self(known.unwrap_or_else(|| {
            let made: &'static str = Box::leak(name.into());
            names.push(made);
            made
        }))
    }

    /// The name as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::new(&name))
    }
}
