//! The pages of `docs/reference/algorithms`, generated from the code of each algorithm: its row in
//! the registry, the head of its module, the congestion controls of the kernel that have it, and the
//! conformance vectors named after it. The command of its example runs in
//! `python/tests/test_algorithm_pages.py`, which also draws the figure.
//!
//! `SLOWSTART_SNAPSHOT=write cargo test -p slowstart-conformance --test pages` writes them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use conformance::{files_in, parse};
use congestion::{PARTS, PartInfo, PartKind};
use kernel::offered::{Offered, Values, values, with_part};
use kernel::{BUILT_IN, CONTROLS};

const KINDS: [(PartKind, &str); 4] = [
    (PartKind::Startup, "Start-up"),
    (PartKind::Avoidance, "Avoidance"),
    (PartKind::Recovery, "Recovery"),
    (PartKind::Monolithic, "Monolithic congestion controls"),
];

const NOTE: &str = "<!-- Generated from the code by `SLOWSTART_SNAPSHOT=write cargo test -p \
                    slowstart-conformance --test pages`; edit the code instead. -->\n\n";

/// Examples other than the usual one of the kind: the path, the specification, and the baseline.
const EXAMPLES: [(&str, &str, &str, &str); 7] = [
    (
        "careful-resume",
        "wired",
        "cubic+careful-resume:saved_cwnd=400,saved_rtt=100ms",
        "cubic+standard",
    ),
    (
        "stateful",
        "wired",
        "cubic+stateful:rate=6000000,min_rtt=100ms",
        "cubic+standard",
    ),
    (
        "quick-start",
        "scenarios/quick-start-path.toml",
        "cubic+quick-start",
        "cubic+standard",
    ),
    ("rcp", "scenarios/rcp-path.toml", "rcp", "cubic"),
    ("xcp", "scenarios/xcp-path.toml", "xcp", "cubic"),
    ("standard", "wired", "cubic+standard", "cubic+hystart"),
    ("cubic", "wired", "cubic+standard", "reno+standard"),
];

