//! What every link has: rate, trace, buffer, loss, jitter, aqm.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use network::access::WifiConfig;
use network::{
    Discipline, JitterConfig, JitterKeys, JitterShape, LinkConfig, QueueConfig, QueueLimit,
    Service, VaryingConfig,
};
use tables::{Field, Value};
use units::{Bytes, Duration, Rate};

use crate::access;
use crate::described;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::limits::{MAX_STEPS, MIN_LAP};
use crate::model::{DEFAULT_OVERHEAD, FULL_PACKET};
use crate::quantity::{self, Buffer};
use crate::tables::{DELAY, DELAY_STEP, STEP, TRACE};
use crate::trace_file;

/// Default length of a line in a trace of delays (LeoReplayer's format).
pub(crate) const DELAY_SLOT: Duration = Duration::from_millis(10);
/// The queue limit of the bottleneck where the file gives none.
pub(crate) const DEFAULT_BUFFER: Buffer = Buffer::Bdp {
    millionths: 1_000_000,
};

/// Propagation in one direction.
#[derive(Clone, Debug)]
pub(crate) enum Delay {
    /// Always the same.
    Constant(Duration),
    /// Half of a round trip that includes what access-network models add while idle.
    Half(Duration),
    /// A trace or steps: the smallest value, and the additions to it.
    Recorded(Duration, JitterConfig),
}

impl Delay {
    /// Delays, each of which holds for a slot.
    pub(crate) fn recorded(delays: &[Duration], slot: Duration) -> Self {
        let (least, additions) = JitterConfig::recorded(delays, slot);
        Self::Recorded(least, additions)
    }

    /// The smallest delay.
    pub(crate) const fn least(&self) -> Duration {
        match self {
            Self::Constant(delay) | Self::Half(delay) | Self::Recorded(delay, _) => *delay,
        }
    }
}

/// What the layers of a file say about one direction: each layer replaces the keys that it has.
#[derive(Clone, Debug)]
pub(crate) struct LinkSpec {
    pub(crate) service: Option<Service>,
    /// Whether `service` is a trace, which counts bytes of IP only, as Mahimahi does.
    pub(crate) is_recorded: bool,
    pub(crate) delay: Option<Delay>,
    pub(crate) buffer: Option<Buffer>,
    pub(crate) aqm: Option<Discipline>,
    pub(crate) ecn: Option<bool>,
    pub(crate) overhead: Option<u32>,
    /// The keys that are independent of each other ([`LinkConfig::KEYS`]).
    pub(crate) config: LinkConfig,
}

impl Default for LinkSpec {
    fn default() -> Self {
        Self {
            service: None,
            is_recorded: false,
            delay: None,
            buffer: None,
            aqm: None,
            ecn: None,
            overhead: None,
            config: LinkConfig::DEFAULT,
        }
    }
}

impl LinkSpec {
    /// The spec of a single layer.
    pub(crate) fn of(table: &Table<'_>, folder: &Path) -> Result<Self, Error> {
        let mut spec = Self::default();
        spec.lay(table, folder)?;
        Ok(spec)
    }

    /// Adds a layer: `[path]`, `[path.forward]`, `[path.reverse]`, a `[[link]]`, its reverse, or a
    /// router. Names of files are relative to `folder`.
    pub(crate) fn lay(&mut self, table: &Table<'_>, folder: &Path) -> Result<(), Error> {
        table.either("rate", "trace")?;
        self.is_recorded = table.has("trace") || self.is_recorded && !table.has("rate");
        if let (Some(item), true) = (table.get("overhead"), self.is_recorded) {
            return Err(item.refuse("a trace counts bytes of IP only: leave overhead out"));
        }
        if let Some(item) = table.get("rate") {
            self.service = Some(service(&item)?);
        }
        if let Some(item) = table.get("trace") {
            self.service = Some(trace(&item, folder)?);
        }
        if let Some(item) = table.get("buffer") {
            self.buffer = Some(item.parse(quantity::buffer)?);
        }
        let is_own = |key: &str| LinkConfig::KEYS.iter().any(|own| own.name == key);
        described::fill_only(table, &mut self.config, is_own)?;
        if let Some(item) = table.get("jitter") {
            self.config.jitter = jitter(&item)?;
        }
        self.aqm = described::choose(table, "aqm")?.or(self.aqm);
        self.ecn = table.read("ecn")?.or(self.ecn);
        self.lay_shared(table, folder)
    }

