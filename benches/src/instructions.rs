//! Instructions per data packet by component, counted by valgrind's callgrind.
//!
//! Seconds depend on the machine and its load; instruction counts repeat exactly. A component is a
//! part of the source tree. Inlined code counts for the component of its source file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Source paths and their components. The first match counts.
const COMPONENTS: [(&str, &str); 10] = [
    ("crates/engine/", "engine (calendar)"),
    ("crates/simulator/", "simulator (event loop)"),
    ("crates/network/", "network (links)"),
    ("crates/tcp/src/receiver", "tcp receiver"),
    ("crates/tcp/", "tcp sender"),
    ("crates/congestion/", "congestion control"),
    ("crates/measure/", "measurement"),
    ("crates/units/", "units"),
    ("crates/scenario/", "scenario"),
    ("benches/", "benchmark"),
];

/// Functions outside the project, such as `memcpy` and the allocator.
const LIBRARIES: &str = "libraries";

/// Runs `bench --one NAME` under callgrind. Returns packets, and instructions by component.
pub fn count(name: &str) -> Result<(u64, BTreeMap<&'static str, u64>), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let file = std::env::temp_dir().join(format!("callgrind.{}.{name}", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-line=yes"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&program)
        .args(["--one", name])
        .stderr(Stdio::null())
        .output()
        .map_err(|_| "valgrind is not installed: apt install valgrind".to_owned())?;
    let counted = read(&file);
    // The file is a by-product: a failure to remove it does no harm.
    std::fs::remove_file(&file).ok();
    if !output.status.success() {
        return Err(format!("valgrind failed on {name}"));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let packets = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    Ok((packets.ok_or("no packets were counted")?, counted?))
}

fn read(file: &Path) -> Result<BTreeMap<&'static str, u64>, String> {
    std::fs::read_to_string(file)
        .map(|text| by_component(&text))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// Sums the self cost of each line of a callgrind profile by the source file of the line. `fl`,
/// `fi` and `fe` name that file, in full the first time and by a number afterwards: `fl` at the
/// head of a function, the others at a line inlined from another file. A line inlined from a
/// library counts for the component that calls it. The line after `calls=` is the cost of the
/// called function, which counts where that function is defined.
fn by_component(profile: &str) -> BTreeMap<&'static str, u64> {
    let mut names: BTreeMap<&str, &'static str> = BTreeMap::new();
    let mut sums = BTreeMap::new();
    let mut component = LIBRARIES;
    let mut is_call = false;
    for line in profile.lines() {
        let file = ["fl=", "fi=", "fe="]
            .iter()
            .find_map(|prefix| line.strip_prefix(prefix));
        if let Some(file) = file {
            let (number, name) = file.split_once(' ').unwrap_or((file, ""));
            if !name.is_empty() {
                names.insert(number, component_of(name));
            }
            let found = names.get(number).copied().unwrap_or(LIBRARIES);
            if found != LIBRARIES || line.starts_with("fl=") {
                component = found;
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split_whitespace().nth(1);
            let cost = cost.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            if !is_call {
                *sums.entry(component).or_insert(0) += cost;
            }
            is_call = false;
        }
    }
    sums
}

fn component_of(file: &str) -> &'static str {
    COMPONENTS
        .iter()
        .find(|(part, _)| file.contains(part))
        .map_or(LIBRARIES, |&(_, component)| component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inlined_lines_count_for_their_file_and_calls_do_not() {
        let profile = "events: Ir\n\
            fl=(1) /x/crates/tcp/src/sender.rs\nfn=(1) send\n10 5\n+2 7\n\
            fi=(2) /x/crates/units/src/lib.rs\n3 2\n\
            fe=(1)\n* 1\n\
            calls=1 20\n12 100\n14 4\n\
            fi=(4) /rustc/library/core/option.rs\n8 6\n\
            fl=(3) /rustc/library/alloc/vec.rs\n1 9\n";
        let sums = by_component(profile);
        let expected = [("libraries", 9), ("tcp sender", 23), ("units", 2)];
        assert_eq!(sums, BTreeMap::from(expected));
    }
}
