//! Serialization at a constant rate without divisions, against a division for each packet.

use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Pace, Rate, Transmission};

/// What happens to a transmission.
#[derive(Clone, Debug)]
enum Step {
    /// So many packets of the first size.
    Packets(u64, u32),
    /// The same with [`Pace::skip`].
    Train(u64, u32),
    Reset,
    Rate(u64),
}

/// A transmission that divides for each packet.
#[derive(Default)]
struct Divided {
    remainder: u128,
}

impl Divided {
    fn time_for(&mut self, bytes: u64, rate: u64) -> Duration {
        let scaled = u128::from(bytes) * 8_000_000_000 + self.remainder;
        self.remainder = scaled % u128::from(rate);
        let nanos = u64::try_from(scaled / u128::from(rate));
        Duration::from_nanos(nanos.unwrap_or(u64::MAX))
    }
}

fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![
        1_u64..20,
        1_000_000_u64..10_000_000_000,
        any::<u64>().prop_map(|rate| rate.max(1)),
        (0_u32..64).prop_map(|bits| 1 << bits),
    ]
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(1514_u64),
        Just(66),
        0_u64..3000,
        0_u64..10_000_000_000,
        any::<u64>(),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let count = || prop_oneof![1_u32..4, 1_u32..100];
    let step = prop_oneof![
        4 => (sizes(), count()).prop_map(|(bytes, count)| Step::Packets(bytes, count)),
        4 => (sizes(), count()).prop_map(|(bytes, count)| Step::Train(bytes, count)),
        1 => Just(Step::Reset),
        1 => rates().prop_map(Step::Rate),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn additions_take_as_long_as_divisions(first in rates(), steps in steps()) {
        let mut rate = first;
        let (mut quick, mut divided) = (Transmission::default(), Divided::default());
        for step in steps {
            match step {
                Step::Rate(next) => rate = next,
                Step::Reset => {
                    quick.reset();
                    divided = Divided::default();
                }
                Step::Packets(bytes, count) => for _ in 0..count {
                    let time = quick.time_for(Bytes::new(bytes), Rate::from_bits_per_sec(rate));
                    prop_assert_eq!(time, divided.time_for(bytes, rate));
                },
                Step::Train(bytes, count) => {
                    let sum = |sum, _| sum + divided.time_for(bytes, rate);
                    let (bytes, rate) = (Bytes::new(bytes), Rate::from_bits_per_sec(rate));
                    if let Some(pace) = quick.pace(bytes, rate) {
                        let mut stepped = *pace;
                        let time = pace.skip(count);
                        prop_assert_eq!(time, (0..count).fold(Duration::ZERO, sum));
                        let steps = (0..count).fold(Duration::ZERO, |sum, _| sum + stepped.step());
                        prop_assert_eq!(time, steps);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// Packets whose service has started, counted together, are those counted one by one.
    #[test]
    fn packets_that_have_started_pass_as_one_by_one(
        rate in rates().prop_map(|rate| (rate >> 2).max(1)),
        bytes in prop_oneof![Just(1514_u64), 0_u64..3000, 0_u64..1 << 31],
        carried in any::<u64>(),
        from in 0_u64..1 << 40,
        calls in prop::collection::vec((0_u64..1 << 34, 0_u64..3_000), 1..8),
    ) {
        let pace = Pace::of(Bytes::new(bytes), Rate::from_bits_per_sec(rate));
        let (mut together, mut single) = (pace.after(carried % rate), pace.after(carried % rate));
        let (mut start, mut now) = (Instant::from_nanos(from), from);
        for (span, most) in calls {
            now += span;
            let until = Instant::from_nanos(now);
            let passed = together.pass_started(start, until, most);
            let (mut count, mut sum) = (0, 0);
            while count < most && start <= until {
                count += 1;
                sum += u128::from(start.as_nanos());
                start += single.step();
            }
            prop_assert_eq!(passed, (count, sum, start));
            prop_assert_eq!(together.step(), single.step());
            (together, single) = (single, together);
        }
    }
}

#[test]
fn packets_at_an_instant_take_no_time() {
    let mut pace = Pace::INSTANT;
    assert_eq!(Instant::ZERO + pace.step() + pace.skip(1000), Instant::ZERO);
}
