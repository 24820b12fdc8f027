//! The kernel implements each option of each algorithm, or refuses it with a sentence.
//!
//! A new option fails here only if no value of it is known (`testing::options`), or if a program
//! declares it and is loaded without it.
//!
//! The table of the guide to the real kernel is made from the declarations:
//! `SLOWSTART_SNAPSHOT=write cargo test -p slowstart-kernel --test options` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use congestion::{Algorithm, PartKind};
use kernel::offered::{Values, known, refusal, values, with_part};
use kernel::{BUILT_IN, CONTROLS, Control, Wanted, offered::Offered};
use tables::Supported;
use testing::options::{Changed, changed};
use testing::page::settle_part;

fn all() -> Vec<Offered<'static>> {
    let own = BUILT_IN.iter().map(|(ours, _)| Offered::plain(ours));
    own.chain(CONTROLS.iter().map(Control::offered)).collect()
}

/// Options that are accepted without an effect: the program does the same with each value, as their
/// declaration says, or another option decides whether they have one.
const WITHOUT_EFFECT: &[&str] = &["arithmetic", "override_window", "alpha"];

#[test]
fn no_option_is_ignored() {
    let all = all();
    let (mut accepted, mut refused) = (0, 0);
    for Changed {
        part,
        option,
        plain,
        changed,
    } in changed()
    {
        let implemented = all.iter().any(|one| one.implements(&changed));
        if implemented {
            accepted += 1;
            // The kernel's own congestion controls have no options.
            let wanted = Wanted::of_algorithm(&changed).expect("a program");
            let differs = Wanted::of_algorithm(&plain) != Some(wanted);
            let is_effective = !WITHOUT_EFFECT.contains(&option.name);
            assert_eq!(differs, is_effective, "{changed}");
        } else {
            refused += 1;
            let sentence = refusal(&all, &changed);
            assert!(!sentence.ends_with('.') && !sentence.contains('\n'));
            let is_known = all.iter().any(|one| one.implements(&plain));
            let names = sentence.contains(&format!("`{}`", option.name));
            assert!(
                names || !is_known,
                "{} of {}: {sentence}",
                option.name,
                part.name
            );
        }
    }
    assert!(accepted > 15 && refused > 150, "{accepted}, {refused}");
}

#[test]
fn the_sentences_name_the_option() {
    let refused = |name: &str| refusal(&all(), &Algorithm::parse(name).expect(name));
    for (name, sentence) in [
        (
            "cubic+search:passive=true,bins=12",
            "cubic+search of the kernel has no option `bins`; it has version=2.0|3.1|4.0, exit, \
             passive, threshold, missed=keep|reset, alpha, arithmetic=exact|percent",
        ),
        (
            "cubic+search:missed=freeze",
            "of `missed` of cubic+search the kernel has keep or reset only",
        ),
        (
            "cubic+search:version=1.0",
            "of `version` of cubic+search the kernel has 2.0 or 3.1 or 4.0 only",
        ),
        (
            "cubic+hystart:train=false",
            "cubic+hystart of the kernel has no option `train`; it has variant=linux|paper",
        ),
        (
            "bic:hz=1000",
            "bic+standard of the kernel has no option `hz`; it has none",
        ),
    ] {
        assert_eq!(refused(name), sentence, "{name}");
    }
    assert!(
        refused("reno+hystart").starts_with("known are reno+standard, cubic+hystart (variant=")
    );
    let known = known(&all());
    assert!(
        known.contains(&"cubic+hystart++ (form=rfc|patch)".to_owned()),
        "{known:?}"
    );
}

#[test]
fn each_declared_option_exists() {
    for control in CONTROLS {
        let own = Algorithm::parse(control.algorithm).expect(control.algorithm);
        assert!(control.offered().implements(&own), "{}", control.name);
        for supported in control.options {
            let startup = own.parts().find(|part| part.info.kind == PartKind::Startup);
            let part = startup.expect("a start-up").info;
            let option = part
                .options
                .iter()
                .find(|option| option.name == supported.key);
            let option = option.unwrap_or_else(|| panic!("{}: {}", control.name, supported.key));
            let same = with_part(&all(), part);
            assert_ne!(
                values(&same, part, option),
                Values::Default,
                "{}",
                supported.key
            );
        }
    }
}

/// The algorithms with their names in the kernel, and how the programs implement each option.
fn table() -> String {
    let mut out = String::from("| algorithm | TCP_CONGESTION | options |\n| --- | --- | --- |\n");
    for (algorithm, name) in BUILT_IN {
        let _ = writeln!(out, "| `{algorithm}` | `{name}` | none |");
    }
    let mut all: BTreeMap<(&str, &str), &Supported> = BTreeMap::new();
    for control in CONTROLS {
        let own = Algorithm::parse(control.algorithm).expect(control.algorithm);
        let parts: Vec<&str> = own.parts().map(|part| part.info.name).collect();
        for supported in control.options {
            all.insert((parts[1], supported.key), supported);
        }
        let options: Vec<String> = control
            .options
            .iter()
            .map(|supported| format!("`{}`", supported.key))
            .collect();
        let options = match options.is_empty() {
            true => "none".to_owned(),
            false => options.join(", "),
        };
        let _ = writeln!(out, "| `{own}` | `{}` | {options} |", control.name);
    }
    out.push_str("\n| start-up | option | values | how |\n| --- | --- | --- | --- |\n");
    for ((part, option), supported) in all {
        let words: Vec<String> = supported
            .words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect();
        let values = match words.is_empty() {
            true => "all".to_owned(),
            false => words.join(", "),
        };
        let how = supported.how;
        let _ = writeln!(out, "| `{part}` | `{option}` | {values} | {how} |");
    }
    out
}

#[test]
fn the_guide_lists_the_algorithms_of_the_kernel() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/real-kernel.md");
    settle_part(&guide, "algorithms of the kernel", &table());
}
