//! The future work of Kachooei 2024, chapter 7: `missed=freeze`, `few_bins=shrink` and `few_bins=hold`.

mod startup_support;

use congestion::startup::Search;
use congestion::startup::search::{FewBins, Missed, SearchConfig, Version};
use congestion::{Ack, Startup, Step};
use startup_support::{SMSS, ack, window};
use units::{Bytes, Duration, Instant};

const RTT_MS: u64 = 100;

/// Bytes delivered `at` milliseconds after the first ACK, doubling each round.
fn doubling(at: f64) -> u64 {
    (14_480.0 * (at / RTT_MS as f64).exp2()) as u64
}

fn at(time: u64, acked: u64, rtt: u64) -> Ack {
    Ack {
        bytes_sent: 2 * acked,
        ..ack(
            Instant::from_millis(1_000 + time),
            SMSS,
            acked,
            Some(Duration::from_millis(rtt)),
        )
    }
}

/// An ACK every 5 ms, except for a pause of 200 ms from 600 ms on.
fn with_a_pause(missed: Missed) -> Search {
    let config = SearchConfig {
        missed,
        ..SearchConfig::of(Version::V2_0)
    };
    let mut search = Search::new(config, Instant::ZERO, 0);
    for step in 0..=160u64 {
        let time = 5 * step;
        let now = if time < 600 { time } else { time + 200 };
        search.on_delivery(&at(now, doubling(time as f64), RTT_MS), &window(100));
    }
    search
}

#[test]
fn a_pause_freezes_time_or_is_mistaken_for_a_full_path() {
    let frozen = with_a_pause(Missed::Freeze);
    assert_eq!(frozen.decision(), None);
    // 800 ms of ACKs are 22 bins of 35 ms; the pause only ends the one that it falls into.
    assert_eq!(frozen.index(), Some(23));
    assert!(with_a_pause(Missed::Keep).decision().is_some());
    assert_eq!(with_a_pause(Missed::Reset).decision(), None);
    // A reset must refill its bins; freezing avoids that.
    assert!(with_a_pause(Missed::Reset).measurement().is_none());
    let norm = frozen.measurement().map(|test| test.norm_permille);
    assert!(norm.is_some_and(|norm| norm < 150), "{norm:?}");
}

/// Ten rounds of doubling, then a constant rate, at an RTT of `factor_tenths / 10` initial RTTs.
fn with_rtt(few_bins: FewBins, factor_tenths: u64) -> Search {
    let config = SearchConfig {
        few_bins,
        passive: true,
        ..SearchConfig::of(Version::V2_0)
    };
    let mut search = Search::new(config, Instant::ZERO, 0);
    for step in 0..=500u64 {
        let time = 5 * step;
        let rtt = if time < 1_000 {
            RTT_MS
        } else {
            RTT_MS * factor_tenths / 10
        };
        let full = doubling(1_000.0);
        let acked = if time < 1_000 {
            doubling(time as f64)
        } else {
            full + (time - 1_000) * full / 144
        };
        search.on_delivery(&at(time, acked, rtt), &window(100));
    }
    search
}

#[test]
fn windows_shrink_where_the_look_back_is_too_long() {
    // The longest look-back is 14 bins of 35 ms, 4.9 to 5.25 RTTs; half of the window is 5 bins
    // more.
    for (factor_tenths, mute, shrunk) in [(50, true, true), (60, false, true), (75, false, false)] {
        let last = |few_bins| {
            let search = with_rtt(few_bins, factor_tenths);
            search
                .measurement()
                .map(|test| (test.look_back, test.norm_permille))
        };
        let look_back = factor_tenths * 10 / 35;
        let (normal, adapted) = (last(FewBins::Mute), last(FewBins::Shrink));
        assert_eq!(normal.is_some(), mute, "{factor_tenths}");
        assert_eq!(adapted.is_some(), shrunk, "{factor_tenths}");
        if mute {
            assert_eq!(normal, adapted, "enough bins: nothing changes");
        }
        // The flat windows of 2.5 s in deliver half of what doubling would.
        if let Some((back, norm)) = adapted {
            assert_eq!(back, look_back);
            assert!((480..=520).contains(&norm), "{norm}");
        }
    }
}

#[test]
fn the_window_holds_where_the_look_back_is_too_long() {
    // The longest look-back is 14 bins: an RTT of 6 initial ones has 17, one of 5 has 14.
    for (few_bins, factor_tenths, grows) in [
        (FewBins::Hold, 50, true),
        (FewBins::Hold, 60, false),
        (FewBins::Mute, 60, true),
    ] {
        let mut search = with_rtt(few_bins, factor_tenths);
        let rtt = RTT_MS * factor_tenths / 10;
        let last = 2 * doubling(1_000.0);
        let step = search.on_ack(&at(2_504, last, rtt), &window(100));
        let delivered = if grows { SMSS } else { Bytes::ZERO };
        assert_eq!(step, Step::Grow(delivered), "{few_bins:?} {factor_tenths}");
        // A short round trip ends it with the next bin.
        search.on_delivery(&at(2_600, last, RTT_MS), &window(100));
        let step = search.on_ack(&at(2_601, last, RTT_MS), &window(100));
        assert_eq!(step, Step::Grow(SMSS), "{few_bins:?} {factor_tenths}");
    }
}
