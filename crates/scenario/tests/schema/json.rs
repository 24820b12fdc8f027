//! JSON whose keys keep their order.

use std::fmt::Write;

/// JSON whose keys keep their order.
pub enum Json {
    Raw(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

pub use Json::{List, Object, Raw};

impl Json {
    pub fn write(&self, indent: usize, out: &mut String) {
        let pad = |depth| "  ".repeat(depth);
        let (open, close, entries): (_, _, Vec<(String, &Self)>) = match self {
            Raw(text) => return out.push_str(text),
            List(list) if list.iter().all(|entry| matches!(entry, Raw(_))) => {
                let texts = list.iter().filter_map(|entry| match entry {
                    Raw(text) => Some(text.as_str()),
                    _ => None,
                });
                let _ = write!(out, "[{}]", texts.collect::<Vec<_>>().join(", "));
                return;
            }
            List(list) => (
                '[',
                ']',
                list.iter().map(|entry| (String::new(), entry)).collect(),
            ),
            Object(entries) => {
                let entries = entries.iter();
                let named = entries.map(|(name, entry)| (format!("\"{name}\": "), entry));
                ('{', '}', named.collect())
            }
        };
        out.push(open);
        for (place, (name, entry)) in entries.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let _ = write!(out, "{comma}\n{}{name}", pad(indent + 1));
            entry.write(indent + 1, out);
        }
        let _ = write!(out, "\n{}{close}", pad(indent));
    }
}

pub fn text(text: &str) -> Json {
    Raw(serde_json::to_string(text).expect("a text is JSON"))
}

pub fn number(number: impl std::fmt::Display) -> Json {
    Raw(number.to_string())
}

pub fn words(words: &[&str]) -> Json {
    Object(vec![(
        "enum",
        List(words.iter().map(|word| text(word)).collect()),
    )])
}

pub fn defined(name: &str) -> Json {
    Object(vec![("$ref", text(&format!("#/$defs/{name}")))])
}