    /// Adds the keys of `[path]` that hold for both directions.
    pub(crate) fn lay_shared(&mut self, table: &Table<'_>, folder: &Path) -> Result<(), Error> {
        self.delay = delay(table, folder)?.or(self.delay.take());
        let overhead = table.read::<Bytes>("overhead")?;
        self.overhead = overhead.map(|bytes| bytes.get() as u32).or(self.overhead);
        Ok(())
    }

    /// Prepares for the layers of another file: a delay that varies contains all variation.
    pub(crate) fn open(&mut self, tables: &[Option<&Table<'_>>]) {
        let varies = |table: &&Table<'_>| {
            let delay = table.get("delay");
            delay.is_some_and(|item| {
                item.as_table(&DELAY).is_some() || item.as_tables(&DELAY_STEP, MAX_STEPS).is_some()
            })
        };
        if tables.iter().flatten().any(varies) {
            self.config.jitter = None;
        }
    }

    /// What its model, if any, adds to the delay on an idle path.
    pub(crate) fn idle_delay(&self) -> Duration {
        let service = self.service.as_ref();
        service.map_or(Duration::ZERO, Service::idle_delay)
    }
}

/// `delay`, one way: a time, steps, or a trace and the length of its lines.
pub(crate) fn delay(table: &Table<'_>, folder: &Path) -> Result<Option<Delay>, Error> {
    let Some(item) = table.get("delay") else {
        return Ok(None);
    };
    if let Some(tables) = item.as_tables(&DELAY_STEP, MAX_STEPS) {
        return delay_steps(&item, &tables?).map(Some);
    }
    let Some(table) = item.as_table(&DELAY) else {
        return Ok(table.read("delay")?.map(Delay::Constant));
    };
    let table = table?;
    let (file, path) = file(&table.need("trace")?, folder)?;
    let delays = trace_file::read_delays(&path).map_err(|problem| wrong_file(&file, problem))?;
    Ok(Some(Delay::recorded(
        &delays,
        table.or("slot", DELAY_SLOT)?,
    )))
}

/// Steps of a delay as slots of equal length, each as long as the greatest common divisor.
fn delay_steps(item: &Item<'_>, tables: &[Table<'_>]) -> Result<Delay, Error> {
    let step = |table: &Table<'_>| Ok((table.needed("for")?, table.needed("delay")?));
    let steps: Vec<(Duration, Duration)> = tables.iter().map(step).collect::<Result<_, Error>>()?;
    let slot = steps
        .iter()
        .fold(0, |slot, step| gcd(slot, step.0.as_nanos()));
    let slots: u64 = steps
        .iter()
        .map(|step| step.0.as_nanos() / slot.max(1))
        .sum();
    if slots == 0 {
        return Err(item.refuse("at least one step is needed"));
    }
    if slots > u64::from(MAX_STEPS) {
        return Err(item.refuse(format!(
            "the steps are {slots} times as long as their greatest common divisor, and the limit is \
             {MAX_STEPS}: choose rounder lengths"
        )));
    }
    let delays: Vec<Duration> = steps
        .iter()
        .flat_map(|&(span, delay)| (0..span.as_nanos() / slot).map(move |_| delay))
        .collect();
    Ok(Delay::recorded(&delays, Duration::from_nanos(slot)))
}

/// The greatest common divisor (Euclid, Elements, book VII, proposition 2).
const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The name of a file, looked up from `folder`.
fn file<'a>(item: &Item<'a>, folder: &Path) -> Result<(Item<'a>, PathBuf), Error> {
    let name = item
        .as_text()
        .ok_or_else(|| item.refuse("expected the name of a file, in quotes"))?;
    Ok((*item, folder.join(name)))
}

