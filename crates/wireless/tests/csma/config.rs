//! Which configurations are refused.

use tables::Rules as _;
use units::Bytes;
use wireless::adhoc::mac::csma::CsmaConfig;

const DEFAULT: CsmaConfig = CsmaConfig::DEFAULT;

/// The key of the first contradiction, if a file has these keys.
fn refused(config: CsmaConfig, said: &[&str]) -> Option<&'static str> {
    config
        .check(&|key| said.contains(&key))
        .err()
        .map(|wrong| wrong.key)
}

#[test]
fn contradictions_are_reported_at_their_keys() {
    let max_be = 4;
    let orders = |beacon_order, superframe_order| CsmaConfig {
        beacon_order,
        superframe_order,
        ..DEFAULT
    };
    let compressing = |compressed_header, ip_header| CsmaConfig {
        compressed_header,
        ip_header,
        ..DEFAULT
    };
    let min_be = CsmaConfig {
        min_be: 5,
        max_be,
        ..DEFAULT
    };
    let ack = CsmaConfig {
        ack: false,
        ..DEFAULT
    };
    let ns2_compat = CsmaConfig {
        ns2_compat: true,
        ..DEFAULT
    };
    for (config, said, key) in [
        (DEFAULT, &[][..], None),
        (min_be, &[], Some("max_be")),
        (orders(None, Some(3)), &[], Some("superframe_order")),
        (orders(Some(3), Some(4)), &[], Some("superframe_order")),
        (orders(Some(4), Some(4)), &[], None),
        (ack, &["retries"], Some("retries")),
        (ack, &["ack"], None),
        (compressing(Some(22), 20), &[], Some("compressed_header")),
        (compressing(Some(21), 20), &[], None),
        (compressing(Some(41), 40), &[], None),
        (ns2_compat, &["mtu"], Some("mtu")),
        (ns2_compat, &["retries"], None),
    ] {
        assert_eq!(refused(config, said), key, "{config:?}");
    }
}

#[test]
fn a_larger_header_leaves_less_for_fragments() {
    // 127 - 21 = 106 bytes: 96 first, and 96 then; 1064 = 96 + 10 * 96 + 8.
    let config = CsmaConfig {
        overhead: Bytes::new(21),
        ..DEFAULT
    };
    assert_eq!(config.fragmenter().count(1064), 12);
    assert_eq!(DEFAULT.fragmenter().count(1064), 11);
}

#[test]
fn a_larger_first_exponent_raises_the_largest() {
    let mut config = CsmaConfig {
        min_be: 7,
        ..DEFAULT
    };
    config.follow("min_be");
    assert_eq!((config.max_be, refused(config, &["min_be"])), (7, None));
}
