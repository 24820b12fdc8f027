//! Random operations on every algorithm: what must hold whatever the network does.

use congestion::{PARTS, PartKind};
use proptest::prelude::*;
use units::Duration;

use crate::flow::build;
use crate::names::is_refused;
use crate::transport::{Operation, Transport};

fn operation() -> impl Strategy<Value = Operation> {
    let span = || (0u64..3_000_000_000).prop_map(Duration::from_nanos);
    prop_oneof![
        8 => (1u64..100).prop_map(Operation::Send),
        12 => (1u64..50, prop::bool::weighted(0.8))
            .prop_map(|(segments, advanced)| Operation::Ack { segments, advanced }),
        2 => (1u64..20).prop_map(Operation::Lose),
        1 => Just(Operation::Timeout),
        1 => Just(Operation::Undo),
        1 => span().prop_map(Operation::Idle),
        1 => Just(Operation::Ecn),
        1 => (0u64..100).prop_map(Operation::Unused),
        1 => (500u64..9_000).prop_map(Operation::Mtu),
        8 => span().prop_map(|span| Operation::Wait(span / 20)),
    ]
}

/// Every avoidance with every start-up, every recovery, and every monolithic congestion control.
fn all() -> Vec<String> {
    let named = |kind| {
        let parts = PARTS.iter().filter(move |part| part.kind == kind);
        parts.map(|part| part.name)
    };
    let avoidances = named(PartKind::Avoidance);
    let pairs = avoidances
        .chain(["cubic:rfc9438=true", "fast:personalised=true"])
        .flat_map(|avoidance| {
            named(PartKind::Startup).map(move |startup| format!("{avoidance}+{startup}"))
        });
    let recoveries = named(PartKind::Recovery)
        .chain(["prr:rfc=9937"])
        .flat_map(|recovery| {
            ["cubic+hystart", "reno+standard"].map(|pair| format!("{pair}+{recovery}"))
        });
    pairs
        .filter(|pair| !is_refused(pair))
        .chain(recoveries)
        .chain(named(PartKind::Monolithic).map(str::to_owned))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn whatever_happens(operations in prop::collection::vec(operation(), 1..300)) {
        for name in all() {
            let mut transport = Transport::new(build(&name, 10));
            for &operation in &operations {
                transport.apply(operation);
                transport.check();
            }
            transport.close();
        }
    }
}
