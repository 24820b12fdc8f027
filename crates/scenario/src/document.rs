//! Typed access to a TOML document, with the place of each value.

use tables::{DefaultValue, Field, Kind, Table as Known, Value, Variant, Wrong};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::error::{Error, nearest, quoted, suggestion};

/// A file that was read.
#[derive(Clone, Copy)]
pub(crate) struct Document<'a> {
    /// Its name in messages.
    pub(crate) file: &'a str,
    /// Its text.
    pub(crate) text: &'a str,
}

impl<'a> Document<'a> {
    /// The tree of the document.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(self.text.len(), |span| span.start);
            self.error(at, format!("invalid TOML: {}", error.message()))
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

/// A table all of whose keys are known.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    document: Document<'a>,
    known: &'static Known,
    entries: &'a DeTable<'a>,
    at: usize,
}

impl<'a> Table<'a> {
    /// Refuses the first unknown key.
    pub(crate) fn new(
        document: Document<'a>,
        known: &'static Known,
        entries: &'a DeTable<'a>,
        at: usize,
    ) -> Result<Self, Error> {
        Self::of(document, known, entries, at, None)
    }

    /// The same for a table that has one more key, which selected it.
    fn of(
        document: Document<'a>,
        known: &'static Known,
        entries: &'a DeTable<'a>,
        at: usize,
        choice: Option<&str>,
    ) -> Result<Self, Error> {
        let is_known = |name: &str| choice == Some(name) || known.key(name).is_some();
        let unknown = |key: &&Spanned<DeString<'a>>| !is_known(key.get_ref());
        if let Some(key) = entries
            .keys()
            .filter(unknown)
            .min_by_key(|key| key.span().start)
        {
            return Err(document.error(key.span().start, unknown_key(key.get_ref(), known)));
        }
        Ok(Self {
            document,
            known,
            entries,
            at,
        })
    }

    /// The item at `key`.
    pub(crate) fn get(&self, key: &str) -> Option<Item<'a>> {
        let known = self.known.key(key);
        debug_assert!(
            known.is_some(),
            "{key} is not a key of {}",
            self.known.title
        );
        let known = known?;
        let (place, value) = self.entries.get_key_value(key)?;
        Some(Item {
            document: self.document,
            key: known.name,
            kind: known.kind,
            example: match known.default {
                DefaultValue::Needed(text)
                | DefaultValue::Sometimes(text, _)
                | DefaultValue::Is(text) => text,
                DefaultValue::Value(_) | DefaultValue::Words(_) => "",
            },
            at: place.span().start,
            value,
        })
    }

    /// The value at `key`, if there is one.
    pub(crate) fn read<T: Field>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(item) = self.get(key) else {
            return Ok(None);
        };
        let value = T::of(item.value()?);
        debug_assert!(value.is_some(), "{key} is of another kind");
        Ok(value)
    }

    /// The value at `key`, or its default.
    pub(crate) fn or<T: Field>(&self, key: &str, usual: T) -> Result<T, Error> {
        Ok(self.read(key)?.unwrap_or(usual))
    }

    /// Replaces a value by the one at `key`, if there is one.
    pub(crate) fn set<T: Field>(&self, key: &str, value: &mut T) -> Result<(), Error> {
        if let Some(said) = self.read(key)? {
            *value = said;
        }
        Ok(())
    }

    /// The entry of `choices` that corresponds to the word at `key`.
    pub(crate) fn word<T: Copy>(&self, key: &str, choices: &[T]) -> Result<Option<T>, Error> {
        match self.get(key).map(|item| item.value()).transpose()? {
            Some(Value::Word(word)) => Ok(choices.get(word).copied()),
            _ => Ok(None),
        }
    }

    /// The item at `key`, which is required.
    pub(crate) fn need(&self, key: &str) -> Result<Item<'a>, Error> {
        self.get(key).ok_or_else(|| self.missing(key))
    }

    /// The value at `key`, which is required.
    pub(crate) fn needed<T: Field>(&self, key: &str) -> Result<T, Error> {
        self.read(key)?.ok_or_else(|| self.missing(key))
    }

    /// The error about a missing key.
    pub(crate) fn missing(&self, key: &str) -> Error {
        let known = self.known.key(key);
        let example = known.map_or_else(String::new, |known| match (known.kind, known.default) {
            (
                Kind::Table(_) | Kind::Integer(..) | Kind::Number(..) | Kind::Switch,
                DefaultValue::Needed(text) | DefaultValue::Sometimes(text, _),
            ) => text.to_owned(),
            (_, DefaultValue::Needed(text) | DefaultValue::Sometimes(text, _)) => {
                format!("\"{text}\"")
            }
            (kind, _) => format!("\"{}\"", kind.example()),
        });
        self.refuse(format!(
            "{} needs {key}, such as {key} = {example}",
            self.known.title
        ))
    }

    /// The error about values that contradict each other.
    pub(crate) fn wrong(&self, wrong: Wrong) -> Error {
        let shown = wrong.shown.then(|| self.get(wrong.key));
        match shown.flatten() {
            Some(item) => item.refuse(wrong.reason),
            None => self.refuse_at(wrong.key, wrong.reason),
        }
    }

    /// Whether the table has `key`.
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
    pub(crate) fn either(&self, one: &str, other: &str) -> Result<(), Error> {
        match (self.get(one), self.get(other)) {
            (Some(_), Some(item)) => Err(self.document.error(
                item.at,
                format!("{} takes {one} or {other}, not both", self.known.title),
            )),
            _ => Ok(()),
        }
    }
}

