//! Captures of each format and link type are read with the same packets, cut files up to the cut.

use std::io::Read;

use capture::{Decoder, Ending, Format, Frame, LinkType, PacketSummary, Segment, Writer, packets};
use etherparse::{
    IpFragOffset, Ipv6Extensions, Ipv6FragmentHeader, Ipv6RawExtHeader, PacketBuilder,
    TcpOptionElement,
};

/// A bare IP packet with a TCP segment of `payload` bytes and all options.
fn ip_packet(payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5001, 443, 1000, 500)
        .ack(77)
        .options(&[
            TcpOptionElement::Timestamp(11, 22),
            TcpOptionElement::SelectiveAcknowledgement((5, 6), [Some((8, 9)), None, None]),
        ])
        .expect("options fit");
    let mut bytes = Vec::new();
    builder
        .write(&mut bytes, &vec![0; payload])
        .expect("memory");
    bytes
}

/// Time, link type, length and bytes of a packet.
type Seen = (i64, LinkType, u32, Vec<u8>);

fn read(bytes: &[u8]) -> (PacketSummary, Vec<Seen>) {
    let mut found = Vec::new();
    let summary = packets::read(bytes, |frame| {
        found.push((frame.at, frame.link, frame.length, frame.bytes.to_vec()));
    });
    (summary.expect("a capture"), found)
}

fn word(value: u32, big: bool) -> [u8; 4] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

