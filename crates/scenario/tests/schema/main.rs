//! `docs/reference/scenario.schema.json` and the tables of `docs/reference/scenario.md` are made from
//! the descriptions of the tables, and the defaults that these state are those of the readers.
//!
//! `SLOWSTART_SNAPSHOT=write cargo test -p slowstart-scenario --test schema` writes them.

mod defaults;
mod json;
mod words;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use scenario::stacks::STACKS;
use scenario::{KnownTraffic, PRESETS, PathModel, known_tables, models, supports};
use tables::{DefaultValue, Key, Kind, Table, Variant};
use testing::page::settle;

use json::{Json, List, Object, Raw, defined, number, text, words};
use words::{default, line, range};

/// A kind without its key.
fn kind(kind: &Kind) -> Vec<(&'static str, Json)> {
    let of = match kind {
        Kind::Rate(..) => defined("rate"),
        Kind::Time(..) | Kind::Seconds(..) => defined("time"),
        Kind::Size(..) => defined("size"),
        Kind::Buffer => defined("buffer"),
        Kind::Share(..) => defined("share"),
        Kind::Decibel(..) => defined("decibel"),
        Kind::Level(..) => defined("level"),
        Kind::Hertz(..) => defined("hertz"),
        Kind::Length(..) => defined("length"),
        Kind::Speed(..) => defined("speed"),
        Kind::Power(..) => defined("power"),
        Kind::Energy(..) => defined("energy"),
        Kind::Angle(..) => defined("angle"),
        Kind::Frequency(..) => defined("frequency"),
        Kind::Packets => defined("packets"),
        Kind::Model => defined("model"),
        Kind::Table(table) => defined(table.name),
        Kind::Integer(least, most) => Object(vec![
            ("type", text("integer")),
            ("minimum", number(least)),
            ("maximum", number(most)),
        ]),
        Kind::Number(least, most) => Object(vec![
            ("type", text("number")),
            ("minimum", number(least)),
            ("maximum", number(most)),
        ]),
        Kind::Switch => Object(vec![("type", text("boolean"))]),
        Kind::Words(list) => words(list),
        Kind::Text(u32::MAX) => Object(vec![("type", text("string"))]),
        Kind::Text(most) => Object(vec![("type", text("string")), ("maxLength", number(most))]),
        Kind::Tables(table, most) => Object(vec![
            ("type", text("array")),
            ("maxItems", number(most)),
            ("items", defined(table.name)),
        ]),
        Kind::List(of, least, most) => Object(vec![
            ("type", text("array")),
            ("minItems", number(least)),
            ("maxItems", number(most)),
            ("items", Object(self::kind(of))),
        ]),
        Kind::Choice(kinds) => {
            let all: Vec<&str> = kinds.iter().map(|kind| kind.word).collect();
            let is_plain = |kind: &&Variant| kind.table.keys.is_empty();
            let plain = kinds.iter().filter(is_plain).map(|kind| kind.word);
            let plain: Vec<&str> = plain.collect();
            let mut of = vec![words(&all)];
            if !plain.is_empty() {
                of.push(Object(vec![
                    ("type", text("object")),
                    ("additionalProperties", Raw("false".to_owned())),
                    ("properties", Object(vec![("kind", words(&plain))])),
                    ("required", List(vec![text("kind")])),
                ]));
            }
            let rest = kinds.iter().filter(|kind| !is_plain(kind));
            of.extend(rest.map(|kind| defined(kind.table.name)));
            Object(vec![("anyOf", List(of))])
        }
        Kind::Any(kinds) => {
            let kinds = kinds.iter().map(|of| Object(self::kind(of)));
            Object(vec![("anyOf", List(kinds.collect()))])
        }
    };
    match of {
        Object(entries) => entries,
        _ => Vec::new(),
    }
}

/// The stacks that support a key; `None` if all do.
fn stacks(table: &Table, key: &Key) -> Option<Vec<&'static str>> {
    let supporting = STACKS.iter().filter(|stack| supports(stack, table, key));
    let names: Vec<&str> = supporting.map(|stack| stack.name).collect();
    (names.len() < STACKS.len()).then_some(names)
}

