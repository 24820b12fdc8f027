//! Every packet is accounted for, in the report, in captures and in logs, and the channel equals
//! the simulator's.

#![allow(clippy::unwrap_used, reason = "a test panics if it cannot continue")]

mod common;

use std::fs;
use std::net::UdpSocket;
use std::process::Command;

use common::{Folder, connect, link, may_emulate, path, receive, send, skip};
use emulator::{CaptureTo, Direction, Emulation, EmulationOptions, LogTo, Report, Side};
use network::{Admission, DropReason, GilbertElliott, Link, LossConfig, Packet, Service, Streams};
use nix::sys::socket::{setsockopt, sockopt};
use pcap_file::pcapng::{Block, PcapNgReader};
use scenario::PathModel;
use units::{Duration, Instant, Rate};

fn sockets(emulation: &Emulation) -> [UdpSocket; 2] {
    let sockets = [Side::Sender, Side::Receiver].map(|side| {
        let address = emulation.address(side);
        emulation
            .within(side, move || UdpSocket::bind((address, 7000)).unwrap())
            .unwrap()
    });
    sockets[0]
        .connect(sockets[1].local_addr().unwrap())
        .unwrap();
    let longest = std::time::Duration::from_millis(300);
    sockets[1].set_read_timeout(Some(longest)).unwrap();
    // A drop in the receiving host would not be a loss of the path.
    setsockopt(&sockets[1], sockopt::RcvBufForce, &(4 << 20)).unwrap();
    sockets
}

/// Numbers of the datagrams that arrive until none does.
fn arrivals(socket: &UdpSocket) -> Vec<u32> {
    let mut bytes = [0; 2048];
    let mut numbers = Vec::new();
    while let Ok(length) = socket.recv(&mut bytes) {
        assert!(length >= 4);
        numbers.push(u32::from_le_bytes(bytes[..4].try_into().unwrap()));
    }
    numbers
}

#[test]
fn an_overflow_is_counted_packet_by_packet() {
    let Some(_guard) = may_emulate() else { return };
    let folder = Folder::new("overflow");
    let (sender, receiver, log) = (
        folder.0.join("sender.pcapng"),
        folder.0.join("receiver.pcapng"),
        folder.0.join("link.log"),
    );
    let capture = |side: Side, file: &std::path::Path| CaptureTo {
        at: side.into(),
        file: file.to_owned(),
        snap_length: 64,
    };
    let emulation = Emulation::start(
        &path(2, Duration::from_millis(10), 20),
        1,
        EmulationOptions {
            trace: true,
            deliveries: true,
            captures: vec![
                capture(Side::Sender, &sender),
                capture(Side::Receiver, &receiver),
            ],
            logs: vec![LogTo {
                direction: Direction::Forward,
                file: log.clone(),
            }],
            ..EmulationOptions::default()
        },
    )
    .unwrap();
    let [near, far] = sockets(&emulation);
    // 100 datagrams of 1000 bytes of IP at once: each takes 4 ms to serve, 20 wait, one is served.
    let mut datagram = [0; 972];
    for number in 0..100_u32 {
        datagram[..4].copy_from_slice(&number.to_le_bytes());
        near.send(&datagram).unwrap();
    }
    let arrived = arrivals(&far);
    let snapshot = emulation.snapshot();
    let report = emulation.finish().unwrap();
    let counters = report.forward.counters;
    assert!(counters.packets_out >= 21, "{counters:?}");
    assert_eq!(counters.packets_in, 100);
    assert_eq!(arrived.len() as u64, counters.packets_out);
    assert!(arrived.is_sorted(), "nothing is reordered");
    assert_eq!(report.forward.held, 0);
    assert_eq!(counters.drops_overflow, 100 - counters.packets_out);
    assert_eq!(report.drops.len() as u64, counters.dropped());
    assert!(
        report
            .drops
            .iter()
            .all(|drop| drop.reason == DropReason::Overflow && drop.payload == 972)
    );
    assert_eq!(report.forward.result.queue_max_packets, 20);
    assert_eq!(snapshot.forward.drops, counters.dropped());
    assert_eq!(report.flows.len(), 1);
    let facts = report.flows[0];
    assert_eq!(
        (facts.data_packets, facts.data_drops),
        (100, counters.dropped())
    );
    assert_eq!(facts.first_data_drop, Some(report.drops[0].at));
    assert_eq!(report.deliveries.len(), arrived.len());
    // Due 4 ms apart, to the nanosecond, whatever the clock did.
    let dues: Vec<_> = report
        .deliveries
        .iter()
        .map(|delivery| delivery.due)
        .collect();
    assert!(
        dues[..21]
            .windows(2)
            .all(|pair| pair[1] - pair[0] == Duration::from_millis(4))
    );
    assert_eq!(report.forward.trace.as_ref().unwrap().time_s.len(), 100);
    let [(since, until)] = report.forward.busy_periods[..] else {
        panic!("{:?}", report.forward.busy_periods)
    };
    assert_eq!(
        until - since,
        Duration::from_millis(4) * counters.packets_out
    );
    assert_eq!(
        report
            .forward
            .capacity_reached(since + Duration::from_millis(5), Duration::from_millis(10)),
        Some(since + Duration::from_millis(5))
    );

    // The captures have all packets that were sent, and all that arrived; comments note the drops.
    let (sent, comments) = packets_of(&sender);
    assert_eq!((sent, comments), (100, counters.dropped()));
    assert_eq!(packets_of(&receiver), (counters.packets_out, 0));

    // The log.
    let log = fs::read_to_string(&log).unwrap();
    let count = |kind: &str| {
        let kinds = log.lines().filter(|line| !line.starts_with('#'));
        kinds
            .filter(|line| line.split(' ').nth(1) == Some(kind))
            .count() as u64
    };
    assert_eq!(count("+"), 100);
    assert_eq!(count("-"), counters.packets_out);
    assert_eq!(count("d"), counters.dropped());
    // 2 Mbit/s: a full packet each 6 ms, until the end of the run, however late the log is written.
    assert_eq!(count("#"), report.end.as_millis() / 6);
    assert!(log.contains(" - 1004 "), "{log}");
}

