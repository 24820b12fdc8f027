//! Recording packets changes no result, and the records agree with the counters.

mod common;

use std::sync::atomic::AtomicBool;

use measure::{PacketKind, Vantage};
use scenario::Scenario;
use simulator::RunOptions;

#[test]
fn packets_are_those_that_the_counters_count() {
    for preset in ["wired", "lte"] {
        let text = format!(
            "[path]\npreset = \"{preset}\"\n\
             [[flow]]\nalgorithm = \"reno+standard\"\nsize = \"4 MB\"\n\
             [[flow]]\nalgorithm = \"cubic\"\nsize = \"1 MB\"\nstart = \"0.3 s\"\n"
        );
        let scenario = Scenario::parse(&text, "test.toml", ".".as_ref()).expect("a scenario");
        let run = |packets| {
            let options = RunOptions {
                packets,
                ..RunOptions::default()
            };
            simulator::run(&scenario, 0, &options, &AtomicBool::new(false)).expect("not cancelled")
        };
        let (with, without) = (run(true), run(false));
        assert_eq!(with.result, without.result);
        assert!(without.packets.is_empty());
        assert_eq!(with.packets.len(), 2);
        for (trace, flow) in with.packets.iter().zip(&with.result.flows) {
            let data = |host| {
                let records = trace.packets.iter();
                let kinds = records.filter(|it| it.kind == PacketKind::Data && it.amount > 0);
                kinds.filter(|it| it.seen_by == host).count() as u64
            };
            let (sent, received) = (data(Vantage::Sender), data(Vantage::Receiver));
            assert_eq!(sent, flow.segments_sent);
            // What was still on its way at the end of the flow arrived nowhere.
            let dropped = flow.segments_dropped.unwrap_or(0);
            assert!(received + dropped <= sent);
            assert!(
                received + dropped + 100 >= sent,
                "{received} {dropped} {sent}"
            );
            assert!(trace.packets.is_sorted_by_key(|it| it.at));
            let kinds = [PacketKind::Syn, PacketKind::SynAck, PacketKind::ThirdAck];
            for kind in kinds {
                let count = trace.packets.iter().filter(|it| it.kind == kind).count();
                assert_eq!(count, 2, "{kind:?}: once at each host");
            }
        }
    }
}
