//! The published JSON Schema lists what the parser knows, no more and no less.

use scenario::{PRESETS, known_tables};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../docs/reference/scenario.schema.json");
const REFERENCE: &str = include_str!("../../../docs/reference/scenario.md");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

#[test]
fn the_schema_has_exactly_the_keys_of_the_parser() {
    let schema = schema();
    let tables: Vec<&String> = schema["$defs"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, def)| def["type"] == "object")
        .map(|(name, _)| name)
        .collect();
    let mut known: Vec<&str> = known_tables().iter().map(|table| table.name).collect();
    known.sort_unstable();
    assert_eq!(tables, known);
    for table in known_tables() {
        let def = &schema["$defs"][table.name];
        assert_eq!(def["additionalProperties"], false, "{}", table.name);
        let mut keys = table.keys.to_vec();
        keys.sort_unstable();
        assert_eq!(
            def["properties"]
                .as_object()
                .unwrap()
                .keys()
                .collect::<Vec<_>>(),
            keys,
            "{}",
            table.name
        );
        for required in def["required"].as_array().unwrap_or(&Vec::new()) {
            assert!(
                table.keys.contains(&required.as_str().unwrap()),
                "{required}"
            );
        }
    }
}

#[test]
fn the_schema_refers_to_what_it_defines() {
    fn visit(value: &Value, schema: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(target)) = map.get("$ref") {
                    assert!(
                        schema.pointer(target.trim_start_matches('#')).is_some(),
                        "{target}"
                    );
                }
                map.values().for_each(|value| visit(value, schema));
            }
            Value::Array(list) => list.iter().for_each(|value| visit(value, schema)),
            _ => {}
        }
    }
    let schema = schema();
    visit(&schema, &schema);
}

#[test]
fn schema_and_reference_name_every_preset_and_key() {
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(
        schema()["$defs"]["path"]["properties"]["preset"]["enum"],
        serde_json::json!(presets)
    );
    let keys = known_tables()
        .iter()
        .flat_map(|table| table.keys.iter().copied());
    for word in presets.into_iter().chain(keys) {
        assert!(
            REFERENCE.contains(&format!("`{word}")) || REFERENCE.contains(&format!("{word} =")),
            "{word} is not described"
        );
    }
}

/// Each preset's page is there, and so is each that the list of all networks links.
#[test]
fn every_network_has_its_page() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/networks/"
    );
    let there = |page: &str| std::path::Path::new(folder).join(page).exists();
    for preset in PRESETS {
        assert!(there(preset.page()), "{}: {}", preset.name, preset.page());
    }
    let index = std::fs::read_to_string(format!("{folder}README.md")).unwrap();
    for link in index.split("](").skip(1) {
        let page = link.split([')', '#']).next().unwrap_or_default();
        assert!(there(page), "README.md links {page}");
    }
}
