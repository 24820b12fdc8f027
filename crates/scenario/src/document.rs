//! Typed access to a TOML document that remembers where everything stands.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use units::Duration;

use crate::error::{Error, quoted, suggestion};
use crate::quantity;
use crate::schema::KnownTable;

/// A file as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    /// Its name in messages.
    pub(crate) file: &'a str,
    /// What it says.
    pub(crate) text: &'a str,
}

impl<'a> Document<'a> {
    /// The tree of the document.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(self.text.len(), |span| span.start);
            self.error(at, format!("this is no TOML: {}", error.message()))
        })
    }

    /// An error at a byte of the text.
    pub(crate) fn error(&self, at: usize, message: impl Into<String>) -> Error {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Error::at(self.file, number(line), number(column), message)
    }
}

/// A table of which every key is known.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    document: Document<'a>,
    known: &'static KnownTable,
    entries: &'a DeTable<'a>,
    at: usize,
}

impl<'a> Table<'a> {
    /// Refuses the first unknown key.
    pub(crate) fn new(
        document: Document<'a>,
        known: &'static KnownTable,
        entries: &'a DeTable<'a>,
        at: usize,
    ) -> Result<Self, Error> {
        let unknown = |key: &&Spanned<DeString<'a>>| !known.keys.contains(&key.get_ref().as_ref());
        if let Some(key) = entries
            .keys()
            .filter(unknown)
            .min_by_key(|key| key.span().start)
        {
            let name: &str = key.get_ref();
            let hint = suggestion(name, known.keys.iter().copied());
            let message = format!("unknown key {} in {}{hint}", quoted(name), known.title);
            return Err(document.error(key.span().start, message));
        }
        Ok(Self {
            document,
            known,
            entries,
            at,
        })
    }

    /// What stands at `key`.
    pub(crate) fn get(&self, key: &'static str) -> Option<Item<'a>> {
        debug_assert!(
            self.known.keys.contains(&key),
            "a key that the schema does not know"
        );
        let (place, value) = self.entries.get_key_value(key)?;
        Some(Item {
            document: self.document,
            key,
            at: place.span().start,
            value,
        })
    }

    /// What stands at `key`, which has to be there.
    pub(crate) fn need(&self, key: &'static str, example: &str) -> Result<Item<'a>, Error> {
        self.get(key).ok_or_else(|| {
            self.refuse(format!(
                "{} needs {key}, such as {key} = {example}",
                self.known.title
            ))
        })
    }

    /// A span of time at `key`, or the usual one.
    pub(crate) fn time(
        &self,
        key: &'static str,
        usual: Duration,
        read: impl FnOnce(&str) -> Result<Duration, String>,
    ) -> Result<Duration, Error> {
        let item = self.get(key);
        item.map_or(Ok(usual), |item| item.read("\"10 ms\"", read))
    }

    /// A share of at most `max` percent at `key`, or the usual one.
    pub(crate) fn share(&self, key: &'static str, usual: f64, max: u64) -> Result<f64, Error> {
        let read = |text: &str| quantity::share(text, max);
        let item = self.get(key);
        item.map_or(Ok(usual), |item| item.read("\"10 %\"", read))
    }

    /// Whether something stands at `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// An error at a key of the table.
    pub(crate) fn refuse_at(&self, key: &str, message: impl Into<String>) -> Error {
        let at = self
            .entries
            .get_key_value(key)
            .map_or(self.at, |(place, _)| place.span().start);
        self.document.error(at, message)
    }

    /// An error about the table as a whole.
    pub(crate) fn refuse(&self, message: impl Into<String>) -> Error {
        self.document.error(self.at, message)
    }

    /// Refuses two keys that exclude each other.
    pub(crate) fn either(&self, one: &'static str, other: &'static str) -> Result<(), Error> {
        match (self.get(one), self.get(other)) {
            (Some(_), Some(item)) => Err(self.document.error(
                item.at,
                format!("{} says {one} or {other}, not both", self.known.title),
            )),
            _ => Ok(()),
        }
    }
}

/// A value with its key and its place.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    document: Document<'a>,
    key: &'static str,
    at: usize,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Item<'a> {
    /// `key = value: reason`.
    pub(crate) fn refuse(&self, reason: impl AsRef<str>) -> Error {
        self.document.error(
            self.at,
            format!("{} = {}: {}", self.key, self.shown(), reason.as_ref()),
        )
    }

    fn shown(&self) -> String {
        match self.value.get_ref() {
            DeValue::String(text) => quoted(text),
            DeValue::Integer(number) => number.to_string().chars().take(40).collect(),
            DeValue::Float(number) => number.to_string().chars().take(40).collect(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(value) => value.to_string(),
            DeValue::Array(_) => "[...]".to_owned(),
            DeValue::Table(_) => "{...}".to_owned(),
        }
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    /// A text that may be shown in one line.
    pub(crate) fn words(&self, max: usize) -> Result<String, Error> {
        let text = self
            .as_text()
            .ok_or_else(|| self.refuse("this is a text in quotes"))?;
        if text.chars().count() > max || text.chars().any(char::is_control) {
            return Err(self.refuse(format!("one line of at most {max} characters is expected")));
        }
        Ok(text.to_owned())
    }

    /// A text that `read` understands; `example` is what it could be.
    pub(crate) fn read<T>(
        &self,
        example: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Error> {
        let text = self.as_text().ok_or_else(|| {
            self.refuse(format!("a text in quotes is expected, such as {example}"))
        })?;
        read(text).map_err(|reason| self.refuse(reason))
    }

    /// One of some words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Error> {
        let names = || choices.iter().map(|&(name, _)| name);
        let text = self.as_text().ok_or_else(|| {
            self.refuse(format!(
                "one of {} is expected, in quotes",
                names().collect::<Vec<_>>().join(", ")
            ))
        })?;
        let found = choices.iter().find(|&&(name, _)| name == text);
        found.map(|&(_, value)| value).ok_or_else(|| {
            let hint = suggestion(text, names());
            self.refuse(format!("this is not known{hint}"))
        })
    }

    /// A whole number between `min` and `max`.
    pub(crate) fn integer(&self, min: u64, max: u64) -> Result<u64, Error> {
        let out = || self.refuse(format!("a whole number from {min} to {max} is expected"));
        let number = self.value.get_ref().as_integer().ok_or_else(out)?;
        let value = u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| out())?;
        if (min..=max).contains(&value) {
            Ok(value)
        } else {
            Err(out())
        }
    }

    /// A number between `min` and `max`, with or without a fraction.
    pub(crate) fn number(&self, min: f64, max: f64) -> Result<f64, Error> {
        let written = match self.value.get_ref() {
            DeValue::Integer(number) => Some(number.as_str()).filter(|_| number.radix() == 10),
            DeValue::Float(number) => Some(number.as_str()),
            _ => None,
        };
        written
            .and_then(|text| text.parse().ok())
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.refuse(format!("a number from {min} to {max} is expected")))
    }

    /// The entries, if it is an array.
    pub(crate) fn items(&self) -> Option<Vec<Self>> {
        let array = self.value.get_ref().as_array()?;
        let entry = |value: &'a Spanned<DeValue<'a>>| Self {
            at: value.span().start,
            value,
            ..*self
        };
        Some(array.iter().map(entry).collect())
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self) -> Result<bool, Error> {
        self.value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.refuse("true or false is expected, without quotes"))
    }

