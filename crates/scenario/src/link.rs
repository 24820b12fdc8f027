//! What every link has: rate, trace, buffer, loss, jitter, aqm.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use network::access::WifiConfig;
use network::{
    Discipline, JitterConfig, JitterDistribution, LinkConfig, LossConfig, QueueConfig, QueueLimit,
    Service,
};
use tables::{MAX_RATE, Value, Wrong};
use units::{Bytes, Duration, Rate};

use crate::access;
use crate::aqm;
use crate::document::{Item, Table};
use crate::error::Error;
use crate::limits::{MAX_STEPS, MIN_LAP};
use crate::model::{DEFAULT_OVERHEAD, FULL_PACKET};
use crate::quantity::{self, Buffer};
use crate::tables::{DELAY, JITTER, LOSS, STEP, TRACE, VARYING};
use crate::trace_file;

/// Default slot of a varying rate (the reduced model has a grid of 10 to 20 ms) and of random
/// jitter.
const DEFAULT_SLOT: Duration = Duration::from_millis(10);
/// Default length of a line in a trace of delays (LeoReplayer's format).
pub(crate) const DELAY_SLOT: Duration = Duration::from_millis(10);
/// A sine is smooth, so it is sampled more finely.
const DEFAULT_SINE_SLOT: Duration = Duration::from_millis(1);
/// The jitter that the file gives: `Some(None)` is "none".
pub(crate) type SaidJitter = Option<Option<JitterConfig>>;

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
    /// A trace: its smallest value, and the additions to it.
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

/// What the file says about one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkSpec {
    pub(crate) service: Option<Service>,
    pub(crate) delay: Option<Delay>,
    pub(crate) buffer: Option<Buffer>,
    pub(crate) loss: Option<LossConfig>,
    pub(crate) jitter: SaidJitter,
    pub(crate) aqm: Option<Discipline>,
    pub(crate) ecn: Option<bool>,
    pub(crate) overhead: Option<u32>,
}

impl LinkSpec {
    /// Reads the shared keys of a table; not `delay` and `overhead`, which differ.
    pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<Self, Error> {
        table.either("rate", "trace")?;
        let mut spec = Self::default();
        if let Some(item) = table.get("rate") {
            spec.service = Some(service(&item)?);
        }
        if let Some(item) = table.get("trace") {
            refuse_overhead(table)?;
            spec.service = Some(trace(&item, folder)?);
            spec.overhead = Some(0);
        }
        spec.buffer = table
            .get("buffer")
            .map(|item| item.parse(quantity::buffer))
            .transpose()?;
        spec.loss = table.get("loss").map(|item| loss(&item)).transpose()?;
        spec.jitter = table.get("jitter").map(|item| jitter(&item)).transpose()?;
        spec.aqm = table.get("aqm").map(|item| aqm::read(&item)).transpose()?;
        spec.ecn = table.read("ecn")?;
        Ok(spec)
    }

    /// What its model, if any, adds to the delay on an idle path.
    pub(crate) fn idle_delay(&self) -> Duration {
        let service = self.service.as_ref();
        service.map_or(Duration::ZERO, Service::idle_delay)
    }

    /// Replaces every value that `over` has.
    pub(crate) fn lay(&mut self, over: Self) {
        self.service = over.service.or(self.service.take());
        self.delay = over.delay.or(self.delay.take());
        self.buffer = over.buffer.or(self.buffer);
        self.loss = over.loss.or(self.loss);
        self.jitter = over.jitter.or(self.jitter.take());
        self.aqm = over.aqm.or(self.aqm);
        self.ecn = over.ecn.or(self.ecn);
        self.overhead = over.overhead.or(self.overhead);
    }
}