fn wrong_file(item: &Item<'_>, problem: trace_file::Problem) -> Error {
    match problem {
        trace_file::Problem::File(reason) => item.refuse(reason),
        trace_file::Problem::Content(error) => error,
    }
}

/// `rate`: a string, steps, a varying rate, or a model of an access network.
fn service(item: &Item<'_>) -> Result<Service, Error> {
    if let Some(model) = access::read(item) {
        return Ok(Service::Access(Arc::new(model?)));
    }
    if let Some(table) = item.as_table(VaryingConfig::TABLE) {
        let mut config = VaryingConfig::DEFAULT;
        described::read(&table?, &mut config)?;
        return Ok(Service::Varying(config));
    }
    if let Some(tables) = item.as_tables(&STEP, MAX_STEPS) {
        return steps(item, &tables?);
    }
    match item.value()? {
        Value::Rate(rate) => Ok(Service::Fixed(rate)),
        _ => Ok(Service::Unlimited),
    }
}

fn steps(item: &Item<'_>, tables: &[Table<'_>]) -> Result<Service, Error> {
    let step = |table: &Table<'_>| Ok((table.needed("for")?, table.needed("rate")?));
    let steps: Vec<(Duration, Rate)> = tables.iter().map(step).collect::<Result<_, Error>>()?;
    if steps.iter().all(|&(_, rate)| rate == Rate::ZERO) {
        return Err(item.refuse("at least one step needs a rate above zero"));
    }
    let lap = steps.iter().fold(Duration::ZERO, |lap, step| lap + step.0);
    if lap < MIN_LAP {
        return Err(item.refuse(format!("the steps together must last at least {MIN_LAP}")));
    }
    Ok(Service::Steps {
        steps: steps.into(),
    })
}

/// `trace`: a file, or a table that also says whether it repeats.
fn trace(item: &Item<'_>, folder: &Path) -> Result<Service, Error> {
    let (item, repeat) = match item.as_table(&TRACE) {
        None => (*item, None),
        Some(table) => {
            let table = table?;
            let item = table.need("file")?;
            (item, table.get("repeat"))
        }
    };
    let (item, path) = file(&item, folder)?;
    let mut service = trace_file::read(&path).map_err(|problem| wrong_file(&item, problem))?;
    if let Some(item) = repeat
        && item.value()? == Value::Switch(false)
    {
        match &mut service {
            Service::Trace(trace) => Arc::make_mut(trace).repeat = false,
            _ => return Err(item.refuse("a trace of rates always repeats: leave it out")),
        }
    }
    Ok(service)
}

/// `jitter`: a time (uniform up to it), or a table.
fn jitter(item: &Item<'_>) -> Result<Option<JitterConfig>, Error> {
    let mut keys = JitterKeys::DEFAULT;
    match item.as_table(JitterKeys::TABLE) {
        None => Field::of(item.value()?).map_or((), |amount| keys.amount = amount),
        Some(table) => {
            let table = table?;
            described::read(&table, &mut keys)?;
            if keys.distribution == JitterShape::Sine {
                table.need("period")?;
            }
        }
    }
    Ok(keys.config())
}