/// The path of a part's example, the specification that has the part, and what stands beside it.
fn example(part: &PartInfo) -> (&'static str, String, &'static str) {
    let name = part.name;
    if let Some((_, path, tested, beside)) = EXAMPLES.iter().find(|each| each.0 == name) {
        return (path, (*tested).to_owned(), beside);
    }
    match part.kind {
        PartKind::Startup => ("wired", format!("cubic+{name}"), "cubic+standard"),
        // Losses after the overshoot of standard slow start show what these do.
        PartKind::Avoidance => ("wired", format!("{name}+standard"), "cubic+standard"),
        PartKind::Recovery if name == "prr" => (
            "wired",
            "cubic+standard+prr".to_owned(),
            "cubic+standard+newreno",
        ),
        PartKind::Recovery => ("wired", format!("cubic+standard+{name}"), "cubic+standard"),
        PartKind::Monolithic => ("wired", name.to_owned(), "cubic"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The file of a part's module, from the root of the project, and those of its variants.
fn modules(part: &PartInfo) -> Vec<String> {
    let mut words: Vec<&str> = part.settings_type().split("::").collect();
    words.pop();
    if words.last() == Some(&"config") {
        words.pop();
    }
    let base = format!("crates/congestion/src/{}", words[1..].join("/"));
    let file = format!("{base}.rs");
    if root().join(&file).exists() {
        return vec![file];
    }
    let mut files = vec![format!("{base}/mod.rs")];
    let folder = std::fs::read_dir(root().join(&base)).expect("the folder of a module");
    let mut others: Vec<String> = folder
        .filter_map(|entry| Some(format!("{base}/{}", entry.ok()?.file_name().to_str()?)))
        .filter(|file| file != &files[0] && head(file).contains("\n## Deviations"))
        .collect();
    others.sort();
    files.extend(others);
    files
}

/// The head of a module as Markdown: one level of headings, names without links.
fn head(file: &str) -> String {
    let text = std::fs::read_to_string(root().join(file)).expect(file);
    let mut head = String::new();
    for line in text.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with('#') {
            let _ = writeln!(head, "## {}", line.trim_start_matches('#').trim());
        } else {
            let _ = writeln!(head, "{}", without_links(line));
        }
    }
    head
}

/// Removes the links of names that rustdoc links.
fn without_links(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("[`") {
        plain.push_str(before);
        let Some((name, after)) = after.split_once("`]") else {
            plain.push_str("[`");
            rest = after;
            continue;
        };
        let _ = write!(plain, "`{name}`");
        rest = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').map_or("", |(_, after)| after),
            None => after,
        };
    }
    plain + rest
}

/// Vector files and their titles, by the algorithm that their names begin with.
fn vectors() -> BTreeMap<&'static str, Vec<(String, String)>> {
    let mut found = BTreeMap::new();
    for file in files_in(&root().join("conformance")).expect("the folder of vectors") {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name")
            .to_owned();
        let part = PARTS
            .iter()
            .filter(|part| {
                name.strip_prefix(part.name)
                    .is_some_and(|rest| rest.starts_with('-'))
            })
            .max_by_key(|part| part.name.len());
        if let Some(part) = part {
            let text = std::fs::read_to_string(&file).expect("a vector");
            let title = parse(&name, &text).expect("a vector").header.title;
            found
                .entry(part.name)
                .or_insert_with(Vec::new)
                .push((name, title));
        }
    }
    found
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The congestion controls of the kernel that have a part: their names, and what they offer.
fn kernel(part: &PartInfo) -> (Vec<String>, Vec<Offered<'static>>) {
    let own = BUILT_IN
        .iter()
        .map(|(ours, name)| (*name, Offered::plain(ours)));
    let programs = CONTROLS
        .iter()
        .map(|control| (control.name, control.offered()));
    let all: Vec<_> = own.chain(programs).collect();
    let having = all
        .iter()
        .filter(|(_, one)| !with_part(&[*one], part).is_empty());
    having
        .map(|(name, one)| (format!("`{name}`"), *one))
        .unzip()
}

fn page(part: &PartInfo, vectors: &[(String, String)]) -> String {
    let mut page = NOTE.to_owned();
    let files = modules(part);
    let _ = write!(
        page,
        "# {}\n\n{}.\n\n| | |\n| --- | --- |\n| kind | {} |\n| provenance | {} |\n| source | {} |\n",
        part.name,
        sentence(part.summary),
        part.kind.word(),
        cell(part.provenance),
        cell(part.source)
    );
    let links: Vec<String> = files
        .iter()
        .map(|file| format!("[{file}](../../../{file})"))
        .collect();
    let _ = writeln!(page, "| code | {} |", links.join(", "));
    let (names, in_kernel) = kernel(part);
    if !names.is_empty() {
        let guide = "[real kernel](../../guides/real-kernel.md#what-the-kernel-supports)";
        let _ = writeln!(page, "| {guide} | {} |", names.join(", "));
    }
    page.push_str("\n## Options\n\n");
    let (column, rule) = match names.is_empty() {
        true => ("", ""),
        false => (" kernel |", " --- |"),
    };
    if part.options.is_empty() {
        page.push_str("None.\n");
    } else {
        let _ = writeln!(page, "| option | default | description |{column}");
        let _ = writeln!(page, "| --- | --- | --- |{rule}");
        for option in part.options {
            let (name, default, help) = (option.name, option.default, cell(option.help));
            let there = match values(&in_kernel, part, option) {
                _ if names.is_empty() => String::new(),
                Values::All => " yes |".to_owned(),
                Values::Default => " no |".to_owned(),
                Values::Words(words) => format!(" {} |", words.join(", ")),
            };
            let _ = writeln!(page, "| `{name}` | `{default}` | {help} |{there}");
        }
    }
    let (path, tested, beside) = example(part);
    let _ = write!(
        page,
        "\n## Example\n\n```sh\nslowstart compare {path} -a {beside} -a {tested} --size \"10 MB\"\n```\n\n\
         ![The congestion windows of this command's flows over time](figures/{}.svg)\n\n\
         The windows over time: {beside} in grey, {tested} in blue. A dot is the end of slow start.\n",
        part.name
    );
    page.push_str("\n## What it does\n\n");
    for (index, file) in files.iter().enumerate() {
        if index > 0 {
            let _ = write!(
                page,
                "\n## In `{}`\n\n",
                file.rsplit('/').next().unwrap_or(file)
            );
            page.push_str(&head(file).replace("\n## ", "\n### "));
        } else {
            page.push_str(&head(file));
        }
    }
    page.push_str("\n## Conformance vectors\n\n");
    if vectors.is_empty() {
        page.push_str("None; unit tests check its numbers.\n");
    }
    for (file, title) in vectors {
        let _ = writeln!(page, "- [{file}](../../../conformance/{file}): {title}");
    }
    page
}

/// With a capital first letter, unless it begins with a name in the code.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

fn index() -> String {
    let mut index = NOTE.to_owned();
    index.push_str(
        "# Algorithms\n\n\
         An algorithm is written `avoidance+startup[:option=value,...]`, followed by `+` and a recovery\n\
         other than the default `prr`, or it is a monolithic congestion control. `slowstart list\n\
         algorithms` prints the same list. *Provenance* is the origin of the behaviour: a standard,\n\
         published code, a paper, or our reconstruction. The column *kernel* of a table of options has\n\
         the values that `--stack linux` takes; it refuses the others.\n",
    );
    for (kind, title) in KINDS {
        let _ = write!(
            index,
            "\n## {title}\n\n| name | description | provenance | source |\n| --- | --- | --- | --- |\n"
        );
        for part in PARTS.iter().filter(|part| part.kind == kind) {
            let _ = writeln!(
                index,
                "| [{0}]({0}.md) | {1} | {2} | {3} |",
                part.name,
                cell(part.summary),
                cell(part.provenance),
                cell(part.source)
            );
        }
    }
    index
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment decides whether to write the pages"
)]
fn pages_match_the_code() {
    let vectors = vectors();
    let mut pages = BTreeMap::from([("README.md".to_owned(), index())]);
    for part in PARTS {
        let shown = vectors.get(part.name).map_or(&[][..], Vec::as_slice);
        pages.insert(format!("{}.md", part.name), page(part, shown));
    }
    let folder = root().join("docs/reference/algorithms");
    let there = std::fs::read_dir(&folder).map_or(Vec::new(), |files| {
        files
            .filter_map(|file| file.ok()?.file_name().into_string().ok())
            .filter(|file| file != "figures")
            .collect()
    });
    let writes = std::env::var("SLOWSTART_SNAPSHOT").is_ok_and(|word| word == "write");
    if writes {
        std::fs::create_dir_all(&folder).expect("the folder of the pages");
        for file in there.iter().filter(|file| !pages.contains_key(*file)) {
            std::fs::remove_file(folder.join(file)).expect("an old page can go");
        }
        for (file, text) in &pages {
            std::fs::write(folder.join(file), text).expect("a page can be written");
        }
    } else {
        for file in &there {
            assert!(pages.contains_key(file), "{file} belongs to no algorithm");
        }
        for (file, text) in &pages {
            let found = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert_eq!(
                &found, text,
                "{file} is stale: its first line says how to regenerate it"
            );
        }
    }
}

/// Each page states the origin of the behaviour and its deviations.
#[test]
fn every_algorithm_states_its_provenance_and_deviations() {
    let kinds = [
        "from the standard",
        "from published code",
        "from the paper",
        "from the thesis",
        "our reconstruction",
        "our reference",
    ];
    for part in PARTS {
        assert!(
            kinds.iter().any(|kind| part.provenance.starts_with(kind)),
            "{}: unknown provenance `{}`",
            part.name,
            part.provenance
        );
        let says = modules(part)
            .iter()
            .any(|file| head(file).contains("## Deviations"));
        assert!(says, "{} has no section `Deviations`", part.name);
    }
}
