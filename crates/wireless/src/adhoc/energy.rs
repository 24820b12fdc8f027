//! Energy of the radios, by state.
//!
//! A radio draws one power while it transmits, one while at least one frame is on the air that it
//! senses (whether it can decode the frame or not, and whoever it is for), one while it is idle and
//! one while it sleeps. A node that has used its energy neither transmits nor receives any more.
//! The defaults of [`EnergyConfig`] are those of the ns-2 manual (Fall and Varadhan, 2011, chapter
//! 19): a node that is idle draws nothing.
//!
//! ## Assumptions
//!
//! - Only the radio draws energy, and it changes its state in no time and at no cost.
//! - A frame whose transmission has begun leaves completely, also if the energy ends meanwhile.
//!
//! Energy is an integer: microwatts times nanoseconds are femtojoules. So the time of death does
//! not depend on how often an owner asks.

use tables::{Key, Kind, Rules, described};
use units::{Duration, Instant};

/// Femtojoules in a joule.
const FEMTO: f64 = 1e15;
/// Microwatts in a watt.
const MICRO: f64 = 1e6;
/// The highest power, in watts.
const MOST_POWER: f64 = 1000.0;
/// The highest initial energy, in joules: its femtojoules fit into 64 bits.
const MOST_ENERGY: f64 = 18_000.0;

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct EnergyConfig(
        "energy",
        "energy of the nodes",
        "Initial energy of each node, and what its radio draws in each state."
    ) {
        /// Initial energy.
        initial: f64 = 1000.0 => Key::of(Kind::Energy(0.0, MOST_ENERGY));
        /// Power while the radio transmits.
        transmit: f64 = 0.660 => Key::of(Kind::Power(0.0, MOST_POWER));
        /// Power while a frame arrives, for this node or not.
        receive: f64 = 0.395 => Key::of(Kind::Power(0.0, MOST_POWER));
        /// Power while the medium is idle.
        idle: f64 = 0.0 => Key::of(Kind::Power(0.0, MOST_POWER));
        /// Power while the radio sleeps.
        sleep: f64 = 0.0 => Key::of(Kind::Power(0.0, MOST_POWER));
    }
}

impl Rules for EnergyConfig {}

/// What the radio of a node has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyReport {
    /// Energy that is left, in joules.
    pub left: f64,
    /// Energy that was used, in joules.
    pub used: f64,
    /// When the energy ended.
    pub died: Option<Instant>,
    /// Time in which the radio transmitted.
    pub transmitting: Duration,
    /// Time in which frames arrived.
    pub receiving: Duration,
    /// Time in which the medium was idle.
    pub idle: Duration,
    /// Time in which the radio slept.
    pub sleeping: Duration,
}

/// Powers in microwatts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Powers {
    initial: u64,
    /// By state.
    powers: [u64; 4],
}

const TRANSMIT: usize = 0;
const RECEIVE: usize = 1;
const IDLE: usize = 2;
const SLEEP: usize = 3;

impl Powers {
    pub(super) fn new(config: &EnergyConfig) -> Self {
        let micro = |watts: f64| libm::round(watts * MICRO) as u64;
        Self {
            initial: libm::round(config.initial * FEMTO) as u64,
            powers: [
                micro(config.transmit),
                micro(config.receive),
                micro(config.idle),
                micro(config.sleep),
            ],
        }
    }
}

/// The energy of one node.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    powers: Powers,
    /// Femtojoules.
    left: u64,
    /// Accounted for up to here.
    at: Instant,
    /// [`Instant::MAX`] while it lives.
    died: Instant,
    spans: [Duration; 4],
}

impl Meter {
    pub(super) const fn new(powers: Powers) -> Self {
        Self {
            powers,
            left: powers.initial,
            at: Instant::ZERO,
            died: Instant::MAX,
            spans: [Duration::ZERO; 4],
        }
    }

