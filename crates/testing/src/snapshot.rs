//! Tables of results that change only if a change of results is intended.
//!
//! A table may have thousands of rows, too many to review. The file under version control
//! therefore holds well-known rows, and one line per group of rows with their number and a hash.
//! The whole table is in the build folder, where [`Table::compare`] finds the rows that changed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The heading of the groups.
const GROUPS: &str = "Every row by group: the number of rows and the FNV-1a hash of their lines.";

/// The number of changed rows that a message prints.
const PRINTED: usize = 200;

/// One row of a table.
#[derive(Debug)]
struct Row {
    /// The group whose hash covers the row; none if the row is always shown.
    group: Option<String>,
    shown: bool,
    text: String,
}

/// A table to compare.
#[derive(Debug)]
pub struct Table {
    heading: String,
    rows: Vec<Row>,
}

impl Table {
    /// An empty table under `heading`, which may have several lines.
    pub fn new(heading: &str) -> Self {
        Self {
            heading: heading.trim_end().to_owned(),
            rows: Vec::new(),
        }
    }

    /// Adds a row that belongs to no group and is always shown.
    pub fn push(&mut self, text: &str) {
        self.add(None, true, text);
    }

    /// Adds a row of a group. The file under version control has its text only if it is `shown`.
    pub fn push_grouped(&mut self, group: &str, shown: bool, text: &str) {
        self.add(Some(group.to_owned()), shown, text);
    }

    fn add(&mut self, group: Option<String>, shown: bool, text: &str) {
        let text = text.trim_end_matches('\n').to_owned();
        assert!(!text.contains('\n'), "a row is one line: {text}");
        self.rows.push(Row { group, shown, text });
    }

    /// The heading and every row.
    pub fn whole(&self) -> String {
        let mut text = format!("{}\n", self.heading);
        for row in &self.rows {
            let _ = writeln!(text, "{}", row.text);
        }
        text
    }

    /// The heading, the shown rows, and the groups.
    pub fn condensed(&self) -> String {
        let mut text = format!("{}\n", self.heading);
        for row in self.rows.iter().filter(|row| row.shown) {
            let _ = writeln!(text, "{}", row.text);
        }
        let mut groups: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
        for row in &self.rows {
            if let Some(group) = &row.group {
                let (rows, hash) = groups.entry(group).or_insert((0, FNV_OFFSET));
                *rows += 1;
                *hash = fnv1a(fnv1a(*hash, row.text.as_bytes()), b"\n");
            }
        }
        if !groups.is_empty() {
            let _ = writeln!(text, "\n{GROUPS}");
        }
        for (group, (rows, hash)) in groups {
            let _ = writeln!(text, "{group:<36} {rows:>4} {hash:016x}");
        }
        text
    }

    /// Compares the table with `file`, which is under version control, and panics with every line
    /// that differs. `build` is a folder for whole tables, such as `env!("CARGO_TARGET_TMPDIR")`.
    /// It keeps the table of the last run that passed, and a failure prints the rows that differ
    /// from it.
    ///
    /// With `SLOWSTART_SNAPSHOT=write` in the environment the table is written to `file` instead.
    pub fn compare(&self, file: &Path, build: &Path) {
        let writes = std::env::var_os("SLOWSTART_SNAPSHOT").is_some_and(|word| word == "write");
        self.compare_or_write(file, build, writes);
    }

    fn compare_or_write(&self, file: &Path, build: &Path, writes: bool) {
        let place = Place::of(file, build);
        let (condensed, whole) = (self.condensed(), self.whole());
        let last = std::fs::read_to_string(&place.passed).ok();
        if writes {
            match &last {
                Some(last) => println!("{}: {}", place.name, differences(last, &whole)),
                None => println!("{}: no earlier table to compare with", place.name),
            }
            place.write(file, &condensed);
            place.write(&place.passed, &whole);
            return;
        }
        let expected = std::fs::read_to_string(file).unwrap_or_default();
        if expected == condensed {
            place.write(&place.passed, &whole);
            return;
        }
        place.write(&place.failed, &whole);
        let name = &place.name;
        let mut message = format!("{name} has changed: {}", differences(&expected, &condensed));
        let passed = place.passed.display();
        let failed = place.failed.display();
        let _ = match &last {
            Some(last) => writeln!(
                message,
                "\nAll rows of {name}, compared with {passed}, the last table that passed here: {}",
                differences(last, &whole)
            ),
            None => writeln!(
                message,
                "\nTo see the rows of a group, run this test at the commit to compare with. It \
                 writes the whole table to {passed}. Then run it again here."
            ),
        };
        let _ = writeln!(
            message,
            "\nThe whole table of this run is {failed}. If the change is intended, `make \
             snapshots` writes {name}; CONTRIBUTING.md lists the other steps."
        );
        panic!("{message}");
    }
}

