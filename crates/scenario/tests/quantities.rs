//! Quantities are read exactly, refused clearly, and written so that they read back.

use proptest::prelude::*;
use scenario::{
    Buffer, format_buffer, format_duration, format_rate, format_size, parse_buffer, parse_duration,
    parse_probability, parse_rate, parse_size,
};
use units::{Bytes, Duration, Rate};

#[test]
fn rates() {
    for (text, bits) in [
        ("50 Mbit/s", 50_000_000),
        ("50Mbit/s", 50_000_000),
        ("50 Mbps", 50_000_000),
        ("50 Mb/s", 50_000_000),
        ("6.25 MB/s", 50_000_000),
        ("100 Gbit/s", 100_000_000_000),
        ("0.1 kbit/s", 100),
        ("12.032 Mbit/s", 12_032_000),
        (" 64 kbit/s ", 64_000),
        ("1 Tbit/s", 1_000_000_000_000),
    ] {
        assert_eq!(parse_rate(text).map(Rate::bits_per_sec), Ok(bits), "{text}");
    }
}

#[test]
fn decimals_are_exact_where_doubles_are_not() {
    // 0.1 + 0.2, and numbers beyond 53 bits.
    assert_eq!(parse_duration("0.3 s"), Ok(Duration::from_millis(300)));
    assert_eq!(
        parse_duration("123456.789012345 s"),
        Ok(Duration::from_nanos(123_456_789_012_345))
    );
    assert_eq!(
        parse_size("999.999999999999 TB"),
        Ok(Bytes::new(999_999_999_999_999))
    );
    assert_eq!(parse_probability("0.1 %"), Ok(0.001));
    assert_eq!(parse_probability("100 %"), Ok(1.0));
}

/// A computed number has the digits of a double; half a byte in a file is a mistake.
#[test]
fn computed_numbers_are_rounded() {
    let rate = |text: &str| parse_rate(text).map(Rate::bits_per_sec);
    assert_eq!(rate("10.100000000000001 Mbit/s"), Ok(10_100_000));
    assert_eq!(rate("3.3333333333333335 Mbit/s"), Ok(3_333_333));
    assert_eq!(
        parse_duration("0.30000000000000004 s"),
        Ok(Duration::from_millis(300))
    );
    assert_eq!(
        parse_duration("0.00012345678901234567 s"),
        Ok(Duration::from_nanos(123_457))
    );
    assert_eq!(
        parse_buffer("412.99999999999994 packets"),
        Ok(Buffer::Packets(413))
    );
    assert!(parse_size("1000.5 kB").is_ok() && parse_size("10.5 B").is_err());
}

#[test]
fn sizes_and_buffers() {
    assert_eq!(parse_size("20MB"), Ok(Bytes::new(20_000_000)));
    assert_eq!(parse_size("64 KiB"), Ok(Bytes::new(65_536)));
    assert_eq!(parse_size("0 bytes"), Ok(Bytes::ZERO));
    assert_eq!(parse_buffer("1 packets"), Ok(Buffer::Packets(1)));
    assert_eq!(parse_buffer("1 packet"), Ok(Buffer::Packets(1)));
    assert_eq!(
        parse_buffer("36 MB"),
        Ok(Buffer::Bytes(Bytes::new(36_000_000)))
    );
    assert_eq!(
        parse_buffer("1.5 bdp"),
        Ok(Buffer::Bdp {
            millionths: 1_500_000
        })
    );
    assert_eq!(parse_buffer("unlimited"), Ok(Buffer::Unlimited));
}

