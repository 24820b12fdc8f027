//! `[path]`: the layers of a file and a preset, and the [`PathModel`] that results.
//!
//! The short keys (`rate`, `buffer`, `loss`, ...) describe the forward direction; each direction
//! has half of `rtt`. The layers are a preset, a file, and in each `[path]` and its directions; a key
//! of a later layer replaces that of an earlier one.

use std::path::Path;

use network::Service;
use network::router::RouterSupport;
use tables::MAX_DELAY;
use units::{Duration, Rate};

use crate::aqm;
use crate::described;
use crate::document::{Document, Table};
use crate::error::Error;
use crate::hosts;
use crate::limits::MAX_ROUTERS;
use crate::link::{self, DEFAULT_BUFFER, Delay, LinkSpec};
use crate::model::{Hosts, PathModel, RouterModel};
use crate::presets::{self, Preset};
use crate::quantity::{self, Buffer};
use crate::router::RouterSpec;
use crate::tables::{DIRECTION, PATH, ROUTER};
use crate::topology::Network;
use crate::traffic::{self, TrafficSpec};

/// The transmit queue that Linux gives a network device; for a direction whose rate is given
/// without a buffer and that is not the bottleneck.
const DEFAULT_REVERSE_BUFFER: Buffer = Buffer::Packets(1000);
/// What the file and its preset say about a path, without defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathSpec {
    pub(crate) name: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) forward: LinkSpec,
    pub(crate) reverse: LinkSpec,
    pub(crate) router_support: Option<RouterSupport>,
    pub(crate) routers: Vec<RouterSpec>,
    pub(crate) hosts: Option<Vec<Hosts>>,
    /// What is resolved once the links are known ([`traffic::settle`]).
    pub(crate) traffic: Option<Vec<TrafficSpec>>,
}

impl PathSpec {
    /// Reads `[path]` over the preset that it builds on. Trace names are relative to `folder`.
    pub(crate) fn read(table: &Table<'_>, folder: &Path, network: &Network) -> Result<Self, Error> {
        let preset = table.get("preset").map(|item| {
            item.parse(|name| {
                presets::find(name)
                    .ok_or_else(|| format!("there is no such preset{}", presets::hint(name)))
            })
        });
        let mut spec = match preset.transpose()? {
            Some(preset) => Self::of(preset)?,
            None => Self::default(),
        };
        spec.name = None;
        spec.lay(table, folder, network)?;
        Ok(spec)
    }

    /// The layer of a preset.
    pub(crate) fn of(preset: &Preset) -> Result<Self, Error> {
        let document = Document {
            file: preset.name,
            text: preset.toml,
        };
        let tree = document.parse()?;
        let table = Table::new(document, &PATH, tree.get_ref(), 0)?;
        let mut spec = Self::default();
        spec.lay(&table, Path::new(""), &Network::default())?;
        spec.name = Some(preset.name.to_owned());
        spec.summary = Some(preset.summary.to_owned());
        Ok(spec)
    }

    /// Adds the layers of a file: `[path]`, and on it the two directions.
    fn lay(&mut self, table: &Table<'_>, folder: &Path, network: &Network) -> Result<(), Error> {
        let (name, summary) = names(table)?;
        self.name = name.or(self.name.take());
        self.summary = summary.or(self.summary.take());
        let direction = |key: &str| {
            table
                .get(key)
                .map(|item| item.table(&DIRECTION))
                .transpose()
        };
        let (forward, reverse) = (direction("forward")?, direction("reverse")?);
        check_directions(table, forward.as_ref(), reverse.as_ref())?;
        self.forward.open(&[Some(table), forward.as_ref()]);
        self.reverse.open(&[Some(table), reverse.as_ref()]);
        self.forward.lay(table, folder)?;
        self.reverse.lay_shared(table, folder)?;
        if let Some(rtt) = table.read::<Duration>("rtt")? {
            let forward = rtt / 2;
            self.forward.delay = Some(Delay::Half(forward));
            self.reverse.delay = Some(Delay::Half(rtt - forward));
        }
        for (link, own) in [(&mut self.forward, &forward), (&mut self.reverse, &reverse)] {
            if let Some(own) = own {
                link.lay(own, folder)?;
            }
        }
        self.lay_routers(table, folder)?;
        if let Some(hosts) = hosts::read(table, network)? {
            self.hosts = Some(hosts);
        }
        let hosts = self.hosts.as_deref().unwrap_or_default();
        if let Some(traffic) = traffic::read(table, hosts, network, folder)? {
            self.traffic = Some(traffic);
        }
        self.read_rrc(table)?;
        self.refuse_marking(table)
    }

