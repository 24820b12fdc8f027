//! Algorithms written in Python: start-ups (`cubic+my_module:MyStartup`), avoidances
//! (`my_module:MyAvoidance+standard`) and congestion controls (`my_module:MyControl`).
//!
//! A class in one of these roles is one kind (`congestion::foreign`), which lives as long as the
//! process. Every connection has its own instance. `slowstart.startup` loads the class and defines
//! the three interfaces. An exception in a class is recorded and stops the runs, and `run_batch`
//! raises it as one sentence.

mod hooks;
mod signals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use congestion::foreign::ForeignKind;
use congestion::{Algorithm, BuildContext, PARTS};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::errors;
pub use signals::{Ack, Congestion, Sent, View};

/// What a class implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Startup,
    Avoidance,
    Control,
}

impl Role {
    /// Its name in `slowstart.startup.load`.
    const fn word(self) -> &'static str {
        match self {
            Self::Startup => "start-up",
            Self::Avoidance => "avoidance",
            Self::Control => "congestion control",
        }
    }
}

/// Every method, and the attribute that is read only if it exists.
const HOOKS: [&str; 10] = [
    "on_sent",
    "on_delivery",
    "on_ack",
    "decide",
    "on_congestion",
    "on_recovery_exit",
    "on_timeout",
    "on_undo",
    "on_idle",
    PACING,
];
const PACING: &str = "pacing_rate";

/// A class, and which of [`HOOKS`] it has.
struct Class {
    class: Py<PyAny>,
    hooks: BTreeSet<&'static str>,
}

/// A class in a role, and its instances.
struct Kind {
    name: String,
    role: Role,
    class: Mutex<Class>,
    instances: Mutex<BTreeMap<u64, Py<PyAny>>>,
    next: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All kinds used so far, one per name and role. The class of a kind may change.
static KINDS: Mutex<Vec<&'static Kind>> = Mutex::new(Vec::new());

impl Kind {
    /// The kind of this name and role, with its class set to `class`.
    fn of(role: Role, name: &str, class: &Bound<'_, PyAny>) -> PyResult<&'static Self> {
        let mut hooks = BTreeSet::new();
        for hook in HOOKS {
            if class.hasattr(hook)? {
                hooks.insert(hook);
            }
        }
        let class = Class {
            class: class.clone().unbind(),
            hooks,
        };
        let mut kinds = locked(&KINDS);
        let mut known = kinds.iter();
        if let Some(kind) = known.find(|kind| kind.role == role && kind.name == name) {
            *locked(&kind.class) = class;
            return Ok(kind);
        }
        let kind: &'static Self = Box::leak(Box::new(Self {
            name: name.to_owned(),
            role,
            class: Mutex::new(class),
            instances: Mutex::new(BTreeMap::new()),
            next: AtomicU64::new(1),
            has_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }));
        kinds.push(kind);
        Ok(kind)
    }

    /// Whether the class has this hook.
    fn has(&self, hook: &str) -> bool {
        locked(&self.class).hooks.contains(hook)
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

    /// Calls a method of an instance, and `read` with the instance and what the method returned.
    /// Returns `None` if the class does not have the method, and after a failure.
    fn call<T, A: for<'py> PyCallArgs<'py>>(
        &self,
        number: u64,
        hook: &str,
        arguments: impl FnOnce() -> A,
        read: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if !self.has(hook) {
            return None;
        }
        self.with(number, |instance| {
            let answer = instance.call_method1(hook, arguments())?;
            read(instance, &answer)
        })
    }

    fn keep(&self, instance: Py<PyAny>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        locked(&self.instances).insert(number, instance);
        number
    }
}

