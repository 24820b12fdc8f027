//! Saturated nodes that contend for one channel, against references.

use units::Duration;
use wireless::DropCause;
use wireless::adhoc::mac::csma::CsmaConfig;

use crate::harness::{Net, no_capture, star};
use crate::reference::unslotted;

#[test]
fn look() {
    for ack in [false, true] {
        for n in [1, 2, 3, 5, 10, 20, 40] {
            let config = CsmaConfig {
                ack,
                ..CsmaConfig::USUAL
            };
            let mut net = Net::new(&config, &no_capture(), &star(n), 3);
            let t = std::time::Instant::now();
            net.saturate(n as u32, 116, Duration::from_secs(100));
            let wall = t.elapsed();
            let c = net.mac.counters();
            println!(
                "{n} {ack} received {} sent {} busy {} unanswered {} {wall:?}",
                net.tally.received as f64 / 100.0,
                c.data_frames as f64 / 100.0,
                net.tally.of(DropCause::ChannelBusy) as f64 / 100.0,
                net.tally.of(DropCause::RetryLimit) as f64 / 100.0
            );
            println!("   {:?}", unslotted(n, 133.0 * 32e-6, ack, 100.0, 1));
        }
    }
}
