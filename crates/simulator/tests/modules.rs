//! The modules of a crate do not import each other in a cycle, directly or indirectly.
//!
//! A module is a file or a folder of `src`. Imports between the files of a folder do not count. The
//! test reads paths that start with `crate::`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Crates with a cycle, and the modules in it.
const CIRCLES: &[(&str, &[&str])] = &[
    ("kernel", &["libbpf", "loader", "needs", "status"]),
    ("tcp", &["rack", "scoreboard"]),
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_do_not_import_each_other() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = BTreeMap::new();
    for entry in fs::read_dir(crates).expect("the folder of the crates") {
        let folder = entry.expect("an entry").path();
        let name = stem(&folder);
        let arrows = arrows(&folder.join("src"));
        let found: Vec<&str> = arrows
            .keys()
            .filter(|module| reached(&arrows, module).contains(module.as_str()))
            .map(String::as_str)
            .collect();
        if !found.is_empty() {
            circles.insert(
                name,
                found.into_iter().map(str::to_owned).collect::<Vec<_>>(),
            );
        }
    }
    let allowed = CIRCLES.iter().map(|(name, modules)| {
        let modules = modules.iter().map(|module| (*module).to_owned());
        ((*name).to_owned(), modules.collect())
    });
    assert_eq!(circles, allowed.collect(), "modules that import each other");
}

/// The modules that a module imports, directly or indirectly.
fn reached<'a>(arrows: &'a Arrows, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(module) = open.pop() {
        for next in arrows.get(module).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    reached
}

/// The modules that each module's files name.
fn arrows(source: &Path) -> Arrows {
    let mut arrows = Arrows::new();
    for entry in fs::read_dir(source).into_iter().flatten().flatten() {
        let module = stem(&entry.path());
        if !matches!(module.as_str(), "lib" | "main") {
            let mut text = String::new();
            read(&entry.path(), &mut text);
            arrows.entry(module).or_default().extend(named(&text));
        }
    }
    let modules: BTreeSet<String> = arrows.keys().cloned().collect();
    for (module, named) in &mut arrows {
        named.retain(|name| name != module && modules.contains(name));
    }
    arrows
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn read(path: &Path, text: &mut String) {
    if path.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            read(&entry.path(), text);
        }
    } else if path.extension().is_some_and(|end| end == "rs") {
        let file = fs::read_to_string(path).expect("a source file");
        text.push_str(file.split("#[cfg(test)]").next().unwrap_or_default());
    }
}

/// The first words after `crate::`, also those in braces, without comments and tests.
fn named(text: &str) -> BTreeSet<String> {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut names = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let Some(list) = after.strip_prefix('{') else {
            names.insert(word(after));
            continue;
        };
        let mut depth = 0;
        let mut at_start = true;
        for (place, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => at_start = true,
                _ if at_start && !letter.is_whitespace() => {
                    names.insert(word(&list[place..]));
                    at_start = false;
                }
                _ => {}
            }
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect()
}
