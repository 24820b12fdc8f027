//! Algorithms by name: the grammar, canonical names, and what is said about mistakes.

use congestion::{Algorithm, PARTS, PartKind, Problem};
use proptest::prelude::*;

fn canonical(text: &str) -> String {
    let algorithm = Algorithm::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let name = algorithm.to_string();
    let again = Algorithm::parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(again, algorithm, "{text} and {name} differ");
    assert_eq!(again.to_string(), name, "{text}");
    name
}

#[test]
fn canonical_names() {
    for (text, name) in [
        ("cubic", "cubic+hystart"),
        ("reno", "reno+standard"),
        ("reno+hystart", "reno+hystart"),
        ("cubic+plain", "cubic+hystart+plain"),
        ("cubic+hystart+prr", "cubic+hystart"),
        ("cubic+standard+prr:rfc=linux", "cubic+standard"),
        ("cubic+standard+prr:rfc=9937", "cubic+standard+prr:rfc=9937"),
        ("cubic:hz=250", "cubic+hystart"),
        (
            "cubic:rfc9438=true,hz=1000",
            "cubic:hz=1000,rfc9438=true+hystart",
        ),
        ("cubic+hystart++", "cubic+hystart++"),
        ("cubic+hystart+++plain", "cubic+hystart+++plain"),
        ("reno+search:exit=drain", "reno+search:exit=drain"),
        ("bbr", "bbr"),
    ] {
        assert_eq!(canonical(text), name, "{text}");
    }
    assert_eq!(Algorithm::default().to_string(), canonical("cubic"));
    assert_eq!(Some(Algorithm::default()), Algorithm::parse("cubic").ok());
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, range, message) in [
        (
            "",
            0..0,
            "a name is missing in the algorithm: write it as in `cubic+hystart`",
        ),
        (
            "cubic+",
            6..6,
            "a name is missing in the algorithm: write it as in `cubic+hystart`",
        ),
        (
            "cubic++hystart",
            6..6,
            "a name is missing in the algorithm: write it as in `cubic+hystart`",
        ),
        (
            "search",
            0..6,
            "`search` is a start-up: it follows an avoidance, as in `cubic+hystart`",
        ),
        (
            "reno+cubic",
            5..10,
            "`cubic` is an avoidance: it comes first, as in `cubic+hystart`",
        ),
        (
            "cubic+bbr",
            6..9,
            "`bbr` is a monolithic congestion control: it stands alone",
        ),
        (
            "cubic+prr+plain",
            10..15,
            "`plain` is a recovery: it comes last, as in `cubic+hystart+prr`",
        ),
        (
            "cubic+prr+search",
            10..16,
            "`search` is a start-up: it follows an avoidance, as in `cubic+hystart`",
        ),
        (
            "bbr+plain",
            4..9,
            "`bbr` is a monolithic congestion control and stands alone: remove `+plain`",
        ),
        (
            "cubic:hz",
            6..8,
            "option `hz` has no value: write it as `name=value`",
        ),
        ("cubic:hz=1000,hz=250", 14..16, "option `hz` is given twice"),
        (
            "cubic:hz=17",
            9..11,
            "option `hz` takes 100, 250, 300 or 1000, not `17`",
        ),
        (
            "hybla+limited+plain",
            6..13,
            "`limited` does not go with `hybla`, because Hybla has its own slow-start growth: it \
             accepts only start-ups that monitor slow start and decide its exit, such as \
             `standard`, `hystart` and `search`",
        ),
        (
            "reno:hz=250",
            5..7,
            "unknown option `hz` of `reno`: it has no options",
        ),
    ] {
        let error = Algorithm::parse(text).expect_err(text);
        assert_eq!(error.range(), range, "{text}");
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn slips_are_recognised() {
    for (text, suggestion) in [
        (
            "cubic+serach",
            "unknown start-up `serach`: did you mean `search`? (known: ",
        ),
        (
            "Cubic",
            "unknown avoidance `Cubic`: did you mean `cubic`? (known: ",
        ),
        (
            "brb",
            "unknown avoidance `brb`: did you mean `bbr`? (known: ",
        ),
        (
            "cubic+hystart+prrr",
            "unknown recovery `prrr`: did you mean `prr`? (known: prr, newreno, plain, rate-halving)",
        ),
        (
            "cubic:zh=250",
            "unknown option `zh` of `cubic`: did you mean `hz`? (known: hz, ",
        ),
        (
            "cubic+something-else",
            "unknown start-up `something-else` (known: ",
        ),
    ] {
        let message = Algorithm::parse(text).expect_err(text).to_string();
        assert!(message.starts_with(suggestion), "{text}: {message}");
    }
    let long = "x".repeat(1_000);
    assert!(
        Algorithm::parse(&long)
            .expect_err("too long")
            .to_string()
            .contains("384")
    );
    let wide = "cubic+".to_owned() + &"ü".repeat(60);
    let message = Algorithm::parse(&wide).expect_err("unknown").to_string();
    assert!(message.contains("ü...`"), "{message}");
}

#[test]
fn the_registry_is_complete_and_its_defaults_are_defaults() {
    let mut names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PARTS.len(), "a name stands for two parts");
    for part in PARTS {
        assert!(!part.summary.is_empty() && !part.source.is_empty() && !part.provenance.is_empty());
        let alone = described(part.name, part.kind, "");
        for option in part.options {
            let text = format!(":{}={}", option.name, option.default);
            let set = described(part.name, part.kind, &text);
            assert_eq!(canonical(&set), canonical(&alone), "{set}");
        }
    }
}