fn property(table: &Table, key: &Key) -> Json {
    let mut entries = kind(&key.kind);
    let mut doc = line(key.doc);
    let range = match key.kind {
        Kind::Integer(..) | Kind::Number(..) => String::new(),
        ref kind => range(kind),
    };
    if !range.is_empty() {
        let _ = write!(doc, " Range: {range}.");
    }
    match (default(key), key.default) {
        (Some((value, true)), _) => entries.push(("default", text(&value))),
        (Some((value, false)), _) => entries.push(("default", Raw(value))),
        (None, DefaultValue::Words(words) | DefaultValue::Sometimes(_, words))
            if !words.is_empty() =>
        {
            let _ = write!(doc, " Default: {words}.");
        }
        _ => {}
    }
    if let Some(stacks) = stacks(table, key) {
        let _ = write!(doc, " Stacks: {}.", stacks.join(", "));
    }
    entries.insert(0, ("description", text(&doc)));
    Object(entries)
}

/// The object of a table; `selector` is the key whose value, the table's name, selects it.
fn object(table: &Table, selector: Option<&'static str>) -> Json {
    let needed = table
        .given()
        .filter(|key| matches!(key.default, DefaultValue::Needed(_)));
    let mut required: Vec<Json> = needed.map(|key| text(key.name)).collect();
    let mut properties: Vec<(&'static str, Json)> = Vec::new();
    if let Some(selector) = selector {
        required.insert(0, text(selector));
        properties.push((selector, Object(vec![("const", text(table.name))])));
    }
    for key in table.given() {
        let mut property = property(table, key);
        if let ("preset", Object(entries)) = (key.name, &mut property) {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            entries.truncate(1);
            entries.push(("enum", List(names.into_iter().map(text).collect())));
        }
        properties.push((key.name, property));
    }
    let mut entries = vec![
        ("type", text("object")),
        ("description", text(&line(table.summary))),
        ("additionalProperties", Raw("false".to_owned())),
        ("properties", Object(properties)),
    ];
    if !required.is_empty() {
        entries.push(("required", List(required)));
    }
    Object(entries)
}

/// A quantity: its name, pattern, description, and examples.
const QUANTITIES: [(&str, &str, &str, &[&str]); 15] = [
    (
        "rate",
        "([kMGT]?bit/s|[kMG]?bps|[kMG]?b/s|[kMG]?B/s)",
        "A rate, at most 1 Tbit/s. b and bit are bits, B bytes; prefixes are decimal.",
        &["50 Mbit/s", "6.25 MB/s"],
    ),
    (
        "time",
        "(ns|us|\u{b5}s|\u{3bc}s|ms|s|min|h)",
        "A span of time.",
        &["100 ms", "1.5 s"],
    ),
    (
        "size",
        "(B|bytes?|[kMGT]B|[KMG]iB)",
        "A number of bytes. kB is 1000 bytes, KiB 1024.",
        &["20 MB", "64 KiB"],
    ),
    ("share", "%", "A fraction in percent.", &["0.1 %"]),
    ("decibel", "dB", "A ratio in dB.", &["12 dB"]),
    ("level", "dBm", "A level in dBm.", &["-53 dBm"]),
    ("hertz", "Hz", "A frequency.", &["3 Hz"]),
    ("length", "[kc]?m", "A length.", &["500 m", "1.5 km"]),
    ("speed", "k?m/s", "A speed.", &["10 m/s"]),
    ("power", "[mu]?W", "A power.", &["0.66 W", "52.2 mW"]),
    ("energy", "[km]?J", "An energy.", &["1000 J"]),
    (
        "angle",
        "(deg|\u{b0})",
        "An angle in degrees.",
        &["37.9 deg"],
    ),
    (
        "frequency",
        "/(s|min|h)",
        "How often something happens.",
        &["31.25 /s"],
    ),
    (
        "packets",
        "(packets?|pkts?)",
        "A number of packets.",
        &["15 packets"],
    ),
    (
        "buffer",
        "(packets?|pkts?|bdp|BDP|B|bytes?|[kMGT]B|[KMG]iB)",
        "The size of a buffer: in packets, in bytes with overhead, in multiples of the \
         bandwidth-delay product (rounded to whole packets), or unlimited.",
        &["413 packets", "36 MB", "1.5 bdp", "unlimited"],
    ),
];

fn schema() -> String {
    let models = models();
    let is_model = |table: &Table| models.iter().any(|model| model.name == table.name);
    let mut tables = known_tables();
    tables.push(network::access::StationTraffic::TABLE);
    tables.push(network::access::AcmConfig::TABLE);
    tables.push(network::access::RainConfig::TABLE);
    let mut defs: Vec<(&'static str, Json)> = Vec::new();
    for table in &tables {
        let is_kind = || scenario::kinds().any(|kind| kind.table.name == table.name);
        let selector = match is_model(table) {
            true => Some("model"),
            false => is_kind().then_some("kind"),
        };
        defs.push((table.name, object(table, selector)));
    }
    let refs = models.iter().map(|model| defined(model.name)).collect();
    defs.push((
        "model",
        Object(vec![
            ("description", text("A model of an access network.")),
            ("oneOf", List(refs)),
        ]),
    ));
    for (name, units, doc, examples) in QUANTITIES {
        let unlimited = if name == "buffer" { "unlimited|" } else { "" };
        let sign = if matches!(name, "decibel" | "level" | "angle") {
            "[-\u{2212}]?"
        } else {
            ""
        };
        let pattern = format!(r"^\s*({unlimited}{sign}[0-9]+(\.[0-9]+)?\s*{units})\s*$");
        let examples = examples.iter().map(|example| text(example)).collect();
        defs.push((
            name,
            Object(vec![
                ("type", text("string")),
                ("pattern", text(&pattern)),
                ("description", text(doc)),
                ("examples", List(examples)),
            ]),
        ));
    }
    let about = "The TOML file that `slowstart run` and `slowstart compare` read. Made from the \
                 descriptions in the code by the test `schema` of slowstart-scenario.";
    let root = Object(vec![
        (
            "$schema",
            text("https://json-schema.org/draft/2020-12/schema"),
        ),
        ("title", text("slowstart scenario")),
        ("description", text(about)),
        ("$ref", text("#/$defs/scenario")),
        ("$defs", Object(defs)),
    ]);
    let mut out = String::new();
    root.write(0, &mut out);
    out.push('\n');
    out
}

/// The rows of a table in the reference.
fn rows(table: &Table) -> String {
    let is_limited = table.given().any(|key| stacks(table, key).is_some());
    let mut out = String::from(if is_limited {
        "| key | meaning | default | stacks |\n| --- | --- | --- | --- |\n"
    } else {
        "| key | meaning | default |\n| --- | --- | --- |\n"
    });
    for key in table.given() {
        let stacks = match stacks(table, key) {
            _ if !is_limited => String::new(),
            None => " all |".to_owned(),
            Some(names) => format!(" {} |", names.join(", ")),
        };
        let usual = match (default(key), key.default) {
            (Some((value, true)), _) => format!("`\"{value}\"`"),
            (Some((value, false)), _) => format!("`{value}`"),
            (None, DefaultValue::Needed(_)) => "needed".to_owned(),
            (None, DefaultValue::Words(words) | DefaultValue::Sometimes(_, words)) => {
                words.to_owned()
            }
            (None, _) => String::new(),
        };
        let range = match range(&key.kind) {
            range if range.is_empty() => range,
            range => format!(" Range: {range}."),
        };
        let values = match key.kind {
            Kind::Words(list) => {
                let quoted: Vec<String> = list.iter().map(|word| format!("`\"{word}\"`")).collect();
                format!(" One of {}.", quoted.join(", "))
            }
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "| `{}` | {}{values}{range} | {usual} |{stacks}",
            key.name,
            line(key.doc)
        );
    }
    out
}

/// The kinds of traffic, each with the keys of its own.
fn kinds_of_traffic() -> String {
    let mut out = String::from("| kind | what it sends | its keys |\n| --- | --- | --- |\n");
    for kind in KnownTraffic::all() {
        let keys: Vec<String> = kind.own_keys().map(|key| format!("`{key}`")).collect();
        let (name, summary) = (kind.name, kind.summary);
        let _ = writeln!(out, "| `{name}` | {summary} | {} |", keys.join(", "));
    }
    out
}

/// How a stack implements the keys that it declares, and why it lacks others.
fn support(name: &str) -> String {
    let stack = STACKS.iter().find(|stack| stack.name == name);
    let stack = stack.unwrap_or_else(|| panic!("there is no stack {name}"));
    let tables = known_tables();
    let title = |name: &'static str| {
        let table = tables.iter().find(|table| table.name == name);
        table.map_or(name, |table| table.title)
    };
    let mut out = String::from("| table | key | how |\n| --- | --- | --- |\n");
    for (table, known) in stack.tables {
        for held in *known {
            let words: Vec<String> = held.words.iter().map(|word| format!("`{word}`")).collect();
            let words = match words.is_empty() {
                true => String::new(),
                false => format!("; only {}", words.join(", ")),
            };
            let shared = if held.is_shared {
                "; one value for all flows"
            } else {
                ""
            };
            let (table, key, how) = (title(table), held.key, held.how);
            let _ = writeln!(out, "| {table} | `{key}` | {how}{words}{shared} |");
        }
    }
    out.push_str("\n| table | refused | reason |\n| --- | --- | --- |\n");
    for lack in stack.lacks {
        let table = title(lack.table);
        let _ = writeln!(out, "| {table} | `{}` | {} |", lack.key, lack.reason);
    }
    out
}

/// `text` with new text between `<!-- keys: NAME -->` and `<!-- end -->`.
fn with_tables(text: &str) -> String {
    let mut tables = known_tables();
    tables.push(network::access::StationTraffic::TABLE);
    tables.push(network::access::AcmConfig::TABLE);
    tables.push(network::access::RainConfig::TABLE);
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!-- keys: ") {
        let (name, after) = after.split_once(" -->").expect("the end of a marker");
        let (_, after) = after
            .split_once("<!-- end -->")
            .expect("the end of a table");
        let table = tables.iter().find(|table| table.name == name);
        let rows = match (table, name) {
            (Some(table), _) => rows(table),
            (None, "kinds of traffic") => kinds_of_traffic(),
            (None, name) if name.starts_with("stack ") => support(&name["stack ".len()..]),
            (None, _) => panic!("there is no table {name}"),
        };
        let _ = write!(out, "{before}<!-- keys: {name} -->\n\n{rows}\n<!-- end -->");
        rest = after;
    }
    out + rest
}

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