fn names(known: &Known) -> Vec<&'static str> {
    known.given().map(|key| key.name).collect()
}

/// The longest list of keys in a message, in characters.
const LONGEST_LIST: usize = 120;
/// Where the keys of every table are.
const REFERENCE: &str = "docs/reference/scenario.md";

/// `its keys are ...`, or where they are if there are many.
fn list(known: &Known) -> String {
    let all = names(known).join(", ");
    match all.len() <= LONGEST_LIST {
        true => format!("its keys are {all}"),
        false => format!("{REFERENCE} lists its keys"),
    }
}

/// `; did you mean "x"?`, or the keys of the table if none is near.
fn key_suggestion(unknown: &str, known: &Known) -> String {
    let all = names(known);
    let is_long = all.join(", ").len() > LONGEST_LIST;
    match nearest(unknown, all.iter().copied()) {
        None if is_long => format!("; {}", list(known)),
        _ => suggestion(unknown, all),
    }
}

/// Keys that were renamed.
const RENAMED: &[(&str, &str)] = &[("helps", "router_support"), ("list", "list_flows")];

fn unknown_key(name: &str, known: &Known) -> String {
    let renamed = RENAMED
        .iter()
        .find(|(old, new)| *old == name && known.key(new).is_some());
    if let Some((old, new)) = renamed {
        return format!("`{old}` is now `{new}`");
    }
    let hint = known
        .given()
        .find_map(|key| match key.kind {
            Kind::Table(inner) if inner.title.starts_with('[') && inner.key(name).is_some() => {
                Some(format!("; put it under {}", inner.title))
            }
            _ => None,
        })
        .unwrap_or_else(|| key_suggestion(name, known));
    format!("unknown key {} in {}{hint}", quoted(name), known.title)
}

