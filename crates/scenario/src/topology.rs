//! `[[node]]` and `[[link]]`: the network around the path.
//!
//! The path is one link, between the nodes "left" and "right". Every other link has the keys of a
//! direction of the path; its reverse direction is the same, except for the keys of `reverse`. A node
//! may be a proxy. The nodes of a `[network]` are nodes like the others; a file with one may have no
//! path.

use std::path::Path;
use std::sync::Arc;

use congestion::Algorithm;
use network::router::RouterSupport;
use network::{LinkConfig, Service};
use units::{Bytes, Duration};
use wireless::{CloudConfig, NodeId};

use crate::aqm;
use crate::described;
use crate::document::{Item, Table};
use crate::error::{Error, quoted, suggestion};
use crate::limits::{MAX_LINKS, MAX_NODES};
use crate::link::{self, DEFAULT_BUFFER, Delay, LinkSpec};
use crate::model::{LinkModel, Node, PathModel, ProxyModel, RouterModel};
use crate::quantity::Buffer;
use crate::tables::{LINK, LINK_REVERSE, NODE, PROXY};

/// Of a proxy, for each connection and direction.
const DEFAULT_PROXY_BUFFER: Bytes = Bytes::new(4_000_000);

/// The transmit queue that Linux gives a network device; for links without an RTT to refer to.
const DEVICE_BUFFER: Buffer = Buffer::Packets(1000);

/// What the file says about nodes and links.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    /// Whether there is no path.
    is_pathless: bool,
    cloud: Option<CloudConfig>,
    /// The names of the cloud's nodes, and behind them those of the file's.
    nodes: Vec<String>,
    proxies: Vec<ProxyModel>,
    links: Vec<Spec>,
    /// The nodes that each node reaches; empty without links.
    reached: Vec<Vec<bool>>,
}

#[derive(Clone, Debug)]
struct Spec {
    names: [String; 2],
    ends: [Node; 2],
    forward: Side,
    reverse: Option<Side>,
}

/// A direction of a link.
#[derive(Clone, Debug)]
struct Side {
    link: LinkSpec,
    router_support: RouterSupport,
}

impl Network {
    /// Reads `node` and `link` of a file. Trace names are relative to `folder`.
    pub(crate) fn read(
        root: &Table<'_>,
        cloud: Option<CloudConfig>,
        folder: &Path,
    ) -> Result<Self, Error> {
        let mut network = Self {
            is_pathless: !root.has("path"),
            ..Self::default()
        };
        if let Some(cloud) = cloud {
            let nodes = (0..cloud.node_count()).map(NodeId);
            network.nodes = nodes
                .map(|node| cloud.node_name(node).into_owned())
                .collect();
            network.cloud = Some(cloud);
        }
        if let Some(item) = root.get("node") {
            let expected = || item.refuse("nodes are written as tables [[node]]");
            for table in item.as_tables(&NODE, MAX_NODES).ok_or_else(expected)?? {
                let name = table.need("name")?;
                let words = name.words()?;
                let proxy = table.get("proxy").map(|item| item.table(&PROXY));
                let known = network.find(&words);
                let own = known.filter(|node| node.is_end() || network.is_in_cloud(*node));
                if let (Some(at), Some(table)) = (own, &proxy)
                    && network.proxies.iter().all(|proxy| proxy.at != at)
                {
                    let table = table.as_ref().map_err(Clone::clone)?;
                    network.proxies.push(self::proxy(table, at)?);
                    continue;
                }
                if known.is_some() {
                    let is_other = network.proxies.iter().any(|proxy| known == Some(proxy.at));
                    return Err(name.refuse(match own {
                        Some(node) if !is_other && node.is_end() => {
                            "this is the name of an end of the path"
                        }
                        Some(_) if !is_other => "this is the name of a node of the [network]",
                        _ => "another node has this name",
                    }));
                }
                if let Some(table) = proxy {
                    let at = Node(Node::FIRST + network.nodes.len() as u32);
                    network.proxies.push(self::proxy(&table?, at)?);
                }
                network.nodes.push(words);
            }
        }
        for table in tables(root)? {
            let spec = network.link(&table, folder)?;
            network.links.push(spec);
        }
        network.proxies.sort_by_key(|proxy| proxy.at);
        network.explore();
        Ok(network)
    }

    /// The node of that name.
    pub(crate) fn find(&self, name: &str) -> Option<Node> {
        let first = if self.is_pathless { Node::FIRST } else { 0 };
        (first..)
            .zip(self.names())
            .find_map(|(number, known)| (known == name).then_some(Node(number)))
    }

