//! The requirements of standards, where the code meets them, and the tests that show it.
//!
//! An id in a comment (`// RFC5681-3.1e`) marks the code; `// Tests RFC5681-3.1e` above `#[test]`
//! marks the test. The list has each requirement in our words, with the reason where this TCP
//! differs. `SLOWSTART_SNAPSHOT=write cargo test -p slowstart-conformance --test requirements`
//! writes the page `docs/reference/requirements.md`.

mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use list::{DOCUMENTS, REQUIREMENTS};

/// The document's word.
#[derive(Clone, Copy)]
enum Level {
    Must,
    Should,
    /// A step of an algorithm, without such a word.
    Step,
}

struct Requirement {
    id: &'static str,
    level: Level,
    text: &'static str,
    /// Where and why this TCP differs.
    exception: Option<&'static str>,
}

/// What the sources say of one id: `file`, `symbol`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    code: BTreeSet<(String, String)>,
    tests: BTreeSet<(String, String)>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// The ids of a comment that consists of them alone.
fn ids(words: &str) -> Option<Vec<&str>> {
    let is_id = |word: &str| {
        word.strip_prefix("RFC").is_some_and(|rest| {
            let (number, place) = rest.split_once('-').unwrap_or_default();
            number.len() == 4
                && number.bytes().all(|byte| byte.is_ascii_digit())
                && place.starts_with(|letter: char| letter.is_ascii_digit())
                && place.ends_with(|letter: char| letter.is_ascii_lowercase())
        })
    };
    let found: Vec<&str> = words.split(", ").collect();
    found.iter().all(|word| is_id(word)).then_some(found)
}

/// The item that a line defines.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    words.find(|word| matches!(*word, "fn" | "static" | "struct"))?;
    words.find(|word| !word.is_empty())
}

/// The constant that a line defines.
fn constant(line: &str) -> Option<&str> {
    let rest = line.trim_start().trim_start_matches("pub ");
    let name = rest.strip_prefix("const ")?.split(':').next()?;
    (!name.contains(' ')).then_some(name)
}

/// Adds what a file says to `all`. Returns comments that no item or test follows.
fn read(file: &str, text: &str, all: &mut BTreeMap<String, Found>) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut wrong = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("// ") else {
            continue;
        };
        let tested = comment.strip_prefix("Tests ").and_then(ids);
        let is_test = tested.is_some();
        let Some(ids) = tested.or_else(|| ids(comment)) else {
            continue;
        };
        let is_head =
            |line: &str| line.trim_start().starts_with("//") || line.trim_start().starts_with('#');
        let head = lines[at..].iter().take_while(|line| is_head(line));
        let length = head.clone().count();
        let next = lines.get(at + length).copied().unwrap_or_default();
        let symbol = if is_test {
            let runs = head.clone().any(|line| line.trim_start() == "#[test]");
            defined(next).filter(|_| runs)
        } else {
            let around = || lines[..at].iter().rev().find_map(|line| defined(line));
            defined(next).or_else(|| constant(next)).or_else(around)
        };
        let Some(symbol) = symbol else {
            wrong.push(format!("{file}:{}: nothing follows {comment}", at + 1));
            continue;
        };
        for id in ids {
            let found = all.entry(id.to_owned()).or_default();
            let places = if is_test {
                &mut found.tests
            } else {
                &mut found.code
            };
            places.insert((file.to_owned(), symbol.to_owned()));
        }
    }
    wrong
}

/// What is missing in `all` for `requirements`, and what they lack.
fn missing(requirements: &[Requirement], all: &BTreeMap<String, Found>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for requirement in requirements {
        let id = requirement.id;
        if !known.insert(id) {
            wrong.push(format!("{id} stands twice in the list"));
        }
        let found = all.get(id);
        if found.is_none_or(|found| found.code.is_empty()) {
            wrong.push(format!("{id} stands at no code"));
        }
        if found.is_none_or(|found| found.tests.is_empty()) && requirement.exception.is_none() {
            wrong.push(format!("{id} has neither a test nor an exception"));
        }
    }
    for id in all.keys().filter(|id| !known.contains(id.as_str())) {
        wrong.push(format!("{id} is not in the list"));
    }
    wrong
}

