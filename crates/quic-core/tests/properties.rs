//! Random orders of events: what must hold whatever a stack reports.

use congestion::{PARTS, PartKind};
use proptest::prelude::*;
use quic_core::{Algorithm, Capabilities, CongestionKind, Core, Pacing, Setup};
use units::{Bytes, Duration, Instant};

/// A stack that offers everything.
const ALL: Capabilities = Capabilities {
    stack: "complete 1",
    pacing: Pacing::Departure,
    paces: true,
    send_times: true,
    lost_packets: true,
    handshake: true,
};
const DATAGRAM: u64 = 1_200;

#[derive(Clone, Copy, Debug)]
enum Event {
    Send { packets: u64, size: u64 },
    Acknowledge { packets: usize, from: usize },
    Lose { packets: usize },
    Congestion(CongestionKind),
    Spurious,
    Mtu(u64),
    Wait(u64),
    EndOfNothing,
}

fn event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![
        Just(CongestionKind::Loss),
        Just(CongestionKind::Ecn),
        Just(CongestionKind::Timeout),
    ];
    prop_oneof![
        8 => (1u64..40, 1u64..9_000).prop_map(|(packets, size)| Event::Send { packets, size }),
        12 => (1usize..30, 0usize..5)
            .prop_map(|(packets, from)| Event::Acknowledge { packets, from }),
        2 => (1usize..10).prop_map(|packets| Event::Lose { packets }),
        1 => kind.prop_map(Event::Congestion),
        1 => Just(Event::Spurious),
        1 => (1_200u64..9_000).prop_map(Event::Mtu),
        8 => (0u64..300_000_000).prop_map(Event::Wait),
        1 => Just(Event::EndOfNothing),
    ]
}

/// A stack, as right as it needs to be.
struct Stack {
    core: Core,
    numbers: bool,
    now: Instant,
    flight: Vec<(Instant, Bytes, u64)>,
    next: u64,
    datagram: Bytes,
}

impl Stack {
    fn new(algorithm: Algorithm, numbers: bool) -> Self {
        let setup = Setup::new(algorithm, Bytes::new(DATAGRAM));
        Self {
            core: Core::new(setup, &ALL).expect("the stack offers everything"),
            numbers,
            now: Instant::ZERO,
            flight: Vec::new(),
            next: 0,
            datagram: setup.datagram,
        }
    }

    fn in_flight(&self) -> Bytes {
        let sizes = self.flight.iter().map(|(_, size, _)| size.get());
        Bytes::new(sizes.sum())
    }

    fn lose(&mut self, packets: usize, kind: CongestionKind) {
        let packets = packets.min(self.flight.len());
        let lost: Vec<_> = self.flight.drain(..packets).collect();
        let Some((sent, ..)) = lost.last().copied() else {
            return;
        };
        for (_, size, number) in &lost {
            if self.numbers {
                self.core.on_lost(self.now, *size, *number);
            }
        }
        let size = Bytes::new(lost.iter().map(|(_, size, _)| size.get()).sum());
        self.core.on_congestion(self.now, sent, kind, size);
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Send { packets, size } => {
                for _ in 0..packets {
                    let number = self.numbers.then_some(self.next);
                    self.core.on_sent(self.now, Bytes::new(size), number);
                    self.flight.push((self.now, Bytes::new(size), self.next));
                    self.next += 1;
                }
            }
            Event::Acknowledge { packets, from } => {
                let from = from.min(self.flight.len());
                let to = (from + packets).min(self.flight.len());
                for (sent, size, number) in self.flight.drain(from..to) {
                    let number = self.numbers.then_some(number);
                    self.core.on_acked(self.now, sent, size, number);
                }
                let in_flight = self.in_flight();
                self.core
                    .on_batch_end(self.now, in_flight, packets % 3 == 0);
            }
            Event::Lose { packets } => self.lose(packets, CongestionKind::Loss),
            Event::Congestion(CongestionKind::Ecn) => {
                self.core
                    .on_congestion(self.now, self.now, CongestionKind::Ecn, Bytes::ZERO);
            }
            Event::Congestion(kind) => self.lose(usize::MAX, kind),
            Event::Spurious => self.core.on_spurious(),
            Event::Mtu(datagram) => {
                self.datagram = Bytes::new(datagram);
                self.core.on_mtu(self.datagram);
            }
            Event::Wait(nanos) => self.now += Duration::from_nanos(nanos),
            Event::EndOfNothing => self.core.on_batch_end(self.now, self.in_flight(), false),
        }
    }

    fn check(&self) {
        let window = self.core.window();
        assert!(window.cwnd >= self.datagram * 2, "{:?}", window.cwnd);
        assert_eq!(window.cwnd.get() % self.datagram.get(), 0);
        assert_eq!(window.smss, self.datagram);
        assert!(window.ssthresh >= self.datagram * 2);
        if let Some(exit) = self.core.slow_start_exit() {
            assert!(exit.at <= self.now);
        }
    }
}

/// Every start-up, avoidance and monolithic congestion control that needs no router and no copies.
fn algorithms() -> Vec<Algorithm> {
    let names = PARTS.iter().map(|part| match part.kind {
        PartKind::Startup => format!("cubic+{}", part.name),
        PartKind::Avoidance => format!("{}+standard", part.name),
        PartKind::Recovery => format!("cubic+hystart+{}", part.name),
        PartKind::Monolithic => part.name.to_owned(),
    });
    names
        .map(|name| name.parse().expect("a name of the registry"))
        .filter(|algorithm| ALL.check(algorithm).is_ok())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn whatever_a_stack_reports(
        events in prop::collection::vec(event(), 1..200),
        numbers in any::<bool>(),
    ) {
        for algorithm in algorithms() {
            let mut stack = Stack::new(algorithm, numbers);
            for event in &events {
                stack.apply(*event);
                stack.check();
            }
        }
    }
}

#[test]
fn most_of_the_registry_takes_part() {
    assert!(algorithms().len() >= 25, "{}", algorithms().len());
}
