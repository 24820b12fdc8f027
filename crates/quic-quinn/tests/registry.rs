//! Which algorithms of the registry run in quinn 0.11, and what is said of the others.

use congestion::{PARTS, PartKind};
use slowstart_quinn::Slowstart;

/// Every start-up with CUBIC, and every monolithic congestion control.
fn refused() -> Vec<String> {
    let names = PARTS.iter().filter_map(|part| match part.kind {
        PartKind::Startup => Some(format!("cubic+{}", part.name)),
        PartKind::Monolithic => Some(part.name.to_owned()),
        _ => None,
    });
    names
        .filter_map(|name| Slowstart::named(&name).err())
        .map(|refusal| refusal.to_string())
        .collect()
}

#[test]
fn start_ups_that_set_the_pace_are_refused() {
    let pace = "quinn 0.11 lets no controller set the pace";
    let routers = "quinn 0.11 carries nothing for the routers of the path";
    assert_eq!(
        refused(),
        [
            format!("{pace}: cubic+abcss needs it"),
            format!("{pace}: cubic+careful-resume needs it"),
            format!("{pace}: cubic+forecast needs it"),
            "quinn 0.11 retransmits only what it declared lost: cubic+halfback needs it".to_owned(),
            format!("{pace}: cubic+jump-start needs it"),
            "quinn 0.11 does not know the capacity of the path, as the simulator does: \
             cubic+oracle needs it"
                .to_owned(),
            format!("{routers}: cubic+quick-start needs it"),
            format!("{pace}: cubic+rapid-start needs it"),
            format!("{pace}: cubic+stateful needs it"),
            format!("{pace}: cubic+suss needs it"),
            format!("{pace}: bbr needs it"),
            format!("{pace}: bbr3 needs it"),
            format!("{pace}: bbrp needs it"),
            format!("{pace}: c4 needs it"),
            format!("{routers}: rcp needs it"),
            format!("{routers}: xcp needs it"),
        ]
    );
}

#[test]
fn a_name_that_is_none_is_an_error() {
    let error = Slowstart::named("cubic+serch").expect_err("no such start-up");
    assert!(error.to_string().contains("serch"), "{error}");
}

/// Without the marks it would be Reno.
#[test]
fn prague_is_refused() {
    let error = Slowstart::named("prague+standard").expect_err("it needs ECT(1)");
    let words = "sends ECT(0), and does not report how many packets of an ACK frame were marked";
    assert_eq!(
        error.to_string(),
        format!("quinn 0.11 {words}: prague+standard needs it")
    );
}
