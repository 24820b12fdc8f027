//! When the next packet may leave. s2n-quic asks its congestion controller.

use quic_core::Core;
use units::{Bytes, Duration, Instant, Rate};

/// A sender that was silent may send this many datagrams at once, as s2n-quic's own controllers do.
const BURST: u64 = 10;
/// Below this round-trip time, waiting for a timer takes longer than a round.
const SHORTEST_RTT: Duration = Duration::from_millis(2);

#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// `None` until the first packet that has a pace.
    next: Option<Instant>,
}

impl Pacer {
    /// The earliest time of the next packet.
    pub fn departure(&self, core: &Core) -> Option<Instant> {
        let start = core.pace().and_then(|pace| pace.not_before);
        self.next.max(start)
    }

    /// A packet of `size` left.
    pub fn on_sent(
        &mut self,
        now: Instant,
        size: Bytes,
        core: &Core,
        srtt: Option<Duration>,
        datagram: Bytes,
    ) {
        let rate = core
            .pace()
            .map_or_else(|| by_window(core, srtt), |pace| Some(pace.rate));
        self.next = rate.map(|rate| {
            let burst = rate.time_for(datagram * BURST);
            let earliest = Instant::ZERO + now.saturating_since(Instant::ZERO + burst);
            self.next.map_or(earliest, |next| next.max(earliest)) + rate.time_for(size)
        });
    }
}

/// The pace of s2n-quic's own controllers: RFC 9002, section 7.7 with N = 2 in slow start, which
/// doubles the window in a round, and N = 1.25 after it.
fn by_window(core: &Core, srtt: Option<Duration>) -> Option<Rate> {
    let srtt = srtt.filter(|srtt| *srtt >= SHORTEST_RTT)?;
    let window = core.window();
    let quarters = if window.cwnd < window.ssthresh { 8 } else { 5 };
    let per_second = Rate::from_bytes_per_sec(window.cwnd.get());
    Some(per_second.mul_div(quarters * 250_000_000, srtt.as_nanos()))
}
