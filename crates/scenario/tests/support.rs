//! Each stack supports or refuses each key: none is ignored.
//!
//! The test sets each key of each table that a stack knows only in part to a value other than its
//! default. The scenario must show that the key is used, and each stack must then either declare the
//! key or refuse the scenario with a sentence that names it. A new key fails here only if the
//! scenario does not show it, or if no value of it is known: then add one to [`special`].

use std::path::Path;

use scenario::stacks::{LINUX, SIMULATED, STACKS};
use scenario::{FlowSettings, KnownTraffic, Scenario, known_tables, refusal, supports, uses};
use tables::{DefaultValue, Key, Kind, Table, Value};

const PATH: &str = "[path]\nrate = '50 Mbit/s'\nrtt = '100 ms'\n";
const FLOW: &str = "[[flow]]\nalgorithm = 'cubic'\n";
const SIZE: &str = "size = '1 MB'\n";
const TRAFFIC: &str = "[[traffic]]\nkind = 'http10'\narrivals = '1 /s'\n";
const HOSTS: &str = "[[hosts]]\nname = 'h'\nat = 'AT'\n";

/// A file with a key whose value cannot be chosen by its kind alone.
fn special(table: &str, key: &str) -> Option<String> {
    let plain = format!("{PATH}{FLOW}{SIZE}");
    let hosts = |at: &str| HOSTS.replace("AT", at);
    Some(match (table, key) {
        ("scenario", "network") => {
            format!("network = {{ kind = 'adhoc', nodes = 3 }}\n{FLOW}{SIZE}")
        }
        ("scenario", "flow") => plain,
        ("scenario" | "path", "traffic") => {
            format!("{plain}[[{table}.traffic]]\nkind = 'bulk'\n").replace("scenario.", "")
        }
        ("scenario" | "path", "hosts") => {
            format!("{plain}[[{table}.hosts]]\nname = 'h'\nat = 'left'\n").replace("scenario.", "")
        }
        ("scenario", "node" | "link") => format!(
            "{plain}[[node]]\nname = 'r2'\n[[link]]\nfrom = 'right'\nto = 'r2'\nrate = '1 Gbit/s'\n"
        ),
        ("path", "router_support") => format!("{PATH}router_support = 'quick-start'\n{FLOW}{SIZE}"),
        ("path", "router") => format!("{plain}[[path.router]]\nrate = '80 Mbit/s'\n"),
        ("flow", "algorithm" | "size") => plain,
        ("flow", "duration") => format!("{PATH}{FLOW}duration = '1 s'\n"),
        ("flow", "accurate_ecn") => format!("{plain}ecn = true\naccurate_ecn = 'both'\n"),
        ("flow", "impatient") => format!("{plain}sack = false\nimpatient = true\n"),
        ("flow", "misbehavior") => format!("{plain}misbehavior = {{ stretch = 4 }}\n"),
        ("flow", "application") | ("application", "write" | "every") => {
            format!("{plain}application = {{ write = '1 kB', every = '10 ms' }}\n")
        }
        ("application", "pause") => {
            format!("{plain}application = {{ write = '1 kB', pause = '10 ms' }}\n")
        }
        ("application", "rate") => format!("{plain}application = {{ rate = '1 Mbit/s' }}\n"),
        ("flow", "from") => format!("{plain}from = 'h'\n{}", hosts("left")),
        ("flow", "to") => format!("{plain}to = 'h'\n{}", hosts("right")),
        ("traffic", "kind") => format!("{plain}[[traffic]]\nkind = 'web'\nload = '35 %'\n"),
        ("traffic", "algorithm") => format!("{plain}{TRAFFIC}algorithm = 'reno'\n"),
        ("traffic", "accurate_ecn") => {
            format!("{plain}{TRAFFIC}ecn = true\naccurate_ecn = 'both'\n")
        }
        ("traffic", "impatient") => format!("{plain}{TRAFFIC}sack = false\nimpatient = true\n"),
        ("traffic", "extra_delay") => format!("{plain}{TRAFFIC}extra_delay = ['0 ms', '9 ms']\n"),
        ("traffic", "from") => format!("{plain}{TRAFFIC}from = 'h'\n{}", hosts("left")),
        ("traffic", "to") => format!("{plain}{TRAFFIC}to = 'h'\n{}", hosts("right")),
        _ => return None,
    })
}

/// A value of a kind that is not the default, as TOML.
fn other_value(key: &Key) -> Option<String> {
    let usual = match key.default {
        DefaultValue::Value(usual) => usual(),
        _ => Value::Nothing,
    };
    let is_on = usual == Value::Switch(true) || matches!(key.default, DefaultValue::Is("true"));
    Some(match key.kind {
        Kind::Switch => (!is_on).to_string(),
        Kind::Integer(least, most) => {
            let value = if usual == Value::Integer(least) {
                most
            } else {
                least
            };
            value.to_string()
        }
        Kind::Words(words) => {
            let at = match usual {
                Value::Word(word) => word,
                Value::Switch(on) => usize::from(on),
                _ => words
                    .iter()
                    .position(|word| matches!(key.default, DefaultValue::Is(is) if is == *word))?,
            };
            format!("'{}'", words[(at + 1) % words.len()])
        }
        Kind::Size(least, most) => {
            let value = if usual == Value::Size(least) {
                most
            } else {
                least
            };
            format!("'{} B'", value.get())
        }
        Kind::Time(_, most) => {
            let most = most.as_nanos() / 1_000;
            format!("'{} us'", most.min(1_234_000))
        }
        Kind::Seconds(..) => "'1234 ms'".to_owned(),
        Kind::Rate(..) => "'7 Mbit/s'".to_owned(),
        Kind::Share(..) => "'7 %'".to_owned(),
        Kind::Number(..) => "1.25".to_owned(),
        _ => return None,
    })
}