/// Whether two parts of this exist and have no meaning together.
pub fn is_refused(text: &str) -> bool {
    let problem = Algorithm::parse(text).map_err(|error| error.problem);
    matches!(problem, Err(Problem::Contradiction { .. }))
}

/// A description in which `name` stands with `options`.
fn described(name: &str, kind: PartKind, options: &str) -> String {
    match kind {
        PartKind::Avoidance | PartKind::Monolithic => format!("{name}{options}"),
        PartKind::Startup => format!("cubic+{name}{options}"),
        PartKind::Recovery => format!("cubic+hystart+{name}{options}"),
    }
}

/// A part of `kind` with some of its options at values that it may or may not take.
fn part(kind: PartKind) -> impl Strategy<Value = String> {
    let parts: Vec<_> = PARTS.iter().filter(move |part| part.kind == kind).collect();
    let values = [
        "true", "false", "1", "2", "10", "100", "250", "1000", "9937", "0.5", "2.5", "4 ms",
        "drain",
    ];
    let choices = prop::collection::vec((any::<bool>(), prop::sample::select(values.to_vec())), 24);
    (prop::sample::select(parts), choices, any::<bool>()).prop_map(|(part, choices, reverse)| {
        let mut config = part.name.to_owned();
        let mut options: Vec<_> = part.options.iter().zip(choices).collect();
        if reverse {
            options.reverse();
        }
        let mut separator = ":";
        for (option, (given, value)) in options {
            let text = format!("{config}{separator}{}={value}", option.name);
            let accepted = |text: &str| Algorithm::parse(&described(text, part.kind, "")).is_ok();
            if given && accepted(&text) {
                config = text;
                separator = ",";
            }
        }
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn random_descriptions_survive_their_canonical_name(
        avoidance in part(PartKind::Avoidance),
        startup in part(PartKind::Startup),
        recovery in part(PartKind::Recovery),
    ) {
        let text = format!("{avoidance}+{startup}+{recovery}");
        if !is_refused(&text) {
            canonical(&text);
        }
    }

    #[test]
    fn any_text_is_an_algorithm_or_an_error_within_it(text in "[a-z+:=,0-9. ü]{0,40}") {
        if let Err(error) = Algorithm::parse(&text) {
            prop_assert!(error.range().end <= text.len());
            prop_assert!(text.get(error.range()).is_some());
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