    /// Refuses `ecn = true` of the path and of its directions, wherever it comes from, once their
    /// disciplines are known.
    fn refuse_marking(&self, table: &Table<'_>) -> Result<(), Error> {
        aqm::refuse_marking(table, self.forward.aqm)?;
        for (key, link) in [("forward", &self.forward), ("reverse", &self.reverse)] {
            if let Some(item) = table.get(key) {
                aqm::refuse_marking(&item.table(&DIRECTION)?, link.aqm)?;
            }
        }
        Ok(())
    }

    /// `router_support` of the bottleneck, and the routers before it.
    fn lay_routers(&mut self, table: &Table<'_>, folder: &Path) -> Result<(), Error> {
        self.router_support = described::choose(table, "router_support")?.or(self.router_support);
        let Some(item) = table.get("router") else {
            return Ok(());
        };
        let expected = || item.refuse("routers are written as tables [[path.router]]");
        let tables = item
            .as_tables(&ROUTER, MAX_ROUTERS)
            .ok_or_else(expected)??;
        self.routers = tables
            .iter()
            .map(|table| RouterSpec::read(table, folder))
            .collect::<Result<_, Error>>()?;
        Ok(())
    }

    /// `rrc`, the radio of both directions.
    fn read_rrc(&mut self, table: &Table<'_>) -> Result<(), Error> {
        let Some(item) = table.get("rrc") else {
            return Ok(());
        };
        if link::take_rrc([&mut self.forward, &mut self.reverse], table)? {
            return Ok(());
        }
        Err(item.refuse("no rate of the path is of model lte, 5g, cell-reduced or hsdpa"))
    }

    /// With an `rtt`, the delay lines have what the access-network models leave of it, half each.
    fn take_radio_from_rtt(&mut self) -> Result<(), String> {
        let radio = self.forward.idle_delay() + self.reverse.idle_delay();
        let (Some(Delay::Half(forward)), Some(Delay::Half(reverse))) =
            (&mut self.forward.delay, &mut self.reverse.delay)
        else {
            return Ok(());
        };
        let rtt = *forward + *reverse;
        if rtt < radio {
            return Err(format!(
                "has an rtt of {}, but its models of access networks alone take {}",
                quantity::format_duration(rtt),
                quantity::format_duration(radio)
            ));
        }
        let lines = rtt - radio;
        *forward = lines / 2;
        *reverse = lines - *forward;
        Ok(())
    }

    /// A model without a path, with the hosts of the file; its cloud is added later.
    pub(crate) fn without_path(self, fallback_name: &str) -> PathModel {
        let name = self.name.unwrap_or_else(|| fallback_name.to_owned());
        let mut path = PathModel::without_path(name, self.summary.unwrap_or_default());
        hosts::settle(self.hosts.unwrap_or_default(), &mut path);
        path
    }

