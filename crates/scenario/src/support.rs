//! Whether a stack supports a scenario.
//!
//! [`uses`] lists each key whose value differs from its default. Configurations with a description
//! are compared key by key. The other models are taken apart without `..`, so that a new field does
//! not compile before it is a key here.

use network::router::RouterSupport;
use tables::{DefaultValue, Described, Key, Kind, Stack, Table, Value};
use units::Instant;
use workload::KnownTraffic;

use crate::model::{
    Application, DEFAULT_TIME_LIMIT, Direction, Ends, Flow, FlowSettings, PathModel, Scenario,
    Traffic,
};
use crate::tables::{APPLICATION, FLOW, PATH, SCENARIO, TRAFFIC};

/// A key whose value differs from its default.
#[derive(Clone, Debug)]
pub struct Use {
    /// What it belongs to, such as ``flow `a` ``; empty for the scenario.
    pub owner: String,
    /// Its table.
    pub table: &'static str,
    /// Its name.
    pub key: &'static Key,
    /// Its value, if that is a word.
    pub word: Option<String>,
}

impl Use {
    /// `key`, `key = "word"` or `[[table]]`.
    fn shown(&self) -> String {
        match (&self.word, self.key.kind) {
            (Some(word), _) => format!("`{} = \"{word}\"`", self.key.name),
            (None, Kind::Tables(table, _)) => format!("`{}`", table.title),
            (None, _) => format!("`{}`", self.key.name),
        }
    }
}

/// The keys of a scenario whose values differ from their defaults, except those that every stack
/// supports. A key that holds a table comes before the keys of that table.
#[must_use]
pub fn uses(scenario: &Scenario) -> Vec<Use> {
    let mut found = Found::default();
    let Scenario {
        name: _,
        summary: _,
        runs: _,
        seed: _,
        path,
        flows,
        time_limit,
        duration,
    } = scenario;
    found.path(path);
    found.key(&SCENARIO, "time_limit", *time_limit != DEFAULT_TIME_LIMIT);
    found.key(&SCENARIO, "duration", duration.is_some());
    found.key(&SCENARIO, "flow", !flows.is_empty());
    for flow in flows {
        found.owner = format!("flow `{}`", flow.name);
        found.flow(flow);
    }
    for traffic in &path.traffic {
        found.owner = format!("traffic `{}`", traffic.name);
        found.traffic(traffic);
    }
    found.uses
}

/// Why a stack cannot run a scenario; `None` if it can, as far as its keys are concerned.
#[must_use]
pub fn refusal(stack: &Stack, scenario: &Scenario) -> Option<String> {
    first_refusal(stack, uses(scenario)).or_else(|| differing(stack, scenario))
}

/// Why a stack cannot run one flow of a scenario, in which others have other stacks.
#[must_use]
pub fn refusal_of_flow(stack: &Stack, scenario: &Scenario, flow: &Flow) -> Option<String> {
    let others = |used: &Use| used.owner.is_empty();
    let mut found = Found {
        owner: format!("flow `{}`", flow.name),
        uses: uses(scenario).into_iter().filter(others).collect(),
    };
    found.flow(flow);
    first_refusal(stack, found.uses)
}

/// Why a stack cannot use a path.
#[must_use]
pub fn refusal_of_path(stack: &Stack, path: &PathModel) -> Option<String> {
    let mut found = Found::default();
    found.path(path);
    first_refusal(stack, found.uses)
}

/// Whether a stack supports a key of a table: a key of kinds of traffic, if it supports one of them.
#[must_use]
pub fn supports(stack: &Stack, table: &Table, key: &Key) -> bool {
    let owners = KnownTraffic::all().iter();
    let mut owners = owners
        .filter(|kind| table.name == TRAFFIC.name && kind.own_keys().any(|own| own == key.name))
        .peekable();
    let Some(kind) = TRAFFIC.key("kind").filter(|_| owners.peek().is_some()) else {
        return stack.supports(table.name, key, None);
    };
    owners.any(|owner| stack.supports(TRAFFIC.name, kind, Some(owner.name)))
}

fn first_refusal(stack: &Stack, uses: Vec<Use>) -> Option<String> {
    let refused = uses.into_iter().find(|used| {
        let word = used.word.as_deref();
        !stack.supports(used.table, used.key, word)
    })?;
    let owner = match refused.owner.as_str() {
        "" => String::new(),
        owner => format!("{owner}: "),
    };
    Some(format!(
        "{owner}{} is not supported {}: {}",
        refused.shown(),
        stack.place,
        stack.reason(refused.table, refused.key.name)
    ))
}

/// A setting that a stack has once for all flows, and that differs between them.
fn differing(stack: &Stack, scenario: &Scenario) -> Option<String> {
    let traffic = scenario.path.traffic.iter().map(|traffic| &traffic.flow);
    let settings = scenario.flows.iter().chain(traffic);
    let settings: Vec<&FlowSettings> = settings.map(|flow| &flow.settings).collect();
    let first = settings.first()?;
    let shared = stack.known(FLOW.name)?.iter().filter(|held| held.is_shared);
    for held in shared {
        let keys = FlowSettings::TABLE.keys.iter();
        let Some(place) = keys.into_iter().position(|key| key.name == held.key) else {
            continue;
        };
        let value = first.value(place);
        if settings.iter().any(|other| other.value(place) != value) {
            return Some(format!(
                "`{}` must be the same for all flows {}, which has one value for all: {}",
                held.key, stack.place, held.how
            ));
        }
    }
    None
}

