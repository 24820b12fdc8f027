//! A start-up with a neural network that forecasts the path's rate: R. Lübben, "Forecasting TCP's
//! Rate to Speed up Slow Start", 2022.
//!
//! The network's inputs come from the first twenty ACKs that measure a round-trip time: the RTT and
//! its rise, the spacing of the ACKs, the bytes acknowledged and in flight. A network of two hidden
//! layers computes the rate of the bottleneck from them. The window is then set once, to `part`
//! times the forecast rate times the smallest RTT. It is paced at the forecast rate for one round
//! trip, and is also the threshold. Before the twentieth ACK this is standard slow start.
//!
//! The network was trained on our own simulated starts (`python/training/forecast.py`). There are
//! two sets of weights. `trained=fixed` saw links of 0.3 to 500 Mbit/s with 4 to 800 ms and
//! drop-tail buffers, some with jitter. `trained=varying` also saw cells of LTE and 5G, HSDPA,
//! Wi-Fi (802.11n to ax, with neighbours and other stations), low orbit and geostationary satellites
//! with random parameters, 1,200 starts of each. The rate of such a network is its mean over the
//! first second. Inference uses whole numbers throughout, so that it gives the same result on every
//! machine:
//!
//! 1. Inputs are logarithms in 1/256 ([`log2`]); the rise of the RTT has a sign.
//! 2. `x = ((input - centre) * factor) >> 10`, in 2^-10, is clamped to 4 either way.
//! 3. Each layer computes `(weights * x + bias) >> 12`; hidden layers clamp negative values to
//!    zero.
//! 4. `middle + ((answer * spread) >> 10)` is the logarithm of the rate in kbit/s.
//!
//! # Error
//! The factor between forecast and rate, either way: median and for 90 % of the starts, and in
//! brackets the median of forecast/rate. The first table has starts that no network was trained
//! with. Its middle column is of networks trained without any start of the row's family: that is the
//! error on a kind of network that it has not seen.
//!
//! | held-out starts (300 each) | `trained=fixed` | trained without this family | `trained=varying` |
//! | --- | --- | --- | --- |
//! | constant rate | 1.02, 1.06 (1.01) | 3.44, 44 (0.55) | 1.11, 1.59 (0.99) |
//! | LTE and 5G | 19.1, 251 (14.6) | 2.13, 7.53 (1.04) | 1.93, 5.10 (1.01) |
//! | HSDPA | 1.40, 3.37 (0.91) | 1.99, 5.42 (1.51) | 1.19, 1.67 (1.04) |
//! | Wi-Fi | 6.36, 57.6 (4.63) | 2.51, 20.4 (1.87) | 1.66, 3.85 (1.17) |
//! | low orbit | 4.89, 20.6 (4.84) | 2.79, 9.04 (2.64) | 1.84, 3.87 (0.91) |
//! | geostationary | 2.97, 17.8 (0.64) | 5.12, 26.2 (0.20) | 2.67, 5.60 (0.94) |
//!
//! Neither network saw a preset (100 starts each):
//!
//! | preset | `trained=fixed` | `trained=varying` |
//! | --- | --- | --- |
//! | `wired` | 1.02, 1.02 (1.02) | 1.18, 1.18 (1.18) |
//! | `ethernet` | 1.10, 1.10 (0.91) | 3.85, 3.85 (0.26) |
//! | `dsl` | 1.38, 1.38 (1.38) | 1.06, 1.06 (1.06) |
//! | `docsis` | 1.12, 1.49 (0.94) | 2.30, 4.56 (0.44) |
//! | `lte` | 91.9, 414 (91.9) | 1.47, 3.92 (1.31) |
//! | `5g` | 31.8, 127 (31.8) | 2.56, 5.49 (0.39) |
//! | `hsdpa` | 1.48, 2.77 (0.82) | 1.17, 1.62 (1.05) |
//! | `wifi-strong` | 25.5, 46.7 (25.5) | 1.37, 2.35 (0.78) |
//! | `wifi-weak` | 33.4, 62.0 (33.4) | 1.49, 1.99 (1.06) |
//! | `wifi-testbed` | 3.63, 18.9 (3.63) | 2.95, 4.26 (2.95) |
//! | `leo` | 6.10, 13.1 (6.10) | 1.55, 2.29 (0.66) |
//! | `geo` | 2.99, 9.82 (0.61) | 3.91, 8.85 (0.26) |
//!
//! Twenty ACKs show the rate of a constant link to 2 %, and that of a varying network to a factor of
//! 1.2 to 2.7. Links whose ACKs come in bunches (grants, frames, aggregates) look far too fast to a
//! network that has never seen any: `fixed` overestimates LTE by a factor of 19 in the median.
//! Varying links in the training take that to 1.9, and to 2.1 where LTE and 5G themselves are left
//! out. They cost accuracy on constant links. A network knows nothing beyond the range of its
//! training: without geostationary satellites, whose RTTs no other varying family has, it is wrong
//! about them by 5.1 (`fixed`, with RTTs up to 800 ms: 3.0), and `ethernet` is faster than any link in
//! the training. Kachooei 2024, section 3.1, expects that such networks struggle with high
//! variability; this agrees.
//!
//! # Deviations
//! Our reconstruction: the abstract says only that a network forecasts the rate from what a TCP
//! stack observes early. Inputs, shape, training data and the use of the forecast are ours; the
//! author's code feeds a modified BBR. Nothing is claimed for cross traffic.