    /// When the energy ended, as far as time is accounted for; [`Instant::MAX`] if it has not.
    pub(super) const fn died(&self) -> Instant {
        self.died
    }

    /// Accounts for the time up to `until`: the radio transmits until `transmit`, then receives
    /// until `receive`, then it is idle.
    pub(super) fn advance(&mut self, until: Instant, transmit: Instant, receive: Instant) {
        self.spend(TRANSMIT, until.min(transmit));
        self.spend(RECEIVE, until.min(receive));
        self.spend(IDLE, until);
    }

    /// Accounts for the time up to `until`, in which the radio slept.
    pub(super) fn sleep(&mut self, until: Instant) {
        self.spend(SLEEP, until);
    }

    fn spend(&mut self, state: usize, until: Instant) {
        if until <= self.at || self.died != Instant::MAX {
            return;
        }
        let span = until.saturating_since(self.at).as_nanos();
        let power = self.powers.powers[state];
        let lasts = if power == 0 {
            u64::MAX
        } else {
            self.left.div_ceil(power)
        };
        let spent = span.min(lasts);
        self.spans[state] += Duration::from_nanos(spent);
        self.left = self.left.saturating_sub(power.saturating_mul(spent));
        self.at += Duration::from_nanos(spent);
        if self.left == 0 && power > 0 {
            self.died = self.at;
        }
    }

    pub(super) fn report(&self) -> EnergyReport {
        EnergyReport {
            left: self.left as f64 / FEMTO,
            used: (self.powers.initial - self.left) as f64 / FEMTO,
            died: (self.died != Instant::MAX).then_some(self.died),
            transmitting: self.spans[TRANSMIT],
            receiving: self.spans[RECEIVE],
            idle: self.spans[IDLE],
            sleeping: self.spans[SLEEP],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(initial: f64, idle: f64, active: f64) -> Meter {
        Meter::new(Powers::new(&EnergyConfig {
            initial,
            transmit: active,
            receive: active,
            idle,
            sleep: idle,
        }))
    }

    #[test]
    fn a_node_lives_for_its_energy_over_its_power() {
        // 300 J last 7.5 s at 40 W and 4 s at 75 W, and 7,500 s at 40 mW.
        let far = Instant::from_secs(10_000);
        let mut idle = meter(300.0, 40.0, 75.0);
        idle.advance(far, Instant::ZERO, Instant::ZERO);
        assert_eq!(idle.died(), Instant::from_millis(7500));
        let mut active = meter(300.0, 40.0, 75.0);
        active.advance(far, Instant::from_secs(1), far);
        assert_eq!(active.died(), Instant::from_secs(4));
        assert_eq!(active.report().transmitting, Duration::from_secs(1));
        assert_eq!(active.report().receiving, Duration::from_secs(3));
        let mut milli = meter(300.0, 0.040, 0.075);
        milli.advance(far, Instant::ZERO, Instant::ZERO);
        assert_eq!(milli.died(), Instant::from_secs(7500));
    }

    #[test]
    fn the_time_of_death_does_not_depend_on_the_steps() {
        let far = Instant::from_secs(100);
        let mut once = meter(1.0, 0.123_457, 1.0);
        once.advance(far, Instant::ZERO, Instant::from_nanos(12_345));
        let mut often = meter(1.0, 0.123_457, 1.0);
        for step in 1..10_000 {
            let until = Instant::from_nanos(step * 10_000_019);
            often.advance(until, Instant::ZERO, Instant::from_nanos(12_345));
        }
        assert!(once.died() < far);
        assert_eq!(once.died(), often.died());
        assert_eq!(once.report(), often.report());
    }

    #[test]
    fn a_radio_without_power_lives_for_ever() {
        let mut free = meter(0.0, 0.0, 1.0);
        free.advance(Instant::from_secs(5), Instant::ZERO, Instant::ZERO);
        assert_eq!(free.report().died, None);
        assert_eq!(free.report().idle, Duration::from_secs(5));
    }
}
