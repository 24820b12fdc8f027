//! From the neutral names of algorithms and options to the names of this project.

/// A word of a vector, and what it is called here.
type Spelling = (&'static str, &'static str);

/// An option of a vector, what it is called here, and its values where they are spelled differently.
type Choice = (&'static str, &'static str, &'static [Spelling]);

/// A part that a vector names, and what it is called here.
struct Known {
    neutral: &'static str,
    ours: &'static str,
    options: &'static [Choice],
}

const fn known(neutral: &'static str) -> Known {
    Known {
        neutral,
        ours: neutral,
        options: &[],
    }
}

const SLOW_START: &[Known] = &[
    known("standard"),
    Known {
        options: &[("period", "period", &[])],
        ..known("best")
    },
    Known {
        options: &[
            ("saved-cwnd", "saved_cwnd", &[]),
            ("saved-rtt", "saved_rtt", &[]),
            ("max-jump", "max_jump", &[]),
            ("beta", "beta", &[]),
        ],
        ..known("careful-resume")
    },
    Known {
        options: &[("chunk", "chunk", &[])],
        ..known("fbe")
    },
    Known {
        options: &[("part", "part", &[]), ("trained", "trained", &[])],
        ..known("forecast")
    },
    Known {
        options: &[("threshold", "threshold", &[])],
        ..known("halfback")
    },
    Known {
        options: &[("pairs", "pairs", &[])],
        ..known("packet-pair")
    },
    known("quick-start"),
    Known {
        options: &[
            ("draft", "draft", &[]),
            ("threshold", "threshold", &[]),
            ("beta", "beta", &[]),
            ("jump", "jump", &[]),
        ],
        ..known("rapid-start")
    },
    Known {
        options: &[("rate", "rate", &[]), ("min-rtt", "min_rtt", &[])],
        ..known("stateful")
    },
    Known {
        options: &[
            (
                "form",
                "linux",
                &[("linux-6.14", "6.14"), ("linux-5.16", "5.16")],
            ),
            ("low-window", "low_window", &[]),
            (
                "variant",
                "variant",
                &[
                    ("paper", "paper"),
                    ("ns2", "ns2"),
                    ("ns2-excerpt", "ns2-excerpt"),
                    ("ns2-units", "ns2-units"),
                ],
            ),
            ("delay", "delay", &[("true", "true"), ("false", "false")]),
            (
                "round-min",
                "round_min",
                &[("all", "all"), ("first", "first")],
            ),
            ("skip-rounds", "skip_rounds", &[]),
        ],
        ..known("hystart")
    },
    Known {
        options: &[
            ("limit", "limit", &[]),
            ("css-rounds", "css_rounds", &[]),
            ("form", "form", &[("rfc", "rfc"), ("patch", "patch")]),
        ],
        ..known("hystart++")
    },
    Known {
        options: &[
            ("version", "version", &[]),
            (
                "exit",
                "exit",
                &[
                    ("plain", "plain"),
                    ("rollback", "rollback"),
                    ("drain", "drain"),
                ],
            ),
            ("threshold", "threshold", &[]),
            (
                "arithmetic",
                "arithmetic",
                &[
                    ("exact", "exact"),
                    ("percent", "percent"),
                    ("shifted-16", "shifted"),
                ],
            ),
            ("missed", "missed", &[("keep", "keep"), ("reset", "reset")]),
            ("alpha", "alpha", &[]),
            (
                "as-published",
                "as_published",
                &[("true", "true"), ("false", "false")],
            ),
        ],
        ..known("search")
    },
    Known {
        options: &[("max-ssthresh", "max_ssthresh", &[])],
        ..known("limited")
    },
    Known {
        options: &[("limit", "limit", &[])],
        ..known("abc")
    },
    known("abcss"),
    Known {
        options: &[("window", "initial_window", &[]), ("pace", "pace", &[])],
        ..known("initial-start")
    },
    Known {
        options: &[
            ("variant", "variant", &[("scharf", "scharf")]),
            ("cap", "cap", &[]),
            ("loss", "loss", &[]),
        ],
        ..known("jump-start")
    },
    Known {
        options: &[
            ("form", "form", &[("code", "code"), ("talk", "talk")]),
            ("max", "max", &[]),
        ],
        ..known("suss")
    },
];

const AVOIDANCE: &[Known] = &[
    Known {
        options: &[("hz", "hz", &[])],
        ..known("bic")
    },
    known("cuback"),
    Known {
        options: &[
            (
                "arithmetic",
                "rfc9438",
                &[("linux", "false"), ("rfc9438", "true")],
            ),
            ("hz", "hz", &[]),
        ],
        ..known("cubic")
    },
    Known {
        options: &[
            ("alpha", "alpha", &[]),
            ("gamma", "gamma", &[]),
            ("period", "period", &[]),
        ],
        ..known("fast")
    },
    known("hybla"),
    known("illinois"),
    known("prague"),
    known("reno"),
    known("vegas"),
    Known {
        options: &[("hz", "hz", &[])],
        ..known("westwood")
    },
];

const RECOVERY: &[Known] = &[
    Known {
        options: &[("form", "rfc", &[("linux", "linux"), ("rfc9937", "9937")])],
        ..known("prr")
    },
    Known {
        ours: "plain",
        ..known("halt")
    },
];

const WHOLE: &[Known] = &[known("bbr3"), known("c4"), known("rcp"), known("xcp")];

/// The kinds of parts that a header names.
pub const PARTS: [&str; 4] = ["slow-start", "avoidance", "recovery", "whole"];

fn table(part: &str) -> &'static [Known] {
    match part {
        "slow-start" => SLOW_START,
        "avoidance" => AVOIDANCE,
        "whole" => WHOLE,
        _ => RECOVERY,
    }
}

/// The words that are known, for a message.
fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

/// What we call the part `name` with `options` (`option=value`). An error names the word that is
/// wrong: 0 is the name, the others are the options.
pub fn describe(part: &str, name: &str, options: &[&str]) -> Result<String, (usize, String)> {
    let table = table(part);
    let Some(known) = table.iter().find(|known| known.neutral == name) else {
        let all = list(table.iter().map(|known| known.neutral));
        return Err((
            0,
            format!("unknown {part} `{name}`; this runner knows {all}"),
        ));
    };
    let mut description = known.ours.to_owned();
    for (index, option) in options.iter().enumerate() {
        let fail = |message| Err((index + 1, message));
        let Some((key, value)) = option.split_once('=') else {
            return fail(format!("`{option}` is no option; write option=value"));
        };
        let Some((_, ours, values)) = known.options.iter().find(|(neutral, ..)| *neutral == key)
        else {
            let all = list(known.options.iter().map(|(neutral, ..)| *neutral));
            return fail(format!("{part} {name} has no option `{key}`; it has {all}"));
        };
        let value = if values.is_empty() {
            value
        } else if let Some((_, ours)) = values.iter().find(|(neutral, _)| *neutral == value) {
            ours
        } else {
            let all = list(values.iter().map(|(neutral, _)| *neutral));
            return fail(format!("`{key}` cannot be `{value}`; it is {all}"));
        };
        description.push(if index == 0 { ':' } else { ',' });
        description.push_str(&format!("{ours}={value}"));
    }
    Ok(description)
}