mod fixed;
mod varying;

use units::{Bytes, Instant, Rate};

use super::dispersion::product;
use crate::{Ack, Congestion, ExitReason, Needs, Pace, Startup, Step, Window};
use crate::{options, settings};

/// Number of ACKs that the forecast uses.
const ACKS: usize = 20;
/// The rise of the RTT is the difference of the means over this many ACKs at each end.
const ENDS: usize = 5;
/// Largest distance of an input from its centre, in 2^-10.
const FAR: i64 = 4_096;
const INPUTS: usize = 11;
/// Neurons in each of the two hidden layers.
const HIDDEN: usize = 32;

/// A trained network.
struct Weights {
    /// For each input: its mean, which is subtracted, and its scale factor in 2^-20.
    centre: [i64; INPUTS],
    factor: [i64; INPUTS],
    /// Mean and standard deviation of the output, in 1/256 of log2 of kbit/s.
    middle: i64,
    spread: i64,
    /// Weights of each neuron in 2^-12, biases in 2^-22.
    first: [[i16; INPUTS]; HIDDEN],
    first_bias: [i64; HIDDEN],
    second: [[i16; HIDDEN]; HIDDEN],
    second_bias: [i64; HIDDEN],
    last: [i16; HIDDEN],
    last_bias: i64,
}

/// The links on which the network was trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrainedOn {
    /// Links of constant rate.
    #[default]
    Fixed,
    /// These, cellular networks, Wi-Fi and satellites.
    Varying,
}

impl TrainedOn {
    const fn weights(self) -> &'static Weights {
        match self {
            Self::Fixed => &fixed::WEIGHTS,
            Self::Varying => &varying::WEIGHTS,
        }
    }
}

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

        /// The links on which the network was trained.
        trained: TrainedOn {
            name: "trained",
            default: "fixed",
            help: "fixed: the network was trained on links of constant rate; varying: also on \
                   cellular networks, Wi-Fi and satellites",
            read: |value| {
                let links = [("fixed", TrainedOn::Fixed), ("varying", TrainedOn::Varying)];
                options::choice(value, &links, "fixed or varying")
            },
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
    pub fn kbit_per_second(&self, trained: TrainedOn) -> u64 {
        let weights = trained.weights();
        let mut x = self.features();
        for ((x, centre), factor) in x.iter_mut().zip(weights.centre).zip(weights.factor) {
            *x = (((*x - centre) * factor) >> 10).clamp(-FAR, FAR);
        }
        let first = layer(&x, &weights.first, &weights.first_bias);
        let second = layer(&first, &weights.second, &weights.second_bias);
        let answer = neuron(&second, &weights.last, weights.last_bias);
        exp2(weights.middle + ((answer * weights.spread) >> 10))
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
                let bytes = observed
                    .kbit_per_second(self.config.trained)
                    .saturating_mul(125);
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