    /// What stands at `key` of a table of whatever kind, if this is one and has it.
    pub(crate) fn inner(&self, key: &'static str) -> Option<Item<'a>> {
        let (place, value) = self.value.get_ref().as_table()?.get_key_value(key)?;
        Some(Item {
            document: self.document,
            key,
            at: place.span().start,
            value,
        })
    }

    /// A table, if it is one.
    pub(crate) fn as_table(&self, known: &'static KnownTable) -> Option<Result<Table<'a>, Error>> {
        let entries = self.value.get_ref().as_table()?;
        Some(Table::new(self.document, known, entries, self.at))
    }

    /// A table.
    pub(crate) fn table(&self, known: &'static KnownTable) -> Result<Table<'a>, Error> {
        let expected = || {
            self.refuse(format!(
                "a table is expected; its keys are {}",
                known.keys.join(", ")
            ))
        };
        self.as_table(known).ok_or_else(expected)?
    }

    /// The tables of an array, if it is one, at most `max`.
    pub(crate) fn as_tables(
        &self,
        known: &'static KnownTable,
        max: usize,
    ) -> Option<Result<Vec<Table<'a>>, Error>> {
        let array = self.value.get_ref().as_array()?;
        if array.len() > max {
            return Some(Err(self.refuse(format!("the limit is {max} entries"))));
        }
        let table = |value: &'a Spanned<DeValue<'a>>| {
            let at = value.span().start;
            match value.get_ref() {
                DeValue::Table(entries) => Table::new(self.document, known, entries, at),
                _ => Err(self.document.error(
                    at,
                    format!(
                        "each entry of {} is a table; its keys are {}",
                        self.key,
                        known.keys.join(", ")
                    ),
                )),
            }
        };
        Some(array.iter().map(table).collect())
    }
}