/// Each refusal as a user sees it.
#[test]
fn refusals() {
    let rate = |text| {
        parse_rate(text)
            .map_err(|error| error.to_string())
            .unwrap_err()
    };
    assert_eq!(
        rate("50 Mbits"),
        "\"50 Mbits\": unknown unit \"Mbits\"; did you mean \"Mbit/s\"?"
    );
    assert_eq!(
        rate("50 mbit/s"),
        "\"50 mbit/s\": unknown unit \"mbit/s\"; did you mean \"Mbit/s\"?"
    );
    assert_eq!(
        rate("50"),
        "\"50\": a rate needs a unit, such as \"50 Mbit/s\""
    );
    assert_eq!(rate("-1 Mbit/s"), "\"-1 Mbit/s\": it is negative");
    assert_eq!(rate("0 Mbit/s"), "\"0 Mbit/s\": a rate must be above zero");
    assert_eq!(rate("fast"), "\"fast\": it does not start with a number");
    assert_eq!(rate(""), "\"\": it does not start with a number");
    assert_eq!(
        rate("1.2.3 Mbit/s"),
        "\"1.2.3 Mbit/s\": \"1.2.3\" is not a number"
    );
    assert_eq!(
        rate("0.5 bit/s"),
        "\"0.5 bit/s\": it is finer than one bit per second"
    );
    assert_eq!(rate("2 Tbit/s"), "\"2 Tbit/s\": the limit is 1 Tbit/s");
    assert_eq!(
        rate("99999999999 Gbit/s"),
        "\"99999999999 Gbit/s\": the number is too large"
    );
    let rest = [
        (
            parse_duration("3 weeks").map(|_| ()),
            "\"3 weeks\": unknown unit \"weeks\"; known are ns, us, \u{b5}s, \u{3bc}s, ms, s, min, h",
        ),
        (
            parse_duration("3 %").map(|_| ()),
            "\"3 %\": unknown unit \"%\"; known are ns, us, \u{b5}s, \u{3bc}s, ms, s, min, h",
        ),
        (
            parse_duration("200 h").map(|_| ()),
            "\"200 h\": the limit is 604800 s",
        ),
        (
            parse_size("0.5 B").map(|_| ()),
            "\"0.5 B\": it is finer than one byte",
        ),
        (
            parse_size("20 mb").map(|_| ()),
            "\"20 mb\": unknown unit \"mb\"; did you mean \"MB\"?",
        ),
        (
            parse_buffer("0 packets").map(|_| ()),
            "\"0 packets\": a buffer must hold at least one packet",
        ),
        (
            parse_buffer("1.5 packets").map(|_| ()),
            "\"1.5 packets\": it is finer than one packet",
        ),
        (
            parse_buffer("413 paquets").map(|_| ()),
            "\"413 paquets\": unknown unit \"paquets\"; did you mean \"packets\"?",
        ),
        (
            parse_probability("0.1").map(|_| ()),
            "\"0.1\": a share needs a unit, such as \"0.1 %\"",
        ),
        (
            parse_probability("101 %").map(|_| ()),
            "\"101 %\": the limit is 100 %",
        ),
    ];
    for (result, expected) in rest {
        assert_eq!(
            result.map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in 1_u64..=1_000_000_000_000, small in 1_u64..=10_000) {
        for value in [value, small] {
            let rate = Rate::from_bits_per_sec(value);
            prop_assert_eq!(parse_rate(&format_rate(rate)), Ok(rate));
            let span = Duration::from_nanos(value);
            prop_assert_eq!(parse_duration(&format_duration(span)), Ok(span));
            let size = Bytes::new(value);
            prop_assert_eq!(parse_size(&format_size(size)), Ok(size));
        }
        for buffer in [
            Buffer::Packets(small),
            Buffer::Bytes(Bytes::new(value)),
            Buffer::Bdp { millionths: small },
            Buffer::Bdp { millionths: small * 1_000 },
            Buffer::Unlimited,
        ] {
            prop_assert_eq!(parse_buffer(&format_buffer(buffer)), Ok(buffer));
        }
    }

    /// A decimal number of megabits has exactly the value of its digits.
    #[test]
    fn digits_are_exact(whole in 0_u64..1_000_000, fraction in 0_u64..1_000_000) {
        prop_assume!(whole + fraction > 0);
        let text = format!("{whole}.{fraction:06} Mbit/s");
        prop_assert_eq!(parse_rate(&text).map(Rate::bits_per_sec), Ok(whole * 1_000_000 + fraction));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), near in "[0-9.]{0,30} ?[a-zA-Z%/]{0,8}") {
        for text in [text, near] {
            for message in [
                parse_rate(&text).err(),
                parse_duration(&text).err(),
                parse_size(&text).err(),
                parse_buffer(&text).err(),
                parse_probability(&text).err(),
            ].into_iter().flatten() {
                prop_assert!(!message.to_string().contains('\n'));
            }
        }
    }
}
