//! The kernel implements each option of each algorithm, or refuses it with a sentence.
//!
//! A new option fails here only if no value of it is known (`testing::options`), or if a program
//! declares it and is loaded without it.

use congestion::{Algorithm, PartKind};
use kernel::offered::{Values, known, refusal, values, with_part};
use kernel::{BUILT_IN, CONTROLS, Control, Wanted, offered::Offered};
use testing::options::{Changed, changed};

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
        for held in control.options {
            let startup = own.parts().find(|part| part.info.kind == PartKind::Startup);
            let part = startup.expect("a start-up").info;
            let option = part.options.iter().find(|option| option.name == held.key);
            let option = option.unwrap_or_else(|| panic!("{}: {}", control.name, held.key));
            let same = with_part(&all(), part);
            assert_ne!(values(&same, part, option), Values::Default, "{}", held.key);
        }
    }
}