/// `delay`, one way: a time, or a trace and the length of its lines.
pub(crate) fn delay(table: &Table<'_>, folder: &Path) -> Result<Option<Delay>, Error> {
    let Some(item) = table.get("delay") else {
        return Ok(None);
    };
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

/// A trace counts bytes of IP only, as Mahimahi does.
pub(crate) fn refuse_overhead(table: &Table<'_>) -> Result<(), Error> {
    table.get("overhead").map_or(Ok(()), |overhead| {
        Err(overhead.refuse("a trace counts bytes of IP only: leave overhead out"))
    })
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

/// `overhead` of a path or a direction.
pub(crate) fn overhead(table: &Table<'_>) -> Result<Option<u32>, Error> {
    let bytes = table.read::<Bytes>("overhead")?;
    Ok(bytes.map(|bytes| bytes.get() as u32))
}

/// `rate`: a string, steps, a varying rate, or a model of an access network.
fn service(item: &Item<'_>) -> Result<Service, Error> {
    if let Some(model) = access::read(item) {
        return Ok(Service::Access(Arc::new(model?)));
    }
    if let Some(table) = item.as_table(&VARYING) {
        return varying(&table?);
    }
    if let Some(tables) = item.as_tables(&STEP, MAX_STEPS) {
        return steps(item, &tables?);
    }
    match item.value()? {
        Value::Rate(rate) => Ok(Service::Fixed(rate)),
        _ => Ok(Service::Unlimited),
    }
}

fn varying(table: &Table<'_>) -> Result<Service, Error> {
    let mean = table.needed("mean")?;
    let peak = table.or("peak", MAX_RATE)?;
    if peak < mean {
        return Err(table.wrong(Wrong::value("peak", "the peak is below the mean")));
    }
    Ok(Service::Varying {
        mean,
        variation: table.needed("variation")?,
        correlation: table.needed("correlation")?,
        slot: table.or("slot", DEFAULT_SLOT)?,
        peak,
    })
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

/// `loss`: a percentage, or the two states of Gilbert and Elliott with netem's defaults.
fn loss(item: &Item<'_>) -> Result<LossConfig, Error> {
    if let Some(table) = item.as_table(&LOSS) {
        let table = table?;
        let p: f64 = table.needed("p")?;
        let r = table.or("r", 1.0 - p)?;
        if p + r <= 0.0 {
            return Err(
                table.refuse("a loss model needs p or r above zero, or its states never change")
            );
        }
        return Ok(LossConfig::GilbertElliott {
            p,
            r,
            bad_loss: table.or("bad_loss", 1.0)?,
            good_loss: table.or("good_loss", 0.0)?,
        });
    }
    match item.value()? {
        Value::Number(probability) if probability > 0.0 => Ok(LossConfig::Bernoulli(probability)),
        _ => Ok(LossConfig::None),
    }
}

/// `jitter`: a time (uniform up to it), or a table.
fn jitter(item: &Item<'_>) -> Result<Option<JitterConfig>, Error> {
    let Some(table) = item.as_table(&JITTER) else {
        let Value::Time(amount) = item.value()? else {
            return Ok(None);
        };
        let config = JitterConfig {
            amount,
            distribution: JitterDistribution::Uniform,
            slot: DEFAULT_SLOT,
        };
        return Ok((!config.amount.is_zero()).then_some(config));
    };
    let table = table?;
    let amount: Duration = table.needed("amount")?;
    let (distribution, usual_slot) = match table.word("distribution", &[0, 1, 2])? {
        Some(1) => (JitterDistribution::Exponential, DEFAULT_SLOT),
        Some(2) => {
            let period = table.needed("period")?;
            (JitterDistribution::Sine { period }, DEFAULT_SINE_SLOT)
        }
        _ => (JitterDistribution::Uniform, DEFAULT_SLOT),
    };
    let is_sine = matches!(distribution, JitterDistribution::Sine { .. });
    if let (Some(item), false) = (table.get("period"), is_sine) {
        return Err(item.refuse("only the distribution \"sine\" has a period"));
    }
    let slot = table.or("slot", usual_slot)?;
    Ok((!amount.is_zero()).then_some(JitterConfig {
        amount,
        distribution,
        slot,
    }))
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

/// `[path.forward]`, `[path.reverse]`, a `[[link]]`, or the link of a router.
pub(crate) fn direction(table: &Table<'_>, folder: &Path) -> Result<LinkSpec, Error> {
    let mut spec = LinkSpec::read(table, folder)?;
    spec.delay = delay(table, folder)?;
    spec.overhead = overhead(table)?.or(spec.overhead);
    Ok(spec)
}

/// The service of the reverse direction: a Wi-Fi medium serves both.
pub(crate) fn way_back(forward: &Service, reverse: Option<Service>) -> Result<Service, String> {
    match (forward.wifi(), reverse) {
        (Some(wifi), Some(reverse)) => match reverse.wifi() {
            Some(said) if said == wifi || *said == WifiConfig::USUAL => Ok(forward.clone()),
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
    let overhead = spec.overhead.unwrap_or(DEFAULT_OVERHEAD);
    let packet = Bytes::new(u64::from(FULL_PACKET) + u64::from(overhead));
    let rate = service.mean_rate();
    let marks = spec.ecn.unwrap_or(false);
    let discipline = spec.aqm.unwrap_or(Discipline::DropTail);
    let discipline = aqm::marking(discipline, marks)
        .ok_or_else(|| format!("has a {name} queue that never marks, and ecn = true"))?;
    let default = aqm::usual_buffer(&discipline).unwrap_or(default);
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
        Discipline::RandomAbove { .. } if limit == QueueLimit::Unlimited => {
            return Err(format!(
                "has {name} packets dropped above a fraction of an unlimited buffer: give it a limit"
            ));
        }
        Discipline::RandomAbove { .. } if service.serves_late() => {
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
        Discipline::RandomAbove { .. } => {}
        _ if service == Service::Unlimited => {
            return Err(format!(
                "has a {name} aqm, but no {name} rate limit, so no queue"
            ));
        }
        _ => {}
    }
    let (delay, jitter) = match (spec.delay, spec.jitter) {
        (Some(Delay::Recorded(..)), Some(Some(_))) => {
            return Err(format!(
                "has a trace of {name} delays and {name} jitter; the trace holds all variation: keep one"
            ));
        }
        (Some(Delay::Recorded(least, additions)), _) => (least, Some(additions)),
        (Some(Delay::Constant(delay) | Delay::Half(delay)), jitter) => (delay, jitter.flatten()),
        (None, jitter) => (Duration::ZERO, jitter.flatten()),
    };
    Ok(LinkConfig {
        name: name.to_owned(),
        service,
        overhead,
        queue: QueueConfig { limit, discipline },
        loss: spec.loss.unwrap_or(LossConfig::None),
        delay,
        jitter,
    })
}
