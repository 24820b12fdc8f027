//! The hooks of the three roles: each calls the method of its name, where the class has one, and
//! reads what it returns.

use congestion::foreign::{AvoidanceKind, ControlKind, ControlState, FirstExit, StartupKind};
use congestion::{Ack as Acked, Congestion as Episode, Decision, ExitReason, Step, Window};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use units::{Bytes, Instant, Rate};

use super::Kind;
use super::signals::{Ack, Congestion, Sent, View, kind};
use crate::exit_reasons;

/// Largest window and rate that a class may return.
const LARGEST: u64 = 1 << 50;

/// A number of bytes or bits per second.
fn amount(value: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    let wrong = || {
        let message = format!("{what} must be a whole number from 0 to 2^50");
        PyValueError::new_err(message)
    };
    let number: u64 = value.extract().map_err(|_| wrong())?;
    (number <= LARGEST).then_some(number).ok_or_else(wrong)
}

fn bytes(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Bytes> {
    amount(value, what).map(Bytes::new)
}

/// An attribute that is not `None`.
fn attribute<'py>(instance: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = instance.getattr_opt(name)?;
    Ok(value.filter(|value| !value.is_none()))
}

/// The result of a method: `None`, bytes of growth, or a step of `slowstart.startup`.
fn step(answer: &Bound<'_, PyAny>) -> PyResult<Option<Step>> {
    if answer.is_none() {
        return Ok(None);
    }
    let Some(step) = change(answer)? else {
        let growth = bytes(answer, "the window growth")?;
        return Ok(Some(Step::Grow(growth)));
    };
    Ok(Some(step))
}

/// A `Set` or an `Exit`; `None` if it is neither.
fn change(answer: &Bound<'_, PyAny>) -> PyResult<Option<Step>> {
    let field = |name: &str| -> PyResult<Option<Bytes>> {
        let value = answer.getattr_opt(name)?;
        value.map(|value| bytes(&value, name)).transpose()
    };
    let Some(cwnd) = field("cwnd")? else {
        return Ok(None);
    };
    Ok(Some(match field("ssthresh")? {
        None => Step::Set(cwnd),
        Some(ssthresh) => Step::Exit {
            cwnd,
            ssthresh,
            reason: exit_reasons::of(answer)?,
        },
    }))
}

fn pacing_rate(instance: &Bound<'_, PyAny>) -> PyResult<Option<Rate>> {
    let Some(rate) = attribute(instance, "pacing_rate")? else {
        return Ok(None);
    };
    let bits = amount(&rate, "pacing_rate")?.max(1);
    Ok(Some(Rate::from_bits_per_sec(bits)))
}

impl StartupKind for Kind {
    fn on_sent(&self, number: u64, sent: &congestion::Sent) {
        self.call(number, "on_sent", || (Sent::new(sent),), |_, _| Ok(()));
    }

    fn on_delivery(&self, number: u64, ack: &Acked, window: &Window) -> Option<Step> {
        let arguments = || (Ack::new(ack), View::new(window));
        self.call(number, "on_delivery", arguments, |_, answer| step(answer))?
    }

    fn on_ack(&self, number: u64, ack: &Acked, window: &Window) -> Step {
        let arguments = || (Ack::new(ack), View::new(window));
        let answer = self.call(number, "on_ack", arguments, |_, answer| step(answer));
        answer.flatten().unwrap_or(Step::Grow(Bytes::ZERO))
    }

    fn on_congestion(&self, number: u64, congestion: &Episode) {
        let arguments = || (kind(congestion.kind), congestion.now.as_nanos());
        self.call(number, "on_congestion", arguments, |_, _| Ok(()));
    }

    fn pacing_rate(&self, number: u64) -> Option<Rate> {
        if !self.has("pacing_rate") {
            return None;
        }
        self.with(number, pacing_rate)?
    }
}

impl AvoidanceKind for Kind {
    fn on_delivery(&self, number: u64, ack: &Acked, window: &Window) {
        let arguments = || (Ack::without_rate(ack), View::new(window));
        self.call(number, "on_delivery", arguments, |_, _| Ok(()));
    }

    fn on_ack(&self, number: u64, acked: Bytes, ack: &Acked, window: &Window) -> Bytes {
        let arguments = || (acked.get(), Ack::without_rate(ack), View::new(window));
        let growth = self.call(number, "on_ack", arguments, |_, answer| {
            if answer.is_none() {
                return Ok(Bytes::ZERO);
            }
            bytes(answer, "the window growth that on_ack returns")
        });
        growth.unwrap_or(Bytes::ZERO)
    }

