//! The dependencies between crates that the design allows, checked with `cargo metadata`.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// Crate -> the crates of this workspace that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("tables", &["units"]),
    ("prefetch", &[]),
    ("engine", &["units", "prefetch"]),
    ("congestion", &["units"]),
    ("tcp", &["units", "tables", "congestion", "prefetch"]),
    ("network", &["units", "tables"]),
    ("wireless", &["units", "tables", "network"]),
    // What applications send is independent of the network and of the scenario file.
    ("workload", &["units", "tables"]),
    (
        "scenario",
        &[
            "units",
            "tables",
            "congestion",
            "tcp",
            "network",
            "wireless",
            "workload",
        ],
    ),
    ("measure", &["units"]),
    ("capture", &["units", "measure"]),
    // What captures and logs show of a connection; a replay of QUIC is notified as in a stack.
    (
        "analysis",
        &["units", "measure", "congestion", "capture", "quic"],
    ),
    (
        "emulator",
        &["units", "network", "scenario", "measure", "capture"],
    ),
    (
        "kernel-stack",
        // `kernel` needs libbpf only with a feature; without it, it only reports what is missing.
        &[
            "units",
            "congestion",
            "network",
            "workload",
            "scenario",
            "measure",
            "emulator",
            "kernel",
            "packetdrill",
        ],
    ),
    (
        "vm",
        &[
            "scenario",
            "measure",
            "emulator",
            "kernel-stack",
            "features",
        ],
    ),
    ("features", &[]),
    // The language of scripts, and the trait of what they test.
    ("packetdrill", &["units"]),
    // The simulated TCP is a subject of scripts.
    (
        "conformance",
        &["units", "congestion", "tcp", "packetdrill"],
    ),
    // Only `congestion` parses the names of algorithms.
    ("kernel", &["units", "tables", "congestion"]),
    (
        "simulator",
        &[
            "units",
            "congestion",
            "tcp",
            "network",
            "wireless",
            "workload",
            "engine",
            "prefetch",
            "scenario",
            "measure",
        ],
    ),
    (
        "python",
        &[
            "units",
            "congestion",
            "scenario",
            "simulator",
            "measure",
            "emulator",
            "kernel-stack",
            "vm",
            "conformance",
            "packetdrill",
            "kernel",
            "capture",
            "analysis",
            "quic-stacks",
            "quic-real",
            "stack-host",
        ],
    ),
    // The simulator in a browser.
    ("explorable", &["scenario", "simulator", "measure"]),
    // The same as `quic` for transports in C.
    ("capi", &["units", "quic"]),
    // The public interface of a stack of others, and the process that has its shared object.
    ("stack", &["units"]),
    ("stack-host", &["units", "stack"]),
    // What a QUIC stack's congestion controller is made of, for any stack and for one stack each.
    ("quic", &["units", "congestion"]),
    ("quinn", &["units", "quic"]),
    ("noq", &["units", "quic"]),
    ("s2n-quic", &["units", "quic"]),
    // The stacks themselves as hosts under the simulated clock.
    (
        "quic-stacks",
        &[
            "units",
            "congestion",
            "network",
            "scenario",
            "simulator",
            "measure",
            "quic",
            "quinn",
            "noq",
            "stack",
        ],
    ),
    // The same stacks with sockets and timers of the system, over emulated paths.
    (
        "quic-real",
        &[
            "units",
            "scenario",
            "simulator",
            "measure",
            "emulator",
            "quic-stacks",
        ],
    ),
    // Only for tests, so no crate may use it.
    ("testing", &["congestion", "units"]),
    (
        "benches",
        &[
            "units",
            "congestion",
            "network",
            "workload",
            "engine",
            "scenario",
            "simulator",
            "measure",
        ],
    ),
    (
        "fuzz",
        &[
            "units",
            "congestion",
            "network",
            "scenario",
            "simulator",
            "conformance",
            "capture",
            "analysis",
            "workload",
        ],
    ),
];