/// Packets in a capture, and how many of them have a comment.
fn packets_of(file: &std::path::Path) -> (u64, u64) {
    let mut reader = PcapNgReader::new(fs::File::open(file).unwrap()).unwrap();
    let (mut packets, mut comments, mut last) = (0, 0, std::time::Duration::ZERO);
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            packets += 1;
            comments += u64::from(!packet.options.is_empty());
            assert_eq!((packet.original_len, packet.data.len()), (1000, 64));
            assert!(
                packet.timestamp >= last,
                "times in a capture do not decrease"
            );
            last = packet.timestamp;
        }
    }
    (packets, comments)
}

#[test]
fn the_channel_is_that_of_a_simulation_with_the_same_seed() {
    let Some(_guard) = may_emulate() else { return };
    let mut path = path(100, Duration::from_millis(4), 1000);
    path.forward.loss = LossConfig::GilbertElliott(GilbertElliott {
        p: 0.05,
        r: 0.3,
        bad_loss: 0.8,
        good_loss: 0.01,
    });
    // The losses of the link, from the simulator's streams.
    let mut simulated = Link::new(&path.forward, Streams::new(7).stream("path.forward"));
    let expected: Vec<u32> = (0..400)
        .filter(|number| {
            let packet = Packet {
                size: 100,
                flow: 0,
                ecn: network::Ecn::NotEct,
                payload: (),
            };
            let now = Instant::from_millis(u64::from(*number));
            simulated.push(now, packet) == Admission::Accepted
        })
        .collect();
    assert!((200..390).contains(&expected.len()));
    // The probes before the run draw none of its random numbers.
    let emulation = Emulation::start(&path, 7, EmulationOptions::default()).unwrap();
    let [near, far] = sockets(&emulation);
    for number in 0..400_u32 {
        near.send(&number.to_le_bytes()).unwrap();
    }
    assert_eq!(arrivals(&far), expected);
    let report = emulation.finish().unwrap();
    assert_eq!(
        report.forward.counters.drops_loss,
        400 - expected.len() as u64
    );
}