    /// Fills in the defaults. The error is the end of a sentence about `[path]`.
    pub(crate) fn resolve(mut self, fallback_name: &str) -> Result<PathModel, String> {
        self.take_radio_from_rtt()?;
        let name = self.name.unwrap_or_else(|| fallback_name.to_owned());
        let summary = self.summary.unwrap_or_default();
        let service = self
            .forward
            .service
            .clone()
            .ok_or("needs rate, trace or preset, such as rate = \"50 Mbit/s\"")?;
        let rate = service
            .mean_rate()
            .ok_or("needs a limited rate in the forward direction")?;
        let (Some(forward_delay), Some(reverse_delay)) = (
            self.forward.delay.as_ref().map(Delay::least),
            self.reverse.delay.as_ref().map(Delay::least),
        ) else {
            return Err(
                "needs rtt, such as rtt = \"100 ms\", or both forward.delay and reverse.delay"
                    .to_owned(),
            );
        };
        let before = self.routers.iter().fold(Duration::ZERO, |sum, router| {
            let delay = router.link.delay.as_ref();
            sum + delay.map_or(Duration::ZERO, Delay::least) + router.link.idle_delay()
        });
        let idle = self.forward.idle_delay() + self.reverse.idle_delay();
        let base_rtt = forward_delay + reverse_delay + before + idle;
        if base_rtt > MAX_DELAY {
            return Err(format!(
                "has a round trip of more than {}",
                quantity::format_duration(MAX_DELAY)
            ));
        }
        let way_back = link::way_back(&service, self.reverse.service.clone())?;
        let forward = link::finish("forward", self.forward, service, DEFAULT_BUFFER, base_rtt)?;
        let service = way_back;
        let reverse = link::finish(
            "reverse",
            self.reverse,
            service,
            DEFAULT_REVERSE_BUFFER,
            base_rtt,
        )?;
        debug_assert_eq!(forward.service.mean_rate(), Some(rate));
        let routers = (1..)
            .zip(self.routers)
            .map(|(number, spec)| resolve_router(number, spec, forward.overhead, rate, base_rtt))
            .collect::<Result<_, _>>()?;
        let mut path = PathModel::from_links(name, summary, forward, reverse);
        path.set_routers(routers, self.router_support.unwrap_or_default());
        hosts::settle(self.hosts.unwrap_or_default(), &mut path);
        Ok(path)
    }
}

/// A router before the bottleneck of `rate`. The error is the end of a sentence about `[path]`.
fn resolve_router(
    number: usize,
    spec: RouterSpec,
    overhead: u32,
    rate: Rate,
    base_rtt: Duration,
) -> Result<RouterModel, String> {
    let name = format!("router {number}");
    let RouterSpec {
        mut link,
        router_support,
    } = spec;
    link.overhead.get_or_insert(overhead);
    let service = link.service.clone().unwrap_or(Service::Unlimited);
    if service.wifi().is_some() {
        return Err(format!(
            "has a {name} with a Wi-Fi network, whose medium carries both directions: it can only be \
             the path's own"
        ));
    }
    if let Some(own) = service.mean_rate()
        && own < rate
    {
        return Err(format!(
            "has a {name} of {}, which is slower than the path's rate, that of its bottleneck",
            quantity::format_rate(own)
        ));
    }
    if router_support != RouterSupport::None && service == Service::Unlimited {
        return Err(format!(
            "has a {name} with router_support, which needs a limited rate"
        ));
    }
    let link = link::finish(&name, link, service, DEFAULT_BUFFER, base_rtt)?;
    Ok(RouterModel {
        link,
        router_support,
    })
}

/// Refuses keys of `[path]` and of its directions that contradict each other.
fn check_directions(
    table: &Table<'_>,
    forward: Option<&Table<'_>>,
    reverse: Option<&Table<'_>>,
) -> Result<(), Error> {
    if let Some(forward) = forward {
        for key in DIRECTION.keys.iter().map(|key| key.name) {
            // `delay` has no short form; it is checked with `rtt`.
            if key != "delay" && key != "overhead" && table.has(key) && forward.has(key) {
                return Err(forward.refuse_at(
                    key,
                    format!("{key} and forward.{key} are the same thing: keep one"),
                ));
            }
        }
        if table.has("trace") && forward.has("rate") || table.has("rate") && forward.has("trace") {
            return Err(forward.refuse("[path] takes rate or trace, not both"));
        }
    }
    table.either("rtt", "delay")?;
    let has_delay = |table: Option<&Table<'_>>| table.is_some_and(|table| table.has("delay"));
    for key in ["rtt", "delay"] {
        if let Some(item) = table.get(key)
            && (has_delay(forward) || has_delay(reverse))
        {
            return Err(item.refuse(format!(
                "[path] takes {key}, or forward.delay and reverse.delay, not both"
            )));
        }
    }
    Ok(())
}

/// `name` and `summary` of a table.
pub(crate) fn names(table: &Table<'_>) -> Result<(Option<String>, Option<String>), Error> {
    let name = table.get("name").map(|item| item.words()).transpose()?;
    let summary = table.get("summary").map(|item| item.words()).transpose()?;
    Ok((name, summary))
}