/// Reads `rrc` of a table, which describes the radio of both directions; the model of the downlink
/// keeps it. False if neither direction has such a model.
pub(crate) fn take_rrc(links: [&mut LinkSpec; 2], table: &Table<'_>) -> Result<bool, Error> {
    for link in links {
        if let Some(Service::Access(access)) = &mut link.service
            && access::cellular::take_rrc(Arc::make_mut(access), table)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The service of the reverse direction: a Wi-Fi medium serves both.
pub(crate) fn way_back(forward: &Service, reverse: Option<Service>) -> Result<Service, String> {
    match (forward.wifi(), reverse) {
        (Some(wifi), Some(reverse)) => match reverse.wifi() {
            Some(said) if said == wifi || *said == WifiConfig::DEFAULT => Ok(forward.clone()),
            Some(_) => Err(
                "describes its Wi-Fi network in both directions, which share one medium: write \
                 reverse.rate = { model = \"wifi\" }, or leave it out"
                    .to_owned(),
            ),
            None => Err(
                "has a Wi-Fi network in the forward direction alone, and its medium carries both: leave \
                 reverse.rate or reverse.trace out, or over a preset write reverse.rate = { model = \"wifi\" }"
                    .to_owned(),
            ),
        },
        (None, Some(reverse)) if reverse.wifi().is_some() => Err(
            "has a Wi-Fi network in the reverse direction alone, and its medium carries both: describe it \
             in the forward direction"
                .to_owned(),
        ),
        (Some(_), None) => Ok(forward.clone()),
        (None, reverse) => Ok(reverse.unwrap_or(Service::Unlimited)),
    }
}

/// A link with all its settings. The error is the end of a sentence about its table.
pub(crate) fn finish(
    name: &str,
    spec: LinkSpec,
    service: Service,
    default: Buffer,
    base_rtt: Duration,
) -> Result<LinkConfig, String> {
    let overhead = match spec.is_recorded {
        true => 0,
        false => spec.overhead.unwrap_or(DEFAULT_OVERHEAD),
    };
    let packet = Bytes::new(u64::from(FULL_PACKET) + u64::from(overhead));
    let rate = service.mean_rate();
    let marks = spec.ecn.unwrap_or(false);
    let discipline = spec.aqm.unwrap_or(Discipline::DropTail);
    let discipline = discipline
        .marking(marks)
        .ok_or_else(|| format!("has a {name} queue that never marks, and ecn = true"))?;
    let default = discipline.own_limit().map_or(default, Buffer::Packets);
    let buffer = match (spec.buffer, rate) {
        (Some(Buffer::Bdp { .. }), None) => {
            return Err(format!(
                "has a {name} buffer in bdp, but no {name} rate to compute them from"
            ));
        }
        (Some(buffer), _) => buffer,
        (None, None) => Buffer::Unlimited,
        (None, Some(_)) => default,
    };
    let limit = buffer.resolve(rate.unwrap_or(Rate::ZERO).bytes_in(base_rtt), packet);
    if let QueueLimit::Bytes(bytes) = limit
        && bytes < packet
    {
        let least = quantity::format_size(packet);
        return Err(format!(
            "has a {name} buffer that is too small for one full packet of {least}, overhead included"
        ));
    }
    match discipline {
        Discipline::RandomAbove(_) if limit == QueueLimit::Unlimited => {
            return Err(format!(
                "has {name} packets dropped above a fraction of an unlimited buffer: give it a limit"
            ));
        }
        Discipline::RandomAbove(_) if service.serves_late() => {
            return Err(format!(
                "has {name} packets dropped above a fraction of the buffer, which the {name} model does not support"
            ));
        }
        Discipline::DropTail => {}
        _ if service.filters_acks() => {
            return Err(format!(
                "has a {name} model with ack_filter, whose queue is drop-tail, and a {name} aqm: keep one"
            ));
        }
        Discipline::RandomAbove(_) => {}
        _ if service == Service::Unlimited => {
            return Err(format!(
                "has a {name} aqm, but no {name} rate limit, so no queue"
            ));
        }
        _ => {}
    }
    let mut config = LinkConfig {
        name: name.to_owned(),
        service,
        overhead,
        queue: QueueConfig { limit, discipline },
        ..spec.config
    };
    match spec.delay {
        Some(Delay::Recorded(..)) if config.jitter.is_some() => {
            return Err(format!(
                "has {name} delays that vary and {name} jitter; such delays hold all variation: keep one"
            ));
        }
        Some(Delay::Recorded(least, additions)) => {
            config.delay = least;
            config.jitter = Some(additions);
        }
        Some(Delay::Constant(delay) | Delay::Half(delay)) => config.delay = delay,
        None => {}
    }
    match config.cannot_reorder() {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(config),
    }
}