    /// The names of all nodes, in order; those of the path's ends only if there is a path.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let ends: &[&str] = match self.is_pathless {
            true => &[],
            false => &["left", "right"],
        };
        let others = self.nodes.iter().map(String::as_str);
        ends.iter().copied().chain(others)
    }

    /// The number of nodes, with the ends of a path that is not there.
    const fn count(&self) -> usize {
        Node::FIRST as usize + self.nodes.len()
    }

    /// The name of a node.
    pub(crate) fn name(&self, node: Node) -> &str {
        let first = if self.is_pathless { Node::FIRST } else { 0 };
        let place = node.0.saturating_sub(first) as usize;
        self.names().nth(place).unwrap_or_default()
    }

    /// Whether a node belongs to the cloud.
    pub(crate) fn is_in_cloud(&self, node: Node) -> bool {
        let number = node.0.checked_sub(Node::FIRST);
        number.is_some_and(|number| number < self.cloud_size())
    }

    /// How many nodes the cloud has.
    pub(crate) fn cloud_size(&self) -> u32 {
        self.cloud.as_ref().map_or(0, CloudConfig::node_count)
    }

    /// Whether the file declares a node of that name, or the cloud has one.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node == name)
    }

    /// Whether the path is all there is.
    pub(crate) const fn is_path_alone(&self) -> bool {
        self.links.is_empty() && self.cloud.is_none()
    }

    /// Whether there is no path.
    pub(crate) const fn is_pathless(&self) -> bool {
        self.is_pathless
    }

    /// Whether proxies split connections.
    pub(crate) const fn has_proxies(&self) -> bool {
        !self.proxies.is_empty()
    }

    /// Whether a route leads from a node to another.
    pub(crate) fn reaches(&self, from: Node, to: Node) -> bool {
        let reached = self
            .reached
            .get(from.index())
            .and_then(|row| row.get(to.index()));
        reached
            .copied()
            .unwrap_or_else(|| from.0.max(to.0) <= Node::RIGHT.0)
    }

    /// The node of an item, by its name.
    pub(crate) fn node(&self, item: &Item<'_>) -> Result<Node, Error> {
        let name = item.words()?;
        self.find(&name).ok_or_else(|| {
            let hint = suggestion(&name, self.names());
            let usual = format!("no [[node]] has this name{hint}");
            item.refuse(self.unknown(&name, &usual))
        })
    }

    /// Why no node has a name; `usual` is the sentence where there is no better one.
    pub(crate) fn unknown(&self, name: &str, usual: &str) -> String {
        let size = self.cloud_size();
        if self.is_pathless && matches!(name, "left" | "right") {
            return "the file has no [path], of which this is an end".to_owned();
        }
        let number = name
            .strip_prefix("node ")
            .and_then(|text| text.parse().ok());
        if let Some(number) = number
            && size > 0
            && !self.is_in_cloud(Node(u32::saturating_add(number, Node::FIRST)))
        {
            return format!(
                "the [network] has {size} nodes, from node 0 to node {}",
                size - 1
            );
        }
        usual.to_owned()
    }

    fn link(&self, table: &Table<'_>, folder: &Path) -> Result<Spec, Error> {
        let ends = [
            self.node(&table.need("from")?)?,
            self.node(&table.need("to")?)?,
        ];
        if ends[0] == ends[1] {
            return Err(table.refuse_at("to", "a link leads to another node than it comes from"));
        }
        let [from, to] = ends.map(|node| self.name(node).to_owned());
        let names = match table.get("name") {
            Some(item) => {
                let name = item.words()?;
                let back = format!("{name} (reverse)");
                [name, back]
            }
            None => [format!("{from}-{to}"), format!("{to}-{from}")],
        };
        let others = self.links.iter().flat_map(|other| &other.names);
        if let Some(taken) = others
            .chain(&["forward", "reverse"].map(str::to_owned))
            .find(|name| names.contains(name))
        {
            return Err(table.refuse_at(
                "name",
                format!(
                    "another link has the name {}: give this one a different name",
                    quoted(taken)
                ),
            ));
        }
        let mut forward = Side {
            link: LinkSpec::of(table, folder)?,
            router_support: described::choose(table, "router_support")?.unwrap_or_default(),
        };
        forward
            .link
            .delay
            .get_or_insert(Delay::Constant(Duration::ZERO));
        aqm::refuse_marking(table, forward.link.aqm)?;
        let one_way = table.or("one_way", false)?;
        let mut reverse = forward.clone();
        if let Some(item) = table.get("reverse") {
            if one_way {
                return Err(item.refuse("a link with one_way = true has no reverse direction"));
            }
            let own = item.table(&LINK_REVERSE)?;
            reverse.link.open(&[Some(&own)]);
            reverse.link.lay(&own, folder)?;
            if let Some(said) = described::choose(&own, "router_support")? {
                reverse.router_support = said;
            }
            aqm::refuse_marking(&own, reverse.link.aqm)?;
        }
        if let Some(item) = table.get("rrc")
            && !link::take_rrc([&mut forward.link, &mut reverse.link], table)?
        {
            return Err(
                item.refuse("no rate of the link is of model lte, 5g, cell-reduced or hsdpa")
            );
        }
        if one_way
            && forward
                .link
                .service
                .as_ref()
                .is_some_and(|service| service.wifi().is_some())
        {
            return Err(table.refuse_at(
                "one_way",
                "a Wi-Fi network carries both directions: leave one_way out",
            ));
        }
        Ok(Spec {
            names,
            ends,
            forward,
            reverse: (!one_way).then_some(reverse),
        })
    }

    /// Finds the nodes that each node reaches.
    fn explore(&mut self) {
        if self.is_path_alone() {
            return;
        }
        // The second half are the nodes as they are reached through the cloud, once; the last one is
        // the cloud itself.
        let count = self.count();
        let hub = 2 * count;
        let mut next = vec![Vec::new(); hub + 1];
        let mut join = |from: usize, to: usize| {
            next[from].push(to);
            next[from + count].push(to + count);
        };
        if !self.is_pathless {
            join(Node::LEFT.index(), Node::RIGHT.index());
            join(Node::RIGHT.index(), Node::LEFT.index());
        }
        for link in &self.links {
            let [from, to] = link.ends.map(Node::index);
            join(from, to);
            if link.reverse.is_some() {
                join(to, from);
            }
        }
        for number in 0..self.cloud_size() as usize {
            let node = Node::FIRST as usize + number;
            next[node].push(hub);
            next[hub].push(node + count);
        }
        let from = |start: usize| {
            let mut reached = vec![false; hub + 1];
            reached[start] = true;
            let mut open = vec![start];
            while let Some(at) = open.pop() {
                for &to in &next[at] {
                    if !std::mem::replace(&mut reached[to], true) {
                        open.push(to);
                    }
                }
            }
            (0..count)
                .map(|node| reached[node] || reached[node + count])
                .collect()
        };
        self.reached = (0..count).map(from).collect();
    }

    /// Adds nodes and links to a path, whose base RTT gives a BDP its length.
    pub(crate) fn settle(self, root: &Table<'_>, path: &mut PathModel) -> Result<(), Error> {
        for (table, spec) in tables(root)?.iter().zip(self.links) {
            let link = spec
                .resolve(path)
                .map_err(|reason| table.refuse(format!("[[link]] {reason}")))?;
            path.links.push(link);
        }
        path.cloud = self.cloud;
        path.nodes = self.nodes;
        path.proxies = self.proxies;
        Ok(())
    }
}