impl ForeignKind for Kind {
    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self, context: &BuildContext) -> u64 {
        Python::attach(|py| {
            let class = locked(&self.class).class.clone_ref(py);
            let arguments = (context.smss.get(), context.initial_window.get());
            let made = class.call1(py, arguments).and_then(|instance| {
                // `__init__` may set it.
                if instance.bind(py).hasattr(PACING)? {
                    locked(&self.class).hooks.insert(PACING);
                }
                Ok(instance)
            });
            match made {
                Ok(instance) => self.keep(instance),
                Err(error) => {
                    self.fail(py, &error);
                    0
                }
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
}

/// Whether `word` is a valid Python name.
fn is_word(word: &str) -> bool {
    let mut letters = word.chars();
    letters
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// A class in an algorithm: `module:Class:option=value,...`.
struct Named<'a> {
    module: &'a str,
    class: &'a str,
    /// Empty, or `option=value,...`.
    options: &'a str,
}

impl<'a> Named<'a> {
    fn read(part: &'a str) -> Option<Self> {
        let (module, class) = part.split_once(':')?;
        let (class, options) = class.split_once(':').unwrap_or((class, ""));
        let is_known = PARTS.iter().any(|part| part.name == module);
        let is_foreign = !is_known && is_word(class) && module.split('.').all(is_word);
        is_foreign.then_some(Self {
            module,
            class,
            options,
        })
    }

    /// The kind in a role.
    fn kind(&self, py: Python<'_>, role: Role) -> PyResult<&'static Kind> {
        let Self {
            module,
            class,
            options,
        } = *self;
        let loader = py.import("slowstart.startup")?;
        let found = loader.call_method1("load", (module, class, options, role.word()))?;
        let colon = if options.is_empty() { "" } else { ":" };
        Kind::of(role, &format!("{module}:{class}{colon}{options}"), &found)
    }
}

/// The classes in an algorithm, and the algorithm with built-in parts in their place.
struct Classes<'a> {
    /// Without what stands alone.
    plain: Option<String>,
    /// In the place of an avoidance; a congestion control if nothing follows.
    first: Option<Named<'a>>,
    startup: Option<Named<'a>>,
}

/// The classes in an algorithm, if there are any.
fn classes(text: &str) -> Option<Classes<'_>> {
    let (first, rest) = match text.split_once('+') {
        Some((first, rest)) => (first, Some(rest)),
        None => (text, None),
    };
    let named = Named::read(first);
    let avoidance = if named.is_some() { "reno" } else { first };
    let (startup, plain) = match rest {
        Some(rest) => {
            let end = rest.find('+').unwrap_or(rest.len());
            let startup = Named::read(&rest[..end]);
            let rest = match startup {
                Some(_) => format!("standard{}", &rest[end..]),
                None => rest.to_owned(),
            };
            (startup, Some(format!("{avoidance}+{rest}")))
        }
        None => (None, None),
    };
    (named.is_some() || startup.is_some()).then_some(Classes {
        plain,
        first: named,
        startup,
    })
}

/// Parses an algorithm, which may have Python classes as parts or be one.
pub fn parse(py: Python<'_>, text: &str) -> PyResult<Algorithm> {
    let Some(classes) = classes(text) else {
        return Algorithm::parse(text).map_err(errors::input);
    };
    let too_long = || errors::input(format!("the name of `{text}` is too long"));
    let (Some(plain), first) = (&classes.plain, &classes.first) else {
        let control = classes.first.ok_or_else(too_long)?;
        let kind = control.kind(py, Role::Control)?;
        return Algorithm::foreign(kind).ok_or_else(too_long);
    };
    let mut algorithm = Algorithm::parse(plain).map_err(errors::input)?;
    if let Some(avoidance) = first {
        let kind = avoidance.kind(py, Role::Avoidance)?;
        algorithm = algorithm
            .with_foreign_avoidance(kind)
            .ok_or_else(too_long)?;
    }
    if let Some(startup) = &classes.startup {
        let kind = startup.kind(py, Role::Startup)?;
        algorithm = algorithm
            .with_foreign_startup(kind)
            .ok_or_else(|| errors::input(format!("`{text}` does not take a start-up")))?;
    }
    Ok(algorithm)
}

/// Finds the algorithm of a file if it has a Python class.
pub fn find(text: &str) -> Option<Result<Algorithm, String>> {
    classes(text)?;
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