/// Crates without the standard library, for use in a kernel or a small device.
const NO_STD: &[&str] = &[
    "units",
    "tables",
    "congestion",
    "tcp",
    "network",
    "wireless",
];

/// Crates that make system calls without a safe wrapper, load a shared object, export functions by name
/// or use an instruction that has no safe function, and give a reason for each `unsafe`. The others forbid `unsafe`, apart from the code that
/// PyO3's macros generate in `python`.
const UNSAFE: &[&str] = &[
    "capi",
    "emulator",
    "explorable",
    "kernel-stack",
    "prefetch",
    "stack-host",
    "vm",
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

#[test]
fn imports_follow_the_design() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let mut seen = Vec::new();
    for package in packages {
        let name = package["name"]
            .as_str()
            .expect("a name")
            .trim_start_matches("slowstart-");
        seen.push(name.to_owned());
        let may = allowed
            .get(name)
            .unwrap_or_else(|| panic!("crate `{name}` is not in the table of imports"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let target = dependency["name"].as_str().expect("a name");
            let Some(target) = target.strip_prefix("slowstart-") else {
                continue;
            };
            // Tests may use further crates.
            if dependency["kind"].as_str() == Some("dev") {
                continue;
            }
            assert!(
                may.contains(&target),
                "`{name}` imports `{target}`, which the design does not allow"
            );
        }
    }
    for (name, _) in ALLOWED {
        assert!(
            seen.iter().any(|other| other == name),
            "the table names `{name}`, which does not exist"
        );
    }
}

/// The table of imports in `docs/design/architecture.md` is that of this file.
/// `SLOWSTART_SNAPSHOT=write` writes it.
#[test]
fn the_page_has_the_imports() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/design/architecture.md"
    );
    let text = std::fs::read_to_string(page).expect("the page of the architecture");
    let mut table = String::from("\n\n| crate | may import |\n| --- | --- |\n");
    for (name, may) in ALLOWED {
        let may: Vec<String> = may.iter().map(|name| format!("`{name}`")).collect();
        table += &format!("| `{name}` | {} |\n", may.join(", "));
    }
    table.push('\n');
    let begin = text.find("<!-- imports:").expect("the begin of the table");
    let begin = begin + text[begin..].find("-->").expect("its end") + "-->".len();
    let end = text
        .find("<!-- end of imports -->")
        .expect("the end of the table");
    if std::env::var_os("SLOWSTART_SNAPSHOT").is_some_and(|word| word == "write") {
        let text = format!("{}{table}{}", &text[..begin], &text[end..]);
        std::fs::write(page, text).expect("the page is written");
    } else {
        assert_eq!(
            &text[begin..end],
            table,
            "SLOWSTART_SNAPSHOT=write writes the table"
        );
    }
}

#[test]
fn the_lower_crates_are_no_std() {
    for name in NO_STD {
        let path = format!("{}/../{name}/src/lib.rs", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("lib.rs");
        assert!(text.contains("#![no_std]"), "`{name}` is not no_std");
        let allocates = text.contains("extern crate alloc");
        assert!(
            !(allocates && ["units", "congestion"].contains(name)),
            "`{name}` allocates"
        );
    }
}

#[test]
fn only_the_listed_crates_have_unsafe_code() {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let workspace = std::fs::read_to_string(workspace).expect("Cargo.toml");
    assert!(workspace.contains("[workspace.lints.rust]\nunsafe_code = \"forbid\""));
    for package in metadata()["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        let name = name.trim_start_matches("slowstart-");
        let manifest = package["manifest_path"].as_str().expect("a path");
        let manifest = std::fs::read_to_string(manifest).expect("Cargo.toml");
        let forbids = manifest.contains("[lints]\nworkspace = true");
        assert_ne!(forbids, UNSAFE.contains(&name), "`{name}`");
        for lint in ["unsafe_code", "undocumented_unsafe_blocks"] {
            let denied = format!("{lint} = \"deny\"");
            assert!(forbids || manifest.contains(&denied), "`{name}`: {lint}");
        }
    }
}
