//! Start-ups written in Python: `cubic+my_module:MyStartup`.
//!
//! A class is one kind of start-up (`congestion::startup::ForeignKind`), which lives as long as the
//! process. Every connection has its own instance. `slowstart.startup` loads the class and defines
//! its interface. An exception in a class is recorded and stops the runs, and `run_batch` raises
//! it as one sentence.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use congestion::startup::ForeignKind;
use congestion::{Algorithm, BuildContext, Congestion, CongestionKind, PARTS, Step, Window};
use pyo3::prelude::*;
use units::{Bytes, Duration, Rate};

use crate::errors;
use crate::exit_reasons;

/// Largest window and rate that a class may return.
const LARGEST: u64 = 1 << 50;

/// A segment that was sent.
#[pyclass(frozen, get_all, module = "slowstart")]
pub struct Sent {
    now_ns: u64,
    size: u64,
    in_flight: u64,
    snd_nxt: u64,
    retransmission: bool,
    app_limited: bool,
}

/// An acknowledgment.
#[pyclass(frozen, get_all, module = "slowstart")]
pub struct Ack {
    now_ns: u64,
    delivered: u64,
    prior_in_flight: u64,
    in_flight: u64,
    snd_una: u64,
    snd_nxt: u64,
    bytes_sent: u64,
    latest_rtt_ns: Option<u64>,
    srtt_ns: u64,
    min_rtt_ns: u64,
    cwnd_limited: bool,
    app_limited: bool,
}

/// The window.
#[pyclass(frozen, get_all, name = "Window", module = "slowstart")]
pub struct View {
    cwnd: u64,
    ssthresh: Option<u64>,
    smss: u64,
}

impl Ack {
    fn new(ack: &congestion::Ack) -> Self {
        Self {
            now_ns: ack.now.as_nanos(),
            delivered: ack.delivered.get(),
            prior_in_flight: ack.prior_in_flight.get(),
            in_flight: ack.in_flight.get(),
            snd_una: ack.snd_una,
            snd_nxt: ack.snd_nxt,
            bytes_sent: ack.bytes_sent,
            latest_rtt_ns: ack.latest_rtt.map(Duration::as_nanos),
            srtt_ns: ack.srtt.as_nanos(),
            min_rtt_ns: ack.min_rtt.as_nanos(),
            cwnd_limited: ack.cwnd_limited,
            app_limited: ack.app_limited,
        }
    }
}

impl View {
    fn new(window: &Window) -> Self {
        Self {
            cwnd: window.cwnd.get(),
            ssthresh: (window.ssthresh != Bytes::MAX).then(|| window.ssthresh.get()),
            smss: window.smss.get(),
        }
    }
}

/// The optional methods that a class has.
#[derive(Clone, Copy, Debug, Default)]
struct Hooks {
    on_sent: bool,
    on_delivery: bool,
    on_congestion: bool,
    pacing_rate: bool,
}