/// Every decision of the channel equals, to the nanosecond, that of the simulator's link for
/// packets that arrive at the same instants: loss, the rate of each slot, the delay of each slot.
#[test]
fn a_channel_that_changes_is_the_same_under_both_clocks() {
    let Some(_guard) = may_emulate() else { return };
    // Each one waits for seconds in silence, and none is judged by the wall clock.
    std::thread::scope(|scope| {
        for name in ["leo", "geo", "lte", "wifi-weak"] {
            scope.spawn(move || is_the_same_under_both_clocks(name));
        }
    });
}

fn is_the_same_under_both_clocks(name: &str) {
    let mut path = PathModel::resolve(name).unwrap();
    path.forward.loss = LossConfig::Bernoulli(0.02);
    let options = EmulationOptions {
        deliveries: true,
        ..EmulationOptions::default()
    };
    let emulation = Emulation::start(&path, 11, options).unwrap();
    let [near, far] = sockets(&emulation);
    far.connect(near.local_addr().unwrap()).unwrap();
    // Satellite delays are long, and grants come late.
    let longest = std::time::Duration::from_secs(2);
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(longest)).unwrap();
    }
    // Bursts that queue, over some tens of slots.
    for _ in 0..60 {
        for _ in 0..20 {
            near.send(&[1; 1400]).unwrap();
            far.send(&[2; 900]).unwrap();
        }
        let _ = nix::poll::poll(&mut [], 4_u16);
    }
    arrivals(&far);
    arrivals(&near);
    let report = emulation.finish().unwrap();
    // In order of arrival; in each direction that is also the order of departure.
    let mut seen: Vec<(Instant, Direction, u32, Result<Instant, DropReason>)> = report
        .deliveries
        .iter()
        .map(|kept| {
            let direction = report.flows[kept.flow as usize].direction;
            let came = kept.due - kept.latency;
            (came, direction, kept.payload, Ok(kept.due))
        })
        .collect();
    let dropped = report.drops.iter();
    seen.extend(dropped.map(|drop| (drop.at, drop.direction, drop.payload, Err(drop.reason))));
    seen.sort_by_key(|(at, ..)| *at);
    assert_eq!(seen.len(), 2400, "{name}");
    let rngs = ["path.forward", "path.reverse"].map(|name| Streams::new(11).stream(name));
    let mut links = Link::pair([&path.forward, &path.reverse], rngs);
    for (number, &(at, direction, payload, outcome)) in seen.iter().enumerate() {
        let packet = Packet {
            size: payload + 28,
            flow: 0,
            ecn: network::Ecn::NotEct,
            payload: outcome.unwrap_or(Instant::MAX),
        };
        let link = &mut links[usize::from(direction == Direction::Reverse)];
        let simulated = match link.push(at, packet) {
            Admission::Accepted => Ok(()),
            Admission::Dropped(reason) => Err(reason),
        };
        assert_eq!(simulated, outcome.map(drop), "{name}: packet {number}");
    }
    for (link, direction) in links.iter_mut().zip(Direction::BOTH) {
        while let Some((due, packet)) = link.pop(Instant::MAX) {
            assert_eq!(due, packet.payload, "{name}, {direction:?}");
        }
    }
}

/// The kernel's count of segments that the sender's namespace retransmitted.
fn kernel_retransmissions(emulation: &Emulation) -> u64 {
    let table = emulation
        .within(Side::Sender, || {
            fs::read_to_string("/proc/thread-self/net/snmp").unwrap()
        })
        .unwrap();
    let mut rows = table.lines().filter_map(|row| row.strip_prefix("Tcp: "));
    let (names, values) = (rows.next().unwrap(), rows.next().unwrap());
    let at = names
        .split(' ')
        .position(|name| name == "RetransSegs")
        .unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}

