//! A start-up with a neural network that forecasts the path's rate: R. Lübben, "Forecasting TCP's
//! Rate to Speed up Slow Start", 2022.
//!
//! The network's inputs come from the first twenty ACKs that measure a round-trip time: the RTT and
//! its rise, the spacing of the ACKs, the bytes acknowledged and in flight. A network of two hidden
//! layers computes the rate of the bottleneck from them. The window is then set once, to `part`
//! times the forecast rate times the smallest RTT. It is paced at the forecast rate for one round
//! trip, and is also the threshold. Before the twentieth ACK this is standard slow start.
//!
//! The network was trained on our own simulated starts (`python/training/forecast.py`, which draws
//! links of 0.3 to 500 Mbit/s with 4 to 800 ms and drop-tail buffers, some with jitter). Its
//! weights are in `weights.rs`. Inference uses whole numbers throughout, so that it gives the same
//! result on every machine:
//!
//! 1. Inputs are logarithms in 1/256 ([`log2`]); the rise of the RTT has a sign.
//! 2. `x = ((input - centre) * factor) >> 10`, in 2^-10, is clamped to 4 either way.
//! 3. Each layer computes `(weights * x + bias) >> 12`; hidden layers clamp negative values to
//!    zero.
//! 4. `middle + ((answer * spread) >> 10)` is the logarithm of the rate in kbit/s.
//!
//! # Deviations
//! Our reconstruction: the abstract says only that a network forecasts the rate from what a TCP
//! stack observes early. Inputs, shape, training data and the use of the forecast are ours; the
//! author's code feeds a modified BBR. Nothing is claimed for paths unlike the training data, such
//! as cellular links, Wi-Fi and cross traffic.

mod weights;

use units::{Bytes, Instant, Rate};

use self::weights::{
    CENTRE, FACTOR, FIRST, FIRST_BIAS, HIDDEN, INPUTS, LAST, LAST_BIAS, MIDDLE, SECOND,
    SECOND_BIAS, SPREAD,
};
use super::dispersion::product;
use crate::{Ack, Congestion, ExitReason, Needs, Pace, Startup, Step, Window};
use crate::{options, settings};

/// Number of ACKs that the forecast uses.
const ACKS: usize = 20;
/// The rise of the RTT is the difference of the means over this many ACKs at each end.
const ENDS: usize = 5;
/// Largest distance of an input from its centre, in 2^-10.
const FAR: i64 = 4_096;

settings! {
    /// Configuration of [`Forecast`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ForecastConfig {
        /// The window in thousandths of the forecast BDP.
        part: u32 {
            name: "part",
            default: "0.8",
            help: "window as a fraction of the forecast rate times the smallest RTT",
            read: |value| options::thousandths(value, 100, 2_000, "a number from 0.1 to 2"),
        }
    }
}

/// The logarithm to base 2 in 1/256, linear between powers of two; zero of zero and one.
#[must_use]
pub fn log2(value: u64) -> i64 {
    if value < 2 {
        return 0;
    }
    let power = value.ilog2();
    i64::from(power) * 256 + ((u128::from(value) << 8) >> power) as i64 - 256
}

/// The inverse of [`log2`], rounded down.
#[must_use]
pub fn exp2(log2: i64) -> u64 {
    let log2 = log2.clamp(0, 62 * 256) as u64;
    let power = log2 / 256;
    (u128::from(256 + log2 % 256) << power >> 8) as u64
}

/// What the first ACKs showed; times in microseconds since the first ACK.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// Round-trip times.
    pub rtts: [u64; ACKS],
    /// Arrival times.
    pub times: [u64; ACKS],
    /// Segments acknowledged.
    pub acked: u64,
    /// Segments in flight.
    pub in_flight: u64,
}

impl Observed {
    /// The inputs of the network.
    #[must_use]
    pub fn features(&self) -> [i64; INPUTS] {
        let mean_of = |values: &[u64]| values.iter().sum::<u64>() / (values.len() as u64).max(1);
        let squares = |values: &[u64]| {
            let sum: u128 = values.iter().map(|&v| u128::from(v) * u128::from(v)).sum();
            (sum / values.len().max(1) as u128) as u64
        };
        let deviation = |values: &[u64]| {
            let mean = mean_of(values);
            squares(values).saturating_sub(mean * mean).isqrt()
        };
        let mut gaps = [0; ACKS - 1];
        for (gap, pair) in gaps.iter_mut().zip(self.times.windows(2)) {
            *gap = pair[1].saturating_sub(pair[0]);
        }
        let gap_deviation = deviation(&gaps);
        let gap = mean_of(&gaps);
        gaps.sort_unstable();
        let least = self.rtts.iter().copied().min().unwrap_or_default();
        let begin = mean_of(&self.rtts[..ENDS]);
        let end = mean_of(&self.rtts[ACKS - ENDS..]);
        let rise = log2(begin.abs_diff(end) + 1);
        [
            log2(least),
            log2(mean_of(&self.rtts)),
            log2(deviation(&self.rtts) + 1),
            log2(self.rtts[ACKS - 1]),
            log2(gap + 1),
            log2(gap_deviation + 1),
            log2(gaps[0] + 1),
            log2(gaps[gaps.len() / 2] + 1),
            log2(self.acked.saturating_add(1)),
            log2(self.in_flight.saturating_add(1)),
            if end >= begin { rise } else { -rise },
        ]
    }