/// A class and its instances.
struct Kind {
    name: String,
    class: Mutex<(Option<Py<PyAny>>, Hooks)>,
    instances: Mutex<BTreeMap<u64, Py<PyAny>>>,
    next: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All kinds used so far, one per name. The class of a kind may change.
static KINDS: Mutex<Vec<&'static Kind>> = Mutex::new(Vec::new());

impl Kind {
    /// The kind of this name, with its class set to `class`.
    fn of(name: &str, class: &Bound<'_, PyAny>) -> PyResult<&'static Self> {
        let has = |method| class.hasattr(method);
        let hooks = Hooks {
            on_sent: has("on_sent")?,
            on_delivery: has("on_delivery")?,
            on_congestion: has("on_congestion")?,
            pacing_rate: has("pacing_rate")?,
        };
        let mut kinds = locked(&KINDS);
        let known = kinds.iter().find(|kind| kind.name == name).copied();
        let kind = known.unwrap_or_else(|| {
            let kind: &'static Self = Box::leak(Box::new(Self {
                name: name.to_owned(),
                class: Mutex::new((None, hooks)),
                instances: Mutex::new(BTreeMap::new()),
                next: AtomicU64::new(1),
                has_failed: AtomicBool::new(false),
                failure: Mutex::new(None),
            }));
            kinds.push(kind);
            kind
        });
        *locked(&kind.class) = (Some(class.clone().unbind()), hooks);
        Ok(kind)
    }

    fn hooks(&self) -> Hooks {
        locked(&self.class).1
    }

    /// Records the first failure.
    fn fail(&self, py: Python<'_>, error: &PyErr) {
        let said = py
            .import("slowstart.startup")
            .and_then(|module| {
                module.call_method1("describe", (error.value(py), error.traceback(py)))
            })
            .and_then(|text| text.extract::<String>())
            .unwrap_or_else(|_| error.to_string());
        locked(&self.failure).get_or_insert(format!("{}: {said}", self.name));
        self.has_failed.store(true, Ordering::Release);
    }

    /// Calls `work` with an instance; returns `None` after a failure.
    fn with<T>(
        &self,
        number: u64,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if self.has_failed.load(Ordering::Acquire) {
            return None;
        }
        Python::attach(|py| {
            let instance = locked(&self.instances).get(&number)?.clone_ref(py);
            match work(instance.bind(py)) {
                Ok(value) => Some(value),
                Err(error) => {
                    self.fail(py, &error);
                    None
                }
            }
        })
    }

    fn keep(&self, instance: Py<PyAny>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        locked(&self.instances).insert(number, instance);
        number
    }
}

/// A number of bytes or bits per second.
fn amount(value: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    let wrong = || {
        let message = format!("{what} must be a whole number from 0 to 2^50");
        pyo3::exceptions::PyValueError::new_err(message)
    };
    let number: u64 = value.extract().map_err(|_| wrong())?;
    (number <= LARGEST).then_some(number).ok_or_else(wrong)
}