#[test]
fn the_schema_is_made_from_the_code() {
    let made = schema();
    let parsed: serde_json::Value = serde_json::from_str(&made).expect("the schema is JSON");
    for (place, _) in made.match_indices("\"#/$defs/") {
        let name = made[place + 9..].split('"').next().unwrap_or_default();
        assert!(!parsed["$defs"][name].is_null(), "{name} is not defined");
    }
    settle(&reference().join("scenario.schema.json"), &made);
}

#[test]
fn the_reference_has_the_tables_of_the_code() {
    let networks = std::fs::read_dir(reference().join("networks")).expect("a folder");
    let pages = networks.map(|entry| entry.expect("an entry").path());
    let mut whole = String::new();
    let others = [
        "scenario.md",
        "../guides/real-kernel.md",
        "../guides/quic-stacks.md",
    ];
    let others = others.map(|page| reference().join(page));
    for page in pages.chain(others) {
        let text = std::fs::read_to_string(&page).expect("a page");
        settle(&page, &with_tables(&text));
        whole.push_str(&text);
    }
    for table in known_tables() {
        assert!(
            whole.contains(&format!("<!-- keys: {} -->", table.name)),
            "no page has the keys of {}",
            table.name
        );
    }
    for preset in PRESETS {
        assert!(
            whole.contains(&format!("`{}`", preset.name)),
            "{}",
            preset.name
        );
    }
}

