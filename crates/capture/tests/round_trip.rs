//! The parser reads back what was written: times to the nanosecond, lengths, comments.

use std::time::Duration;

use capture::Writer;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

#[test]
fn packets_are_read_back_as_written() {
    let mut writer = Writer::new(Vec::new(), "a path, seed 1").unwrap();
    let interface = writer.add_interface("slowstart0", "sender", 40).unwrap();
    assert_eq!(interface, 0);
    let packet: Vec<u8> = (0..60).collect();
    let at = 1_700_000_000_123_456_789;
    writer
        .packet(interface, at, 1500, &packet, Some("dropped: overflow"))
        .unwrap();
    writer
        .packet(interface, at + 1, 33, &packet[..33], None)
        .unwrap();
    assert!(writer.packet(1, at, 1, &packet, None).is_err());
    let bytes = writer.finish().unwrap();

    let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(block) => assert_eq!(block.linktype, DataLink::RAW),
            Block::EnhancedPacket(block) => packets.push(block.into_owned()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(packets.len(), 2);
    assert_eq!(packets[0].timestamp, Duration::from_nanos(at));
    assert_eq!(packets[1].timestamp, Duration::from_nanos(at + 1));
    assert_eq!(
        (packets[0].original_len, &packets[0].data[..]),
        (1500, &packet[..40])
    );
    assert_eq!(&packets[1].data[..], &packet[..33]);
    assert_eq!(
        packets[0].options,
        [EnhancedPacketOption::Comment("dropped: overflow".into())]
    );
}