    fn decide(&self, number: u64, ack: &Acked, window: &Window) -> Option<Decision> {
        let arguments = || (Ack::without_rate(ack), View::new(window));
        self.call(number, "decide", arguments, |_, answer| {
            if answer.is_none() {
                return Ok(None);
            }
            let change = change(answer)?;
            let (cwnd, ssthresh, reason) = match change {
                Some(Step::Set(cwnd)) => (cwnd, window.ssthresh, ExitReason::Decision),
                Some(Step::Exit {
                    cwnd,
                    ssthresh,
                    reason,
                }) => (cwnd, ssthresh, reason),
                _ => {
                    let message = "decide must return a Set, an Exit or None";
                    return Err(PyTypeError::new_err(message));
                }
            };
            Ok(Some(Decision {
                cwnd,
                ssthresh,
                reason,
            }))
        })?
    }

    fn on_congestion(&self, number: u64, congestion: &Episode, window: &Window) -> Bytes {
        let arguments = || (Congestion::new(congestion), View::new(window));
        let threshold = self.call(number, "on_congestion", arguments, |_, answer| {
            bytes(answer, "the threshold that on_congestion returns")
        });
        threshold.unwrap_or(window.cwnd)
    }

    fn on_recovery_exit(&self, number: u64, window: &Window) -> Option<Bytes> {
        let arguments = || (View::new(window),);
        self.call(number, "on_recovery_exit", arguments, |_, answer| {
            if answer.is_none() {
                return Ok(None);
            }
            bytes(answer, "the window that on_recovery_exit returns").map(Some)
        })?
    }

    fn on_timeout(&self, number: u64) {
        self.call(number, "on_timeout", || (), |_, _| Ok(()));
    }

    fn on_undo(&self, number: u64) {
        self.call(number, "on_undo", || (), |_, _| Ok(()));
    }

    fn on_idle(&self, number: u64, now: Instant, idle_since: Instant) {
        let arguments = || (now.as_nanos(), idle_since.as_nanos());
        self.call(number, "on_idle", arguments, |_, _| Ok(()));
    }
}

/// The attributes of a congestion control.
fn state(instance: &Bound<'_, PyAny>) -> PyResult<ControlState> {
    let Some(cwnd) = attribute(instance, "cwnd")? else {
        return Err(PyAttributeError::new_err(
            "the attribute cwnd is missing: set it in __init__, in bytes",
        ));
    };
    let ssthresh = attribute(instance, "ssthresh")?;
    let exit = match instance.getattr_opt("slow_start_exit")? {
        None => FirstExit::Unstated,
        Some(exit) if exit.is_none() => FirstExit::Ahead,
        Some(exit) => match change(&exit)? {
            Some(Step::Exit { cwnd, reason, .. }) => FirstExit::Past { cwnd, reason },
            _ => {
                let message = "slow_start_exit must be an Exit or None";
                return Err(PyTypeError::new_err(message));
            }
        },
    };
    Ok(ControlState {
        cwnd: bytes(&cwnd, "cwnd")?,
        ssthresh: match ssthresh {
            Some(ssthresh) => bytes(&ssthresh, "ssthresh")?,
            None => Bytes::MAX,
        },
        pacing_rate: pacing_rate(instance)?,
        exit,
    })
}

impl ControlKind for Kind {
    fn state(&self, number: u64) -> Option<ControlState> {
        self.with(number, state)
    }

    fn steers_sending(&self) -> bool {
        self.has("on_sent")
    }

    fn on_sent(&self, number: u64, sent: &congestion::Sent) -> Option<ControlState> {
        self.call(number, "on_sent", || (Sent::new(sent),), |it, _| state(it))
    }

    fn on_delivery(&self, number: u64, ack: &Acked) -> Option<ControlState> {
        self.call(
            number,
            "on_delivery",
            || (Ack::new(ack),),
            |it, _| state(it),
        )
    }

    fn on_ack(&self, number: u64, ack: &Acked) -> Option<ControlState> {
        self.call(number, "on_ack", || (Ack::new(ack),), |it, _| state(it))
    }

    fn on_congestion(&self, number: u64, congestion: &Episode) -> Option<ControlState> {
        let arguments = || (Congestion::new(congestion),);
        self.call(number, "on_congestion", arguments, |it, _| state(it))
    }

    fn on_recovery_exit(&self, number: u64, now: Instant) -> Option<ControlState> {
        let arguments = || (now.as_nanos(),);
        self.call(number, "on_recovery_exit", arguments, |it, _| state(it))
    }

    fn on_undo(&self, number: u64, now: Instant) -> Option<ControlState> {
        let arguments = || (now.as_nanos(),);
        self.call(number, "on_undo", arguments, |it, _| state(it))
    }
}
