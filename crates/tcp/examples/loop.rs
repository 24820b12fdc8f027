//! Sender and receiver over an ideal pipe, to measure the time per packet.
//!
//! `cargo run --release --example loop -- [PACKETS] [RATE Mbit/s] [RTT ms] [BUFFER packets]
//! [ALGORITHM] [LOSS per 100,000] [REORDERING per 100,000, by 5 ms]`
//!
//! The pipe is a link of fixed rate with a drop-tail queue and a delay line in each direction, in
//! two FIFO queues. Sender and receiver take nearly all of the time.

#![expect(clippy::print_stdout, reason = "the program prints its measurements")]

use std::collections::VecDeque;

use congestion::Algorithm;
use tcp::segment::{AckSegment, DataSegment};
use tcp::{Autotuning, Receiver, ReceiverConfig, Sender, SenderConfig};
use units::{Bytes, Duration, Instant, Rate, Transmission};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        arguments
            .next()
            .and_then(|argument| argument.parse().ok())
            .unwrap_or(default)
    };
    let packets = number(5_000_000);
    let rate = Rate::from_bits_per_sec(number(1_000) * 1_000_000);
    let rtt = Duration::from_millis(number(30));
    let buffer = number(2_500);
    let algorithm = arguments.next().unwrap_or_else(|| "cubic".into());
    let Ok(algorithm) = Algorithm::parse(&algorithm) else {
        println!("unknown algorithm: {algorithm}");
        return;
    };
    let mut chance = |default: u64| {
        arguments
            .next()
            .and_then(|argument| argument.parse().ok())
            .unwrap_or(default)
    };
    let (loss, reordering) = (chance(0), chance(0));
    let mut state = 1_u64;
    let mut happens = move |per_100_000: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % 100_000 < per_100_000
    };
    let mut sender = Sender::new(SenderConfig::linux(algorithm, 1448));
    let mut receiver = Receiver::new(ReceiverConfig {
        initial_window: Bytes::new(1 << 30),
        autotuning: Autotuning::Off,
        ..ReceiverConfig::linux(Bytes::new(1 << 30), 1448)
    });
    let mut now = Instant::ZERO;
    let mut data: VecDeque<(Instant, DataSegment)> = VecDeque::new();
    let mut late: VecDeque<(Instant, DataSegment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, AckSegment)> = VecDeque::new();
    let mut departures: VecDeque<Instant> = VecDeque::new();
    let mut link = Transmission::default();
    let mut free_at = Instant::ZERO;
    let mut drops = 0_u64;
    sender.open(now);
    sender.write(now, packets * 1448);
    sender.close();
    while !sender.is_complete() {
        while let Some(segment) = sender.poll_transmit(now) {
            while departures.front().is_some_and(|&at| at <= now) {
                departures.pop_front();
            }
            if departures.len() as u64 > buffer {
                drops += 1;
                continue;
            }
            if loss > 0 && happens(loss) {
                drops += 1;
                continue;
            }
            let begin = free_at.max(now);
            free_at = begin + link.time_for(Bytes::new(u64::from(segment.len) + 66), rate);
            departures.push_back(free_at);
            let at = free_at + rtt / 2;
            if reordering > 0 && happens(reordering) {
                late.push_back((at + Duration::from_millis(5), segment));
            } else {
                data.push_back((at, segment));
            }
        }
        while let Some(ack) = receiver.poll_ack(now) {
            acks.push_back((now + rtt / 2, ack));
        }
        let timer = |at: Option<Instant>| at.unwrap_or(Instant::MAX);
        let next_data = data.front().map_or(Instant::MAX, |&(at, _)| at);
        let next_ack = acks.front().map_or(Instant::MAX, |&(at, _)| at);
        let timers = timer(sender.poll_timeout()).min(timer(receiver.poll_timeout()));
        let next_late = late.front().map_or(Instant::MAX, |&(at, _)| at);
        now = next_data.min(next_ack).min(timers).min(next_late);
        if next_ack == now {
            if let Some((_, ack)) = acks.pop_front() {
                sender.handle_ack(now, &ack);
            }
        } else if next_data == now || next_late == now {
            let queue = if next_data == now {
                &mut data
            } else {
                &mut late
            };
            if let Some((_, segment)) = queue.pop_front() {
                receiver.handle_data(now, &segment, false);
            }
        } else {
            sender.handle_timeout(now);
            receiver.handle_timeout(now);
        }
    }
    println!("{drops} dropped, {now:?}, {:?}", sender.window());
    println!("{:#?}", sender.stats());
}
