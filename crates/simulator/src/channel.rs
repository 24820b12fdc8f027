//! The links of a scenario's path and network, made for one run.
//!
//! Each link draws from a random stream named after it: `path.forward`, `path.reverse`, `path.NAME`
//! for a router before the forward link, and `link NAME` for a direction of a `[[link]]`. Whatever
//! its packets carry, a link of the same name and seed has the same losses, rates and delays: the
//! simulated TCP and every other stack meet the same channel.

use network::router::{Router, RouterSupport};
use network::{Link, LinkConfig, Payload, Streams};
use scenario::{LinkModel, PathModel, RouterModel};
use units::Rate;

/// The random streams of the path's own links.
pub(crate) const PATH_STREAMS: [&str; 2] = ["path.forward", "path.reverse"];

/// One direction of a link, and the router in front of it.
#[derive(Debug)]
pub struct ChannelLink<'a, T: Payload> {
    /// The link.
    pub link: Link<T>,
    /// Its configuration.
    pub config: &'a LinkConfig,
    /// The router in front of it, if that has explicit support.
    pub router: Option<Router>,
}

/// The links of a path and of the network around it, without hosts and a cloud.
#[derive(Debug)]
pub struct Channel<'a, T: Payload> {
    /// The forward and the reverse link of the path, which may share a medium.
    pub path: [ChannelLink<'a, T>; 2],
    /// The links that data passes before the forward link, from the senders on.
    pub routers: Vec<ChannelLink<'a, T>>,
    /// Both directions of each `[[link]]`.
    pub links: Vec<(ChannelLink<'a, T>, Option<ChannelLink<'a, T>>)>,
}

impl<'a, T: Payload> Channel<'a, T> {
    /// The links of `path`, with random numbers from `streams`.
    #[must_use]
    pub fn new(path: &'a PathModel, streams: &Streams) -> Self {
        let sides = [
            (&path.forward, &path.router_support),
            (&path.reverse, &RouterSupport::None),
        ];
        Self {
            path: pair(sides, PATH_STREAMS.map(str::to_owned), streams),
            routers: path
                .routers
                .iter()
                .map(
                    |RouterModel {
                         link,
                         router_support,
                     }| {
                        one(link, router_support, &router_stream(link), streams)
                    },
                )
                .collect(),
            links: path
                .links
                .iter()
                .map(|link| beside(link, streams))
                .collect(),
        }
    }
}

/// Both directions of a link beside the path.
fn beside<'a, T: Payload>(
    link: &'a LinkModel,
    streams: &Streams,
) -> (ChannelLink<'a, T>, Option<ChannelLink<'a, T>>) {
    let name = |config: &LinkConfig| format!("link {}", config.name);
    let (config, support) = (&link.forward.link, &link.forward.router_support);
    let Some(back) = &link.reverse else {
        return (one(config, support, &name(config), streams), None);
    };
    let sides = [(config, support), (&back.link, &back.router_support)];
    let [forward, reverse] = pair(sides, sides.map(|(config, _)| name(config)), streams);
    (forward, Some(reverse))
}

/// The random stream of the link of a router before the path's forward link.
pub(crate) fn router_stream(config: &LinkConfig) -> String {
    format!("path.{}", config.name)
}

fn one<'a, T: Payload>(
    config: &'a LinkConfig,
    support: &RouterSupport,
    stream: &str,
    streams: &Streams,
) -> ChannelLink<'a, T> {
    let rng = streams.stream(stream);
    ChannelLink {
        router: router(config, support, stream, streams),
        link: Link::new(config, rng),
        config,
    }
}

fn pair<'a, T: Payload>(
    sides: [(&'a LinkConfig, &RouterSupport); 2],
    names: [String; 2],
    streams: &Streams,
) -> [ChannelLink<'a, T>; 2] {
    let rngs = names.each_ref().map(|name| streams.stream(name));
    let [forward, reverse] = Link::pair(sides.map(|(config, _)| config), rngs);
    let made = |link, side: usize| {
        let (config, support) = sides[side];
        ChannelLink {
            link,
            config,
            router: router(config, support, &names[side], streams),
        }
    };
    [made(forward, 0), made(reverse, 1)]
}

fn router(
    config: &LinkConfig,
    support: &RouterSupport,
    stream: &str,
    streams: &Streams,
) -> Option<Router> {
    let rate = config.service.mean_rate().unwrap_or(Rate::MAX);
    Router::new(support, rate, &streams.stream(stream))
}