/// A pcap file of packets at 7.000000005 s (in its own resolution), 8 s, ...
fn pcap(big: bool, nanos: bool, link: u32, packets: &[&[u8]]) -> Vec<u8> {
    let magic = if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = word(magic, big).to_vec();
    // Version 2.4: two numbers of 16 bits.
    let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    file.extend(version);
    for value in [0, 0, 65_535, link] {
        file.extend(word(value, big));
    }
    for (index, packet) in packets.iter().enumerate() {
        let seconds = 7 + index as u32;
        let length = packet.len() as u32;
        for value in [seconds, 5, length, length] {
            file.extend(word(value, big));
        }
        file.extend_from_slice(packet);
    }
    file
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_resolutions() {
    let packet = ip_packet(100);
    for big in [false, true] {
        for (nanos, fraction) in [(false, 5000), (true, 5)] {
            // The upper half of the link type is the length of a frame check sequence.
            let file = pcap(big, nanos, 101 | 0x1400_0000, &[&packet, &packet]);
            let (summary, found) = read(&file);
            assert_eq!((summary.format, summary.packets), (Format::Pcap, 2));
            assert_eq!(summary.ending, Ending::Whole);
            assert_eq!(
                found[0].0,
                7_000_000_000 + fraction,
                "big {big}, nanos {nanos}"
            );
            assert_eq!(found[1].0, 8_000_000_000 + fraction);
            assert_eq!(found[1].1, LinkType(101));
            assert_eq!(found[1].3, packet);
        }
    }
}

#[test]
fn a_cut_file_is_read_up_to_the_cut() {
    let packet = ip_packet(100);
    let file = pcap(false, true, 101, &[&packet, &packet, &packet]);
    let record = 16 + packet.len();
    for cut in 0..file.len() {
        if cut < 4 {
            assert!(packets::read(&file[..cut], |_| {}).is_err() || cut > 0);
            continue;
        }
        let (summary, found) = read(&file[..cut]);
        let whole = cut.saturating_sub(24) / record;
        assert_eq!(found.len(), whole, "cut at {cut}");
        let is_between = cut >= 24 && (cut - 24) % record == 0;
        assert_eq!(summary.ending == Ending::Whole, is_between, "cut at {cut}");
    }
}

/// A block of pcapng.
fn block(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let length = word(12 + body.len() as u32, big);
    [&word(kind, big)[..], &length, body, &length].concat()
}

fn option(code: u16, value: &[u8], big: bool) -> Vec<u8> {
    let short = |value: u16| {
        if big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let mut option = [short(code), short(value.len() as u16)].concat();
    option.extend_from_slice(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn section(big: bool) -> Vec<u8> {
    let version = if big { [0, 1, 0, 0] } else { [1, 0, 0, 0] };
    let body = [&word(0x1a2b_3c4d, big)[..], &version, &[0xff; 8]].concat();
    block(0x0a0d_0d0a, &body, big)
}

/// An interface with times in units of `10^-resolution` seconds (bit 7: of `2^-n`).
fn interface(link: u16, resolution: u8, offset: i64, big: bool) -> Vec<u8> {
    let head = if big {
        [link.to_be_bytes(), [0, 0]].concat()
    } else {
        [link.to_le_bytes(), [0, 0]].concat()
    };
    let offset = if big {
        offset.to_be_bytes()
    } else {
        offset.to_le_bytes()
    };
    let options = [
        option(9, &[resolution], big),
        option(14, &offset, big),
        option(0, &[], big),
    ]
    .concat();
    block(
        1,
        &[head, word(262_144, big).to_vec(), options].concat(),
        big,
    )
}

fn enhanced(interface: u32, units: u64, dropped: u64, packet: &[u8], big: bool) -> Vec<u8> {
    let mut body = Vec::new();
    let length = packet.len() as u32;
    for value in [
        interface,
        (units >> 32) as u32,
        units as u32,
        length,
        length,
    ] {
        body.extend(word(value, big));
    }
    body.extend_from_slice(packet);
    body.resize(body.len().next_multiple_of(4), 0);
    let dropped = if big {
        dropped.to_be_bytes()
    } else {
        dropped.to_le_bytes()
    };
    body.extend(option(4, &dropped, big));
    body.extend(option(0, &[], big));
    block(6, &body, big)
}

#[test]
fn pcapng_has_sections_of_either_byte_order_with_their_own_interfaces() {
    let packet = ip_packet(3);
    let mut file = Vec::new();
    for big in [true, false] {
        file.extend(section(big));
        // Microseconds, nanoseconds from 100 s on, and 2^-10 seconds.
        file.extend(interface(1, 6, 0, big));
        file.extend(interface(101, 9, 100, big));
        file.extend(interface(101, 0x80 | 10, 0, big));
        file.extend(enhanced(0, 3_000_001, 2, &packet, big));
        file.extend(enhanced(1, 5_000_000_007, 0, &packet, big));
        file.extend(enhanced(2, 1536, 0, &packet, big));
        // An interface that is not described, and a packet without a time.
        file.extend(enhanced(9, 1, 0, &packet, big));
        file.extend(block(3, &[&word(4, big)[..], &[1, 2, 3, 4]].concat(), big));
        // Statistics: seven packets dropped by the interface.
        let seven = if big {
            7_u64.to_be_bytes()
        } else {
            7_u64.to_le_bytes()
        };
        let options = [option(5, &seven, big), option(0, &[], big)].concat();
        let head = [word(1, big), word(0, big), word(0, big)].concat();
        file.extend(block(5, &[head, options].concat(), big));
    }
    let (summary, found) = read(&file);
    assert_eq!((summary.sections, summary.interfaces), (2, 6));
    assert_eq!((summary.packets, summary.skipped), (6, 4));
    assert_eq!(summary.dropped, 2 * (2 + 7));
    assert_eq!(summary.ending, Ending::Whole);
    for half in found.chunks(3) {
        assert_eq!(half[0].0, 3_000_001_000);
        assert_eq!(half[1].0, 105_000_000_007);
        assert_eq!(half[2].0, 1_500_000_000);
        assert_eq!((half[0].1, half[1].1), (LinkType(1), LinkType(101)));
    }
}

#[test]
fn a_damaged_block_ends_the_file_and_says_where() {
    let packet = ip_packet(3);
    let mut file = [section(false), interface(101, 9, 0, false)].concat();
    file.extend(enhanced(0, 1, 0, &packet, false));
    let at = file.len() as u64;
    // The two lengths of a block differ.
    let mut broken = enhanced(0, 2, 0, &packet, false);
    let last = broken.len() - 4;
    broken[last] ^= 1;
    file.extend(broken);
    let (summary, found) = read(&file);
    assert_eq!((found.len(), summary.ending), (1, Ending::Damaged(at)));
}

#[test]
fn a_block_of_gigabytes_asks_for_no_memory() {
    let mut file = pcap(false, true, 101, &[]);
    for value in [7, 5, 0x7fff_ffff, 0x7fff_ffff] {
        file.extend(word(value, false));
    }
    file.extend(std::iter::repeat_n(0, 40 << 20));
    let (summary, found) = read(&file);
    assert_eq!((found.len(), summary.ending), (0, Ending::Damaged(24)));
}

/// 500 packets of 1,000 bytes, by zstd 1.5.4: the first 260,000 bytes of the file with `-1 --check`, an
/// empty frame of eight bytes to pass over, and the rest with `-19 --no-check`.
const ZSTANDARD: &[u8] = include_bytes!("data/frames.pcap.zst");

#[test]
fn each_frame_of_zstandard_is_read_and_damage_is_never_a_whole_file() {
    let packets_of = |bytes: Vec<u8>| {
        let input = capture::from_reader(std::io::Cursor::new(bytes)).ok()?;
        let mut found = Vec::new();
        let summary = packets::read(input.reader, |frame| found.push(frame.bytes.to_vec())).ok()?;
        Some((found, summary.ending))
    };
    let (found, ending) = packets_of(ZSTANDARD.to_vec()).expect("a capture");
    assert_eq!(ending, Ending::Whole);
    assert_eq!(found, vec![ip_packet(1000); 500]);
    for length in 4..ZSTANDARD.len() {
        if let Some((found, ending)) = packets_of(ZSTANDARD[..length].to_vec()) {
            assert!(found.len() < 500, "{length} bytes");
            assert_ne!(ending, Ending::Whole, "{length} bytes");
        }
    }
    // The first frame of 720 bytes ends with a checksum, so no change behind its header
    // changes a packet unseen. (Of some bytes, the decoder needs not all bits.)
    for at in 9..720 {
        let mut changed = ZSTANDARD.to_vec();
        changed[at] ^= 0x10;
        if let Some((found, Ending::Whole)) = packets_of(changed) {
            assert_eq!(found, vec![ip_packet(1000); 500], "byte {at}");
        }
    }
}

#[test]
fn compressed_captures_are_recognized_and_a_cut_stream_is_reported() {
    let packet = ip_packet(1000);
    let file = pcap(true, false, 101, &vec![&packet[..]; 500]);
    let mut gzip = Vec::new();
    flate2::read::GzEncoder::new(&file[..], flate2::Compression::fast())
        .read_to_end(&mut gzip)
        .expect("memory");
    for compressed in [gzip, ZSTANDARD.to_vec()] {
        let whole = compressed.clone();
        let input = capture::from_reader(std::io::Cursor::new(whole)).expect("a capture");
        assert_eq!(input.kind, capture::Kind::Packets);
        let mut count = 0;
        let summary = packets::read(input.reader, |_| count += 1).expect("a capture");
        assert_eq!((count, summary.ending), (500, Ending::Whole));
        let half = compressed[..compressed.len() / 2].to_vec();
        if let Ok(input) = capture::from_reader(std::io::Cursor::new(half)) {
            let summary = packets::read(input.reader, |_| {}).expect("a capture");
            assert!(
                matches!(summary.ending, Ending::Cut(_)),
                "{:?}",
                summary.ending
            );
        }
    }
}

fn decode(link: u16, bytes: &[u8], length: usize) -> (Option<Segment>, Decoder) {
    let mut decoder = Decoder::default();
    let segment = decoder.decode(&Frame {
        at: 9,
        interface: 2,
        link: LinkType(link),
        length: length as u32,
        bytes,
    });
    (segment, decoder)
}

#[test]
fn every_link_type_has_the_same_segment() {
    let ip = ip_packet(100);
    let ethernet = |tags: &[[u8; 4]]| {
        let mut bytes = vec![2; 12];
        tags.iter().for_each(|tag| bytes.extend(tag));
        bytes.extend([8, 0]);
        bytes.extend_from_slice(&ip);
        bytes
    };
    let with = |head: &[u8]| [head, &ip].concat();
    let mut cooked = [0; 16];
    (cooked[2], cooked[3], cooked[5], cooked[14]) = (0, 1, 6, 8);
    let mut cooked_2 = [0; 20];
    (cooked_2[0], cooked_2[9]) = (8, 1);
    let packets = [
        (1, ethernet(&[])),
        (1, ethernet(&[[0x81, 0, 0, 5]])),
        (1, ethernet(&[[0x88, 0xa8, 0, 5], [0x81, 0, 0, 7]])),
        (101, ip.clone()),
        (228, ip.clone()),
        (0, with(&[2, 0, 0, 0])),
        (108, with(&[0, 0, 0, 2])),
        (113, with(&cooked)),
        (276, with(&cooked_2)),
    ];
    let expected = decode(101, &ip, ip.len()).0.expect("a segment");
    assert_eq!(
        (expected.payload, expected.seq, expected.ack),
        (100, 1000, 77)
    );
    assert_eq!(expected.options.timestamps, Some((11, 22)));
    assert_eq!(
        expected.options.sack,
        [Some((5, 6)), Some((8, 9)), None, None]
    );
    assert_eq!(expected.source.to_string(), "10.0.0.1:5001");
    for (link, bytes) in packets {
        let (segment, _) = decode(link, &bytes, bytes.len());
        assert_eq!(segment, Some(expected), "link type {link}");
        // Only the headers are captured, as with a snap length.
        let cut = bytes.len() - 100;
        let (segment, _) = decode(link, &bytes[..cut], bytes.len());
        assert_eq!(segment, Some(expected), "link type {link}, cut");
        // Any other cut must not panic.
        for cut in 0..cut {
            decode(link, &bytes[..cut], bytes.len());
        }
    }
    let (segment, decoder) = decode(127, &ip, ip.len());
    assert_eq!(
        (segment, decoder.unsupported),
        (None, (1, Some(LinkType(127))))
    );
}

#[test]
fn options_that_are_not_captured_count_as_absent() {
    let ip = ip_packet(100);
    // IPv4 and the fixed part of TCP, and eight of the bytes of options.
    let (segment, _) = decode(101, &ip[..48], ip.len());
    let segment = segment.expect("a segment");
    assert_eq!((segment.payload, segment.options.timestamps), (100, None));
    let (segment, decoder) = decode(101, &ip[..39], ip.len());
    assert_eq!((segment, decoder.unreadable), (None, 1));
}

#[test]
fn segmentation_offload_leaves_the_length_to_the_link() {
    let mut ip = ip_packet(100);
    (ip[2], ip[3]) = (0, 0);
    let (segment, _) = decode(101, &ip[..80], 30_000);
    let header = 20 + 20 + 10 + 2 + 18 + 2;
    let payload = segment.expect("a segment").payload;
    assert!(
        payload > 30_000 - header && payload < 30_000 - 40,
        "{payload}"
    );
}

#[test]
fn extension_headers_of_ipv6_are_passed_and_later_fragments_are_not_segments() {
    let build = |offset: u16| {
        let fragment = Ipv6FragmentHeader::new(
            etherparse::ip_number::TCP,
            IpFragOffset::try_new(offset).expect("small"),
            true,
            7,
        );
        let options =
            Ipv6RawExtHeader::new_raw(etherparse::ip_number::IPV6_FRAGMENTATION_HEADER, &[0; 6])
                .expect("a header");
        let extensions = Ipv6Extensions {
            hop_by_hop_options: Some(options),
            fragment: Some(fragment),
            ..Ipv6Extensions::default()
        };
        let header = etherparse::Ipv6Header {
            traffic_class: 3,
            source: [1; 16],
            destination: [2; 16],
            hop_limit: 9,
            ..etherparse::Ipv6Header::default()
        };
        let mut bytes = Vec::new();
        PacketBuilder::ip(etherparse::IpHeaders::Ipv6(header, extensions))
            .tcp(1, 2, 3, 4)
            .write(&mut bytes, &[0; 50])
            .expect("memory");
        bytes
    };
    let first = build(0);
    let (segment, _) = decode(229, &first, first.len());
    // `PacketBuilder` leaves out what the first fragment does not have.
    if let Some(segment) = segment {
        assert_eq!(
            (segment.payload, segment.is_marked, segment.seq),
            (50, true, 3)
        );
    } else {
        panic!("no segment in the first fragment");
    }
    let later = build(100);
    let (segment, decoder) = decode(229, &later, later.len());
    assert_eq!((segment, decoder.other), (None, 1));
}

#[test]
fn the_writer_and_the_reader_agree() {
    let packet = ip_packet(20);
    let mut writer = Writer::new(Vec::new(), "both ends").expect("memory");
    for name in ["sender", "receiver"] {
        writer.add_interface(name, name, 96).expect("memory");
    }
    for at in 0..10_u32 {
        let time = 1_700_000_000_000_000_000 + u64::from(at);
        writer
            .packet(at % 2, time, packet.len() as u32, &packet, None)
            .expect("memory");
    }
    let (summary, found) = read(&writer.finish().expect("memory"));
    assert_eq!((summary.packets, summary.interfaces), (10, 2));
    assert_eq!(found[9].0, 1_700_000_000_000_000_009);
    assert_eq!(found[9].3, packet[..packet.len().min(96)]);
}

/// A hop-by-hop header that announces more than the packet has: etherparse's iterator would read
/// behind the packet.
#[test]
fn a_truncated_extension_header_is_no_segment() {
    let whole: Vec<u8> = std::iter::repeat_n(0, 40)
        .enumerate()
        .map(|(place, zero)| match place {
            0 => 0x60,
            5 => 32,
            7 => 1,
            _ => zero,
        })
        .collect();
    for length in 0..24 {
        let mut packet = whole.clone();
        packet.extend([6, 0x59, 0, 0, 1, 1].iter().cycle().take(length));
        let mut decoder = Decoder::default();
        let frame = Frame {
            interface: 0,
            link: LinkType(101),
            at: 0,
            length: packet.len() as u32,
            bytes: &packet,
        };
        assert!(decoder.decode(&frame).is_none());
        assert_eq!(decoder.other, 1, "{length}");
    }
}