/// A value with its key and its place.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    document: Document<'a>,
    key: &'static str,
    pub(crate) kind: Kind,
    /// The possible values; empty where the kind implies them.
    example: &'static str,
    at: usize,
    pub(crate) value: &'a Spanned<DeValue<'a>>,
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

    /// The text, if this is a string.
    pub(crate) fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    /// A text that fits in one line, no longer than the key allows.
    pub(crate) fn words(&self) -> Result<String, Error> {
        let text = self
            .as_text()
            .ok_or_else(|| self.refuse("expected a quoted string"))?;
        let Kind::Text(max) = self.kind else {
            return Ok(text.to_owned());
        };
        if text.chars().count() > max as usize || text.chars().any(char::is_control) {
            return Err(self.refuse(format!("expected one line of at most {max} characters")));
        }
        Ok(text.to_owned())
    }

    /// The possible values.
    pub(crate) const fn example(&self) -> &'static str {
        match self.example.is_empty() {
            true => self.kind.example(),
            false => self.example,
        }
    }

    /// A text that `read` understands.
    pub(crate) fn parse<T>(
        &self,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Error> {
        let text = self.as_text().ok_or_else(|| {
            let example = self.example();
            self.refuse(format!("expected a quoted string, such as \"{example}\""))
        })?;
        read(text).map_err(|reason| self.refuse(reason))
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Error> {
        let names = || choices.iter().map(|&(name, _)| name);
        let text = self.as_text().ok_or_else(|| {
            self.refuse(format!(
                "expected one of {}, in quotes",
                names().collect::<Vec<_>>().join(", ")
            ))
        })?;
        let found = choices.iter().find(|&&(name, _)| name == text);
        found.map(|&(_, value)| value).ok_or_else(|| {
            let hint = suggestion(text, names());
            self.refuse(format!("this is not known{hint}"))
        })
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

    /// The item at `key` of a table of any kind, if this is a table and has the key.
    pub(crate) fn inner(&self, key: &'static str) -> Option<Item<'a>> {
        let (place, value) = self.value.get_ref().as_table()?.get_key_value(key)?;
        Some(Item {
            key,
            at: place.span().start,
            value,
            ..*self
        })
    }

    /// A table, if it is one.
    pub(crate) fn as_table(&self, known: &'static Known) -> Option<Result<Table<'a>, Error>> {
        let entries = self.value.get_ref().as_table()?;
        let is_model = |kind: &Kind| matches!(kind, Kind::Model);
        let choice = match self.kind {
            Kind::Any(kinds) if kinds.iter().any(is_model) => Some("model"),
            Kind::Choice(_) => Some("kind"),
            _ => None,
        };
        Some(Table::of(self.document, known, entries, self.at, choice))
    }

    /// Whether this is not a table.
    pub(crate) fn has_no_keys(&self) -> bool {
        self.value.get_ref().as_table().is_none()
    }

    /// The table of one of several kinds. The error about a key of another kind names its kinds.
    pub(crate) fn table_of_kind(
        &self,
        kinds: &'static [Variant],
        place: usize,
    ) -> Result<Table<'a>, Error> {
        let own = kinds[place].table;
        let owners = |name: &str| -> Vec<String> {
            let owners = kinds.iter().filter(|kind| kind.table.key(name).is_some());
            owners.map(|kind| format!("\"{}\"", kind.word)).collect()
        };
        let keys = kinds.iter().flat_map(|kind| kind.table.given());
        let foreign = keys
            .filter(|key| own.key(key.name).is_none())
            .find_map(|key| Some((key, self.inner(key.name)?)));
        if let Some((key, item)) = foreign {
            let owners = owners(key.name);
            let kinds = if owners.len() == 1 { "kind" } else { "kinds" };
            let verb = if owners.len() == 1 { "has" } else { "have" };
            let owners = owners.join(", ");
            return Err(item.refuse(format!("only the {kinds} {owners} {verb} this key")));
        }
        self.table(own)
    }

    /// A table.
    pub(crate) fn table(&self, known: &'static Known) -> Result<Table<'a>, Error> {
        let expected = || self.refuse(format!("expected a table; {}", list(known)));
        self.as_table(known).ok_or_else(expected)?
    }

    /// The tables of an array, if it is one, at most `max`.
    pub(crate) fn as_tables(
        &self,
        known: &'static Known,
        max: u32,
    ) -> Option<Result<Vec<Table<'a>>, Error>> {
        let array = self.value.get_ref().as_array()?;
        if array.len() > max as usize {
            return Some(Err(self.refuse(format!("the limit is {max} entries"))));
        }
        let table = |value: &'a Spanned<DeValue<'a>>| {
            let at = value.span().start;
            match value.get_ref() {
                DeValue::Table(entries) => Table::new(self.document, known, entries, at),
                _ => Err(self.document.error(
                    at,
                    format!("each entry of {} is a table; {}", self.key, list(known)),
                )),
            }
        };
        Some(array.iter().map(table).collect())
    }
}