#[derive(Default)]
struct Found {
    owner: String,
    uses: Vec<Use>,
}

impl Found {
    fn add(&mut self, table: &Table, key: &'static Key, word: Option<&str>) {
        if !key.everywhere {
            self.uses.push(Use {
                owner: self.owner.clone(),
                table: table.name,
                key,
                word: word.map(str::to_owned),
            });
        }
    }

    /// A key, where it differs from its default.
    fn key(&mut self, table: &Table, name: &str, differs: bool) {
        if let Some(key) = table.key(name).filter(|_| differs) {
            self.add(table, key, None);
        }
    }

    /// A key whose value is a word, where it differs from its default.
    fn word(&mut self, table: &Table, name: &str, word: Option<&str>) {
        if let Some(key) = table.key(name).filter(|_| word.is_some()) {
            self.add(table, key, word);
        }
    }

    /// The keys of a configuration, which are keys of `table` too.
    fn described(&mut self, table: &Table, config: &dyn Described) {
        for (place, key) in config.table().keys.iter().enumerate() {
            let value = config.value(place);
            let differs = match (key.kind, key.default) {
                (Kind::Table(_), _) => config.inner(place).is_some(),
                (_, DefaultValue::Value(usual)) => usual() != value,
                _ => value != Value::Nothing,
            };
            let word = match (key.kind, value) {
                (Kind::Words(words), Value::Word(word)) => words.get(word).copied(),
                _ => None,
            };
            if differs {
                self.add(table, key, word);
            }
            if let (true, Kind::Table(inner), Some(config)) =
                (differs, key.kind, config.inner(place))
            {
                self.described(inner, config);
            }
        }
    }

    fn path(&mut self, path: &PathModel) {
        let PathModel {
            name: _,
            summary: _,
            // The same links under both clocks.
            forward: _,
            reverse: _,
            // They follow from the links.
            base_rtt: _,
            rate: _,
            bdp: _,
            buffer: _,
            // It follows from the cloud.
            is_absent: _,
            // The reader has added it to all starts.
            warm_up: _,
            router_support,
            routers,
            cloud,
            nodes,
            proxies,
            links,
            hosts,
            traffic,
        } = path;
        self.key(&SCENARIO, "network", cloud.is_some());
        self.key(&SCENARIO, "node", !nodes.is_empty() || !proxies.is_empty());
        self.key(&SCENARIO, "link", !links.is_empty());
        self.key(&SCENARIO, "hosts", !hosts.is_empty());
        self.key(&PATH, "router", !routers.is_empty());
        self.key(
            &PATH,
            "router_support",
            *router_support != RouterSupport::None,
        );
        self.key(&SCENARIO, "traffic", !traffic.is_empty());
    }

    fn flow(&mut self, flow: &Flow) {
        let Flow {
            name: _,
            algorithm: _,
            stack,
            size,
            duration,
            start,
            settings,
            application,
            ends,
        } = flow;
        self.key(&FLOW, "algorithm", true);
        self.key(&FLOW, "stack", stack.is_foreign());
        self.key(&FLOW, "size", size.is_some());
        self.key(&FLOW, "duration", duration.is_some());
        self.key(&FLOW, "start", *start != Instant::ZERO);
        self.described(&FLOW, settings);
        self.key(&FLOW, "application", *application != Application::Bulk);
        match application {
            Application::Bulk => {}
            Application::Periodic { write: _, every: _ } => {
                self.key(&APPLICATION, "write", true);
                self.key(&APPLICATION, "every", true);
            }
            Application::Pausing { write: _, pause: _ } => {
                self.key(&APPLICATION, "write", true);
                self.key(&APPLICATION, "pause", true);
            }
        }
        self.ends(&FLOW, *ends);
    }

    fn ends(&mut self, table: &Table, Ends { from, to }: Ends) {
        self.key(table, "from", from.is_some());
        self.key(table, "to", to.is_some());
    }

    fn traffic(&mut self, traffic: &Traffic) {
        let Traffic {
            name: _,
            kind,
            direction,
            flow,
            extra_delays,
            start,
            stop,
            list_flows,
        } = traffic;
        self.word(&TRAFFIC, "kind", Some(kind.name()));
        let reverse = (*direction == Direction::Reverse).then_some("reverse");
        self.word(&TRAFFIC, "direction", reverse);
        self.key(&TRAFFIC, "algorithm", true);
        self.described(&TRAFFIC, &flow.settings);
        self.ends(&TRAFFIC, flow.ends);
        let delayed = extra_delays.iter().any(|delay| !delay.is_zero());
        self.key(&TRAFFIC, "extra_delay", delayed);
        self.key(&TRAFFIC, "start", *start != Instant::ZERO);
        self.key(&TRAFFIC, "duration", stop.is_some());
        self.key(&TRAFFIC, "list_flows", *list_flows);
    }
}