fn page(all: &BTreeMap<String, Found>) -> String {
    let mut page = String::from(
        "<!-- Generated by `SLOWSTART_SNAPSHOT=write cargo test -p slowstart-conformance --test \
         requirements`; edit the list and the comments in the code instead. -->\n\n\
         # Requirements of the standards\n\n\
         What each document requires of a sender or a receiver, in our words; where the code meets \
         it; and\nthe tests that show it. \"Differs\" gives the reason where this TCP does what \
         Linux does instead; a\ntest named there shows what it does. A step is part of an \
         algorithm that the document describes\nwithout MUST or SHOULD.\n\n\
         The sentences were written from memory of the documents: the documents decide, and the \
         list may lack\nsome of their requirements. \
         It has none of RFC 6675 yet: by default RACK detects losses.\n",
    );
    let root = "../../";
    let show = |places: &BTreeSet<(String, String)>| {
        let places: Vec<String> = places
            .iter()
            .map(|(file, symbol)| format!("[`{symbol}`]({root}{file})"))
            .collect();
        places.join(", ")
    };
    for (document, title) in DOCUMENTS {
        let number = &document[3..];
        let _ = writeln!(page, "\n## RFC {number}\n\n{title}.\n");
        page += "| id | level | requirement | code | test | differs |\n";
        page += "| --- | --- | --- | --- | --- | --- |\n";
        for requirement in REQUIREMENTS {
            if !requirement.id.starts_with(document) {
                continue;
            }
            let level = match requirement.level {
                Level::Must => "MUST",
                Level::Should => "SHOULD",
                Level::Step => "step",
            };
            let found = &all[requirement.id];
            let _ = writeln!(
                page,
                "| {} | {level} | {} | {} | {} | {} |",
                requirement.id,
                requirement.text,
                show(&found.code),
                show(&found.tests),
                requirement.exception.unwrap_or_default(),
            );
        }
    }
    page
}

#[test]
fn each_requirement_has_its_code_and_its_test_or_a_reason() {
    let root = root().canonicalize().expect("the project");
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let mut all = BTreeMap::new();
    let mut wrong = Vec::new();
    for path in files {
        let file = path.strip_prefix(&root).expect("a file of the project");
        let file = file.to_string_lossy().replace('\\', "/");
        if !file.starts_with("crates/conformance/tests/requirements/") {
            let text = fs::read_to_string(&path).expect("a source file");
            wrong.extend(read(&file, &text, &mut all));
        }
    }
    wrong.extend(missing(REQUIREMENTS, &all));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let (text, path) = (page(&all), root.join("docs/reference/requirements.md"));
    if std::env::var_os("SLOWSTART_SNAPSHOT").is_some_and(|word| word == "write") {
        fs::write(path, text).expect("the page is written");
    } else {
        let written = fs::read_to_string(path).expect("the page");
        assert_eq!(
            written.replace("\r\n", "\n"),
            text,
            "SLOWSTART_SNAPSHOT=write writes the page"
        );
    }
}

#[test]
fn a_missing_id_code_test_or_item_is_found() {
    let required = |id, exception| Requirement {
        id,
        level: Level::Must,
        text: "",
        exception,
    };
    let text = "fn shrink() {\n    // RFC0001-1a, RFC0001-1b\n    less();\n}\n\n\
                // Tests RFC0001-1a\n#[test]\nfn shrinks() {}\n\n// RFC0001-9z\n\
                const MOST: u32 = 1;\n";
    let mut all = BTreeMap::new();
    assert!(read("a.rs", text, &mut all).is_empty());
    assert_eq!(
        all["RFC0001-1a"].code.first(),
        Some(&("a.rs".into(), "shrink".into()))
    );
    assert_eq!(
        all["RFC0001-1a"].tests.first(),
        Some(&("a.rs".into(), "shrinks".into()))
    );
    assert_eq!(
        all["RFC0001-9z"].code.first(),
        Some(&("a.rs".into(), "MOST".into()))
    );
    let found = missing(
        &[
            required("RFC0001-1a", None),
            required("RFC0001-1b", None),
            required("RFC0001-1c", Some("no")),
        ],
        &all,
    );
    assert_eq!(
        found,
        [
            "RFC0001-1b has neither a test nor an exception",
            "RFC0001-1c stands at no code",
            "RFC0001-9z is not in the list",
        ]
    );
    let text = "// Tests RFC0001-1a\nfn is_no_test() {}\n";
    assert_eq!(read("b.rs", text, &mut all).len(), 1);
}