    /// The forecast in kbit/s.
    #[must_use]
    pub fn kbit_per_second(&self) -> u64 {
        let mut x = self.features();
        for ((x, centre), factor) in x.iter_mut().zip(CENTRE).zip(FACTOR) {
            *x = (((*x - centre) * factor) >> 10).clamp(-FAR, FAR);
        }
        let first = layer(&x, &FIRST, &FIRST_BIAS);
        let second = layer(&first, &SECOND, &SECOND_BIAS);
        let answer = neuron(&second, &LAST, LAST_BIAS);
        exp2(MIDDLE + ((answer * SPREAD) >> 10))
    }
}

/// One neuron; at 4 standard deviations of 11 inputs and weights of 16 bits, no sum leaves 64 bits.
fn neuron<const N: usize>(x: &[i64; N], weights: &[i16; N], bias: i64) -> i64 {
    let products = x.iter().zip(weights).map(|(x, &w)| x * i64::from(w));
    (products.sum::<i64>() + bias) >> 12
}

/// One hidden layer.
fn layer<const N: usize>(
    x: &[i64; N],
    weights: &[[i16; N]; HIDDEN],
    biases: &[i64; HIDDEN],
) -> [i64; HIDDEN] {
    let mut y = [0; HIDDEN];
    for ((y, weights), &bias) in y.iter_mut().zip(weights).zip(biases) {
        *y = neuron(x, weights, bias).max(0);
    }
    y
}

/// The state of the start-up.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one per connection, and nothing may be allocated"
)]
enum State {
    Watching {
        count: usize,
        first: Instant,
        rtts: [u32; ACKS],
        times: [u32; ACKS],
    },
    /// Paced at the forecast rate until then.
    Paced {
        rate: Rate,
        until: Instant,
    },
    Over,
}

/// Start-up with a forecast.
#[derive(Clone, Debug)]
pub struct Forecast {
    config: ForecastConfig,
    state: State,
    /// The forecast, once it is made.
    forecast: Option<Rate>,
}

impl Forecast {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: ForecastConfig, now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            state: State::Watching {
                count: 0,
                first: now,
                rtts: [0; ACKS],
                times: [0; ACKS],
            },
            forecast: None,
        }
    }

    /// The forecast, once it is made.
    #[must_use]
    pub const fn forecast(&self) -> Option<Rate> {
        self.forecast
    }

    /// Records an ACK; returns the observations once there are enough.
    fn watch(&mut self, ack: &Ack, smss: Bytes) -> Option<Observed> {
        let State::Watching {
            count,
            first,
            rtts,
            times,
        } = &mut self.state
        else {
            return None;
        };
        let rtt = ack.latest_rtt?;
        if *count == 0 {
            *first = ack.now;
        }
        let micros = |span: units::Duration| u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
        let (rtt_slot, time_slot) = (rtts.get_mut(*count)?, times.get_mut(*count)?);
        *rtt_slot = micros(rtt).max(1);
        *time_slot = micros(ack.now.saturating_since(*first));
        *count += 1;
        (*count == ACKS).then(|| Observed {
            rtts: rtts.map(u64::from),
            times: times.map(u64::from),
            acked: Bytes::new(ack.snd_una).segments(smss),
            in_flight: ack.in_flight.segments(smss),
        })
    }
}

impl Startup for Forecast {
    fn needs(&self) -> Needs {
        Needs::PACING
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let smss = window.smss.max(Bytes::new(1));
        match self.state {
            State::Watching { .. } => {
                let observed = self.watch(ack, smss)?;
                let bytes = observed.kbit_per_second().saturating_mul(125);
                let rate = Rate::from_bytes_per_sec(bytes);
                let part = u64::from(self.config.part);
                let taken = Bytes::new(bytes).mul_div(part, 1_000).get();
                self.forecast = Some(rate);
                self.state = State::Paced {
                    rate,
                    until: ack.now + ack.srtt,
                };
                Some(Step::Set(product(taken, ack.min_rtt, smss)))
            }
            State::Paced { rate, until } if ack.now >= until => {
                self.state = State::Over;
                Some(Step::Exit {
                    cwnd: window.cwnd,
                    ssthresh: window.cwnd,
                    reason: ExitReason::Bandwidth {
                        estimate: rate,
                        min_rtt: ack.min_rtt,
                    },
                })
            }
            _ => None,
        }
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        match self.state {
            State::Paced { .. } => Step::Grow(Bytes::ZERO),
            _ => Step::Grow(ack.delivered),
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.state = State::Over;
    }

    fn pacing(&self) -> Option<Pace> {
        match self.state {
            State::Paced { rate, .. } => Some(Pace::at(rate)),
            _ => None,
        }
    }
}