fn lossy_transfer(capture: &std::path::Path) -> (u64, Report) {
    let rate = Service::Fixed(Rate::from_bits_per_sec(40_000_000));
    let delay = Duration::from_millis(10);
    let mut forward = link("forward", rate, 60, delay);
    forward.loss = LossConfig::Bernoulli(0.01);
    let back = link("reverse", Service::Unlimited, 1, delay);
    let path = PathModel::from_links("lossy", "", forward, back);
    let emulation = Emulation::start(
        &path,
        3,
        EmulationOptions {
            captures: vec![CaptureTo {
                at: Side::Sender.into(),
                file: capture.to_owned(),
                snap_length: 65_535,
            }],
            ..EmulationOptions::default()
        },
    )
    .unwrap();
    let (sender, receiver) = connect(&emulation, 4 << 20);
    let sending = send(sender, 3_000_000);
    assert_eq!(receive(receiver, |_| true), 3_000_000);
    sending.join().unwrap();
    let again = kernel_retransmissions(&emulation);
    (again, emulation.finish().unwrap())
}

#[test]
fn retransmissions_are_counted_as_the_kernel_and_tshark_count_them() {
    let Some(_guard) = may_emulate() else { return };
    let folder = Folder::new("retransmissions");
    let file = folder.0.join("sender.pcapng");
    let (kernel, report) = lossy_transfer(&file);
    let data = report
        .flows
        .iter()
        .find(|flow| flow.data_packets > 0)
        .unwrap();
    assert_eq!(data.direction, Direction::Forward);
    assert!(data.data_drops > 10);
    assert_eq!(data.retransmitted, kernel);
    assert_eq!(data.data_drops, report.forward.counters.dropped());
    let Ok(output) = Command::new("tshark")
        .args([
            "-r",
            &file.to_string_lossy(),
            "-T",
            "fields",
            "-e",
            "frame.number",
            "-Y",
        ])
        .arg("tcp.analysis.retransmission || tcp.analysis.out_of_order")
        .output()
    else {
        return skip("tshark is not installed");
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tshark = String::from_utf8_lossy(&output.stdout).lines().count() as u64;
    assert_eq!(
        tshark, kernel,
        "tshark and the kernel count the same retransmissions"
    );
}

#[test]
fn a_packet_without_transport_header_is_carried_too() {
    let Some(_guard) = may_emulate() else { return };
    let emulation = Emulation::start(
        &path(100, Duration::from_millis(2), 10),
        1,
        EmulationOptions::default(),
    )
    .unwrap();
    // A fragmented datagram: its second part has no transport header.
    let [near, far] = sockets(&emulation);
    near.send(&[9; 2000]).unwrap();
    let mut bytes = [0; 3000];
    assert_eq!(far.recv(&mut bytes).unwrap(), 2000);
    let report = emulation.finish().unwrap();
    assert_eq!(report.forward.counters.packets_out, 2);
}

/// The kernel cuts a burst of UDP (UDP_SEGMENT) into the datagrams that it consists of, as it cuts
/// those of TCP: the path carries packets of its MTU, and drops them one by one.
#[test]
fn a_burst_with_segmentation_offload_arrives_as_datagrams() {
    let Some(_guard) = may_emulate() else { return };
    const DATAGRAM: usize = 1472;
    const BURST: u32 = 20;
    let link = path(10, Duration::from_millis(2), 10);
    let emulation = Emulation::start(&link, 1, EmulationOptions::default()).unwrap();
    let [near, far] = sockets(&emulation);
    let burst: Vec<u8> = (0..BURST)
        .flat_map(|number| {
            let mut datagram = number.to_le_bytes().to_vec();
            datagram.resize(DATAGRAM, 0);
            datagram
        })
        .collect();
    setsockopt(&near, sockopt::UdpGsoSegment, &(DATAGRAM as i32)).unwrap();
    match near.send(&burst) {
        Ok(sent) => assert_eq!(sent, burst.len()),
        // Before Linux 6.11, a device without checksum offload takes no such bursts.
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EIO as i32) => {
            return skip("this kernel has no UDP_SEGMENT over a TUN device");
        }
        Err(error) => panic!("{error}"),
    }
    let arrived = arrivals(&far);
    let report = emulation.finish().unwrap();
    let [flow] = &report.flows[..] else {
        panic!("{:?}", report.flows);
    };
    assert_eq!(flow.data_packets, u64::from(BURST));
    assert_eq!(flow.data_bytes, burst.len() as u64);
    // One packet is being sent, ten wait, and the others are dropped.
    assert_eq!(arrived, (0..11).collect::<Vec<u32>>());
    assert_eq!(flow.data_drops, u64::from(BURST) - 11);
}