/// The result of a method: `None`, bytes of growth, or a step of `slowstart.startup`.
fn step(answer: &Bound<'_, PyAny>) -> PyResult<Option<Step>> {
    if answer.is_none() {
        return Ok(None);
    }
    let field = |name: &str| -> PyResult<Option<Bytes>> {
        let Some(value) = answer.getattr_opt(name)? else {
            return Ok(None);
        };
        amount(&value, name).map(|bytes| Some(Bytes::new(bytes)))
    };
    let Some(cwnd) = field("cwnd")? else {
        return amount(answer, "the window growth")
            .map(|growth| Some(Step::Grow(Bytes::new(growth))));
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

impl ForeignKind for Kind {
    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self, context: &BuildContext) -> u64 {
        Python::attach(|py| {
            let class = locked(&self.class)
                .0
                .as_ref()
                .map(|class| class.clone_ref(py));
            let arguments = (context.smss.get(), context.initial_window.get());
            match class.map(|class| class.call1(py, arguments)) {
                Some(Ok(instance)) => self.keep(instance),
                Some(Err(error)) => {
                    self.fail(py, &error);
                    0
                }
                None => 0,
            }
        })
    }

    fn copy(&self, number: u64) -> u64 {
        let copied = self.with(number, |instance| {
            let copy = instance.py().import("copy")?;
            copy.call_method1("deepcopy", (instance,))
                .map(Bound::unbind)
        });
        copied.map_or(0, |instance| self.keep(instance))
    }

    fn end(&self, number: u64) {
        let instance = locked(&self.instances).remove(&number);
        if let Some(instance) = instance {
            Python::attach(|_| drop(instance));
        }
    }

    fn on_sent(&self, number: u64, sent: &congestion::Sent) {
        if self.hooks().on_sent {
            let sent = Sent {
                now_ns: sent.now.as_nanos(),
                size: sent.size.get(),
                in_flight: sent.in_flight.get(),
                snd_nxt: sent.snd_nxt,
                retransmission: sent.retransmission,
                app_limited: sent.app_limited,
            };
            self.with(number, |instance| {
                instance.call_method1("on_sent", (sent,)).map(drop)
            });
        }
    }

    fn on_delivery(&self, number: u64, ack: &congestion::Ack, window: &Window) -> Option<Step> {
        if !self.hooks().on_delivery {
            return None;
        }
        self.with(number, |instance| {
            let arguments = (Ack::new(ack), View::new(window));
            step(&instance.call_method1("on_delivery", arguments)?)
        })?
    }

    fn on_ack(&self, number: u64, ack: &congestion::Ack, window: &Window) -> Step {
        let answer = self.with(number, |instance| {
            let arguments = (Ack::new(ack), View::new(window));
            step(&instance.call_method1("on_ack", arguments)?)
        });
        answer.flatten().unwrap_or(Step::Grow(Bytes::ZERO))
    }

    fn on_congestion(&self, number: u64, congestion: &Congestion) {
        if self.hooks().on_congestion {
            let kind = match congestion.kind {
                CongestionKind::Loss => "loss",
                CongestionKind::Ecn => "ecn",
                CongestionKind::Timeout => "timeout",
            };
            self.with(number, |instance| {
                let arguments = (kind, congestion.now.as_nanos());
                instance.call_method1("on_congestion", arguments).map(drop)
            });
        }
    }

    fn pacing_rate(&self, number: u64) -> Option<Rate> {
        if !self.hooks().pacing_rate {
            return None;
        }
        self.with(number, |instance| {
            let rate = instance.getattr("pacing_rate")?;
            if rate.is_none() {
                return Ok(None);
            }
            let bits = amount(&rate, "pacing_rate")?.max(1);
            Ok(Some(Rate::from_bits_per_sec(bits)))
        })?
    }
}

/// Whether `word` is a valid Python name.
fn is_word(word: &str) -> bool {
    let mut letters = word.chars();
    letters
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// The parts of `cubic+module:Class:option=value,...`.
struct Named<'a> {
    /// The algorithm with a built-in start-up in place of the class.
    plain: String,
    module: &'a str,
    class: &'a str,
    /// Empty, or `option=value,...`.
    options: &'a str,
}

fn foreign(text: &str) -> Option<Named<'_>> {
    let (avoidance, rest) = text.split_once('+')?;
    let end = rest.find('+').unwrap_or(rest.len());
    let (module, class) = rest[..end].split_once(':')?;
    let (class, options) = class.split_once(':').unwrap_or((class, ""));
    let is_known = PARTS.iter().any(|part| part.name == module);
    let is_foreign = !is_known && is_word(class) && module.split('.').all(is_word);
    is_foreign.then(|| Named {
        plain: format!("{avoidance}+standard{}", &rest[end..]),
        module,
        class,
        options,
    })
}

/// Parses an algorithm, whose start-up may be a Python class.
pub fn parse(py: Python<'_>, text: &str) -> PyResult<Algorithm> {
    let Some(named) = foreign(text) else {
        return Algorithm::parse(text).map_err(errors::input);
    };
    let Named {
        plain,
        module,
        class,
        options,
    } = named;
    let algorithm = Algorithm::parse(&plain).map_err(errors::input)?;
    let loader = py.import("slowstart.startup")?;
    let found = loader.call_method1("load", (module, class, options))?;
    let colon = if options.is_empty() { "" } else { ":" };
    let kind = Kind::of(&format!("{module}:{class}{colon}{options}"), &found)?;
    algorithm
        .with_foreign(kind)
        .ok_or_else(|| errors::input(format!("`{text}` does not take a start-up")))
}

/// Finds the algorithm of a file if its start-up is a Python class.
pub fn find(text: &str) -> Option<Result<Algorithm, String>> {
    foreign(text)?;
    Some(Python::attach(|py| {
        parse(py, text).map_err(|error| error.value(py).to_string())
    }))
}

/// Clears earlier failures.
pub fn forget_failures() {
    for kind in locked(&KINDS).iter() {
        *locked(&kind.failure) = None;
        kind.has_failed.store(false, Ordering::Release);
    }
}

/// Raises the failure of a class, if any.
pub fn failure() -> PyResult<()> {
    let failure = locked(&KINDS)
        .iter()
        .find_map(|kind| locked(&kind.failure).clone());
    failure.map_or(Ok(()), |said| Err(errors::run(said)))
}