/// The files of one table.
struct Place {
    name: String,
    passed: PathBuf,
    failed: PathBuf,
}

impl Place {
    fn of(file: &Path, build: &Path) -> Self {
        let name = file.file_name().expect("a file has a name");
        let name = name.to_string_lossy().into_owned();
        Self {
            passed: build.join(format!("passed-{name}")),
            failed: build.join(format!("failed-{name}")),
            name,
        }
    }

    fn write(&self, file: &Path, text: &str) {
        std::fs::write(file, text)
            .unwrap_or_else(|error| panic!("{} cannot be written: {error}", file.display()));
    }
}

/// The number of lines that only one of two texts has, and these lines after `-` and `+`.
fn differences(old: &str, new: &str) -> String {
    let mut balance: BTreeMap<&str, i64> = BTreeMap::new();
    for line in old.lines() {
        *balance.entry(line).or_default() += 1;
    }
    for line in new.lines() {
        *balance.entry(line).or_default() -= 1;
    }
    let of = |text: &str, sign: i64| -> Vec<String> {
        let mut left = balance.clone();
        let mut lines = Vec::new();
        for line in text.lines() {
            let more = left.get_mut(line).expect("a counted line");
            if *more * sign > 0 {
                *more -= sign;
                lines.push(line.to_owned());
            }
        }
        lines
    };
    let (removed, added) = (of(old, 1), of(new, -1));
    let mut text = match (removed.len(), added.len()) {
        (0, 0) if old == new => return "no line differs".to_owned(),
        (0, 0) => return "the lines are the same, but in another order".to_owned(),
        (removed, added) => format!("{removed} lines removed, {added} added\n"),
    };
    // The old and the new version of a row print together if rows keep their order.
    let pairs = removed.len().max(added.len());
    for index in 0..pairs.min(PRINTED) {
        if let Some(line) = removed.get(index) {
            let _ = writeln!(text, "- {line}");
        }
        if let Some(line) = added.get(index) {
            let _ = writeln!(text, "+ {line}");
        }
    }
    if pairs > PRINTED {
        let _ = writeln!(text, "... and {} more", pairs - PRINTED);
    }
    text
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// The 64-bit FNV-1a hash, which is short to write in any language.
fn fnv1a(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn table(last: &str) -> Table {
        let mut table = Table::new("heading\n");
        table.push_grouped("a", true, "one 1\n");
        table.push_grouped("a", false, "two 2\n");
        table.push_grouped("b", false, last);
        table
    }

    #[test]
    fn a_group_is_a_number_and_a_hash() {
        // From the reference tables of the hash's authors.
        assert_eq!(fnv1a(FNV_OFFSET, b"a"), 0xaf63_dc4c_8601_ec8c);
        let text = table("three 3").condensed();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..4], ["heading", "one 1", "", GROUPS]);
        let b = format!(
            "{:<36} {:>4} {:016x}",
            "b",
            1,
            fnv1a(FNV_OFFSET, b"three 3\n")
        );
        assert_eq!((lines[5], lines.len()), (b.as_str(), 6));
    }

    #[test]
    fn a_failure_names_the_group_and_the_rows() {
        let folder = std::env::temp_dir().join(format!("slowstart-snap-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("table.txt");
        table("three 3").compare_or_write(&file, &folder, true);
        std::fs::remove_file(folder.join("passed-table.txt")).unwrap();
        let failure = |table: Table| {
            let compared = catch_unwind(|| table.compare_or_write(&file, &folder, false));
            *compared.unwrap_err().downcast::<String>().unwrap()
        };
        let blind = failure(table("three 4"));
        assert!(blind.contains("1 lines removed, 1 added\n- b "), "{blind}");
        assert!(blind.contains("run this test at the commit"), "{blind}");
        table("three 3").compare_or_write(&file, &folder, false);
        let rows = failure(table("three 4"));
        assert!(rows.contains("- three 3\n+ three 4\n"), "{rows}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_line_that_differs_is_listed() {
        let text = differences("a\nb\nc\nc\n", "a\nc\nx\n");
        assert_eq!(text, "2 lines removed, 1 added\n- b\n+ x\n- c\n");
        assert_eq!(
            differences("a\nb\n", "b\na\n"),
            "the lines are the same, but in another order"
        );
        assert_eq!(differences("a\n", "a\n"), "no line differs");
    }
}
