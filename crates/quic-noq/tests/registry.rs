//! Which algorithms of the registry run in noq 1, and what is said of the others.

use congestion::{PARTS, PartKind};
use slowstart_noq::Slowstart;

#[test]
fn start_ups_that_jump_at_once_are_refused() {
    let names = PARTS.iter().filter_map(|part| match part.kind {
        PartKind::Startup => Some(format!("cubic+{}", part.name)),
        PartKind::Monolithic => Some(part.name.to_owned()),
        _ => None,
    });
    let refused: Vec<_> = names
        .filter_map(|name| Slowstart::named(&name).err())
        .map(|refusal| refusal.to_string())
        .collect();
    let handshake = "noq 1 does not report the round-trip time of the handshake before data leaves";
    let memory = "noq 1 passes on nothing that earlier connections measured";
    let routers = "noq 1 carries nothing for the routers of the path";
    assert_eq!(
        refused,
        [
            format!("{memory}: cubic+careful-resume needs it"),
            "noq 1 retransmits only what it declared lost: cubic+halfback needs it".to_owned(),
            format!("{handshake}: cubic+jump-start needs it"),
            "noq 1 does not know the capacity of the path, as the simulator does: cubic+oracle \
             needs it"
                .to_owned(),
            format!("{routers}: cubic+quick-start needs it"),
            format!("{handshake}: cubic+rapid-start needs it"),
            format!("{memory}: cubic+stateful needs it"),
            "noq 1 sends nothing unpaced: cubic+suss needs it".to_owned(),
            format!("{routers}: rcp needs it"),
            format!("{routers}: xcp needs it"),
        ]
    );
}

/// Without the marks it would be Reno.
#[test]
fn prague_is_refused() {
    let error = Slowstart::named("prague+standard").expect_err("it needs ECT(1)");
    let words = "sends ECT(0), and does not report how many packets of an ACK frame were marked";
    assert_eq!(
        error.to_string(),
        format!("noq 1 {words}: prague+standard needs it")
    );
}