/// A proxy at a node.
fn proxy(table: &Table<'_>, at: Node) -> Result<ProxyModel, Error> {
    let parse = |text: &str| Algorithm::parse(text).map_err(|error| error.to_string());
    let algorithm = table.get("algorithm").map(|item| item.parse(parse));
    Ok(ProxyModel {
        at,
        buffer: table.or("buffer", DEFAULT_PROXY_BUFFER)?,
        algorithm: algorithm.transpose()?.map(Arc::new),
        initial_window: table.read("initial_window")?,
        pacing: table.read("pacing")?,
    })
}

fn tables<'a>(root: &Table<'a>) -> Result<Vec<Table<'a>>, Error> {
    let Some(item) = root.get("link") else {
        return Ok(Vec::new());
    };
    let expected = || item.refuse("links are written as tables [[link]]");
    item.as_tables(&LINK, MAX_LINKS).ok_or_else(expected)?
}

impl Spec {
    /// Fills in the defaults. The error is the end of a sentence about the link.
    fn resolve(self, path: &PathModel) -> Result<LinkModel, String> {
        let [name, back] = self.names;
        let service = |side: &Side| side.link.service.clone().unwrap_or(Service::Unlimited);
        let there = service(&self.forward);
        let forward = self.forward.resolve(&name, there.clone(), path)?;
        let reverse = match self.reverse {
            None => None,
            Some(side) => {
                let service = link::way_back(&there, Some(service(&side)))?;
                Some(side.resolve(&back, service, path)?)
            }
        };
        Ok(LinkModel {
            from: self.ends[0],
            to: self.ends[1],
            forward,
            reverse,
        })
    }
}

impl Side {
    fn resolve(
        self,
        name: &str,
        service: Service,
        path: &PathModel,
    ) -> Result<RouterModel, String> {
        let mut link = self.link;
        link.overhead.get_or_insert(path.forward.overhead);
        if path.is_absent {
            match link.buffer {
                Some(Buffer::Bdp { .. }) => {
                    return Err(format!(
                        "has a buffer for {name} in bdp, and without a [path] there is no RTT to \
                         compute them from"
                    ));
                }
                Some(_) => {}
                None if service == Service::Unlimited => {}
                None => link.buffer = Some(DEVICE_BUFFER),
            }
        }
        if self.router_support != RouterSupport::None && service == Service::Unlimited {
            return Err(format!(
                "has router_support for {name}, which needs a limited rate"
            ));
        }
        let link: LinkConfig = link::finish(name, link, service, DEFAULT_BUFFER, path.base_rtt)?;
        Ok(RouterModel {
            link,
            router_support: self.router_support,
        })
    }
}