/// Each key that a kind of traffic names is one of the table, and each example is complete.
#[test]
fn the_kinds_of_traffic_have_keys() {
    let tables = known_tables();
    let table = tables.iter().find(|table| table.name == "traffic");
    let table = table.expect("a table of traffic");
    for kind in KnownTraffic::all() {
        for key in kind.own_keys() {
            assert!(table.key(key).is_some(), "{}: {key}", kind.name);
        }
        let text = format!(
            "path = {{ rate = '50 Mbit/s', rtt = '100 ms' }}\n[[traffic]]\nkind = '{}'\n{}\n",
            kind.name, kind.example
        );
        let read = PathModel::parse(&text, "f.toml", Path::new(""));
        match kind.name {
            "tmix" => {
                let error = read.expect_err("there is no such file").to_string();
                assert!(error.contains("the file does not exist"), "{error}");
            }
            name => assert_eq!(read.expect(name).traffic[0].kind.name(), name),
        }
    }
}

/// Each preset has its page, and so does each network that the list links.
#[test]
fn every_network_has_its_page() {
    let folder = reference().join("networks");
    let there = |page: &str| folder.join(page).exists();
    for preset in PRESETS {
        assert!(there(preset.page()), "{}: {}", preset.name, preset.page());
    }
    let index = std::fs::read_to_string(folder.join("README.md")).expect("a page");
    for link in index.split("](").skip(1) {
        let page = link.split([')', '#']).next().unwrap_or_default();
        assert!(there(page), "README.md links {page}");
    }
}