/// A file in which a key has another value than its default.
fn file(table: &str, key: &Key) -> String {
    special(table, key.name).unwrap_or_else(|| {
        let value = other_value(key)
            .unwrap_or_else(|| panic!("give a value of `{}` of `{table}`", key.name));
        let line = format!("{} = {value}\n", key.name);
        match table {
            "scenario" => format!("{line}{PATH}{FLOW}{SIZE}"),
            "path" => format!("{PATH}{line}{FLOW}{SIZE}"),
            "flow" => format!("{PATH}{FLOW}{SIZE}{line}"),
            "traffic" => format!("{PATH}{FLOW}{SIZE}{TRAFFIC}{line}"),
            _ => panic!("how does a file have `{}` of `{table}`?", key.name),
        }
    })
}

/// The key under which a scenario shows the use of a key: the same, but for two ways to write one
/// thing.
fn shown_as<'a>(table: &'a str, key: &'a str) -> (&'a str, &'a str) {
    match (table, key) {
        ("path", "traffic" | "hosts") => ("scenario", key),
        ("application", "rate") => (table, "every"),
        other => other,
    }
}

/// The tables of which some stack knows only a part, with their keys; a key that belongs to a kind of
/// traffic is supported where its kind is.
fn limited() -> impl Iterator<Item = (&'static str, &'static Key)> {
    let limited = |table: &Table| STACKS.iter().any(|stack| stack.known(table.name).is_some());
    let tables = known_tables()
        .into_iter()
        .filter(move |table| limited(table));
    tables.flat_map(|table| {
        let keys = table.keys.iter().filter(move |key| {
            let owned = |kind: &KnownTraffic| kind.own_keys().any(|own| own == key.name);
            let by_kind = table.name == "traffic" && KnownTraffic::all().iter().any(owned);
            !key.everywhere && !by_kind
        });
        keys.map(move |key| (table.name, key))
    })
}

#[test]
fn no_stack_ignores_a_key() {
    let mut judged = 0;
    for (table, key) in limited() {
        let text = file(table, key);
        let scenario = Scenario::parse(&text, "f.toml", Path::new(""))
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let (table, name) = shown_as(table, key.name);
        let uses = uses(&scenario);
        let Some(used) = uses
            .iter()
            .find(|used| used.table == table && used.key.name == name)
        else {
            panic!("`{name}` of `{table}` is set, and `uses` does not list it:\n{text}");
        };
        for stack in STACKS {
            let refused = refusal(stack, &scenario);
            let word = used.word.as_deref();
            if stack.supports(table, used.key, word) {
                // Another key of the same file may be the reason.
                let named = format!("`{name}` is not supported");
                let names = refused.iter().any(|sentence| sentence.contains(&named));
                assert!(!names, "{}: {refused:?}", stack.name);
            } else {
                let sentence = refused.unwrap_or_else(|| panic!("{}: {name}", stack.name));
                assert!(!sentence.contains('\n') && !sentence.ends_with('.'));
                let alone = uses
                    .iter()
                    .find(|used| !stack.supports(used.table, used.key, used.word.as_deref()));
                let alone = alone.is_some_and(|first| first.key.name == name);
                let names = [format!("{name}`"), format!("{name} ="), format!("{name}]")];
                let names = names.iter().any(|name| sentence.contains(name));
                assert!(names || !alone, "{}: `{name}`: {sentence}", stack.name);
            }
        }
        judged += 1;
    }
    assert!(judged > 45, "{judged}");
}

/// The transport implements the settings of a flow, so that each stack has to declare them.
#[test]
fn settings_of_a_flow_are_declared_by_each_stack() {
    for key in FlowSettings::TABLE.keys {
        assert!(!key.everywhere, "{}", key.name);
    }
}

/// A stack names keys, words and tables that there are.
#[test]
fn stacks_declare_keys_of_the_tables() {
    let tables = known_tables();
    let find = |name: &str| {
        let table = tables.iter().find(|table| table.name == name);
        table.unwrap_or_else(|| panic!("there is no table {name}"))
    };
    for stack in STACKS {
        for (table, known) in stack.tables {
            for held in *known {
                let key = find(table).key(held.key);
                let key = key.unwrap_or_else(|| panic!("{table} has no key {}", held.key));
                assert!(!key.everywhere, "{}: every stack supports it", held.key);
                if let Kind::Words(words) = key.kind {
                    let known = held.words.iter().all(|word| words.contains(word));
                    assert!(known, "{}: {:?}", held.key, held.words);
                } else {
                    assert!(held.words.is_empty(), "{}", held.key);
                }
            }
        }
        for lack in stack.lacks {
            let key = find(lack.table).key(lack.key);
            let key = key.unwrap_or_else(|| panic!("{} has no key {}", lack.table, lack.key));
            let refuses = !stack.supports(lack.table, key, Some(""));
            assert!(refuses, "{}: `{}` is supported", stack.name, lack.key);
        }
    }
    for table in &tables {
        let all = table
            .keys
            .iter()
            .all(|key| supports(&SIMULATED, table, key));
        assert!(all, "{}", table.name);
    }
}

/// A key of a kind of traffic is supported where a kind that has it is.
#[test]
fn keys_of_kinds_follow_their_kinds() {
    let tables = known_tables();
    let traffic = tables.iter().find(|table| table.name == "traffic");
    let traffic = traffic.expect("a table of traffic");
    let on_linux = |key: &str| supports(&LINUX, traffic, traffic.key(key).expect(key));
    for (key, expected) in [
        ("think", true),
        ("file", true),
        ("bitrate", false),
        ("warm_up", true),
    ] {
        assert_eq!(on_linux(key), expected, "{key}");
    }
}
