//! Refuses flows and traffic whose data and ACKs would take no time: a run of them stays at one
//! instant for ever.

use network::LinkConfig;
use units::Duration;

use crate::document::Table;
use crate::error::Error;
use crate::model::{Direction, Ends, Hosts, Node, PathModel, Place, Step};

/// Pairings of hosts that are checked; the delays of hosts repeat sooner in any usual file.
const MOST_PAIRINGS: u64 = 4096;

/// Refuses data between `ends` in `direction` if no link of the route there and back has a rate or a
/// delay. `extra_delays` are those of the flows, in turn.
pub(crate) fn refuse(
    table: &Table<'_>,
    path: &PathModel,
    ends: Ends,
    direction: Direction,
    extra_delays: &[Duration],
) -> Result<(), Error> {
    let is_possible = is_instant_link(&path.reverse)
        || path
            .links
            .iter()
            .any(|link| is_instant_link(&link.forward.link))
        || !path.hosts.is_empty();
    let delayed = !extra_delays.is_empty() && extra_delays.iter().all(|delay| !delay.is_zero());
    if !is_possible || ends.is_drawn() || delayed || !hosts_are_instant(path, ends) {
        return Ok(());
    }
    let [from, to] = path.ends_of(ends, direction);
    if !is_instant(path, from, to) || !is_instant(path, to, from) {
        return Ok(());
    }
    let [from, to] = [from, to].map(|node| path.node_name(node));
    let reason = format!(
        "the links between {from} and {to} have neither a rate nor a delay, so the data would \
         take no time: give one of them a rate or a delay"
    );
    let key = if table.has("to") { "to" } else { "from" };
    Err(match table.get(key) {
        Some(item) => item.refuse(reason),
        None => table.refuse(reason),
    })
}

/// Whether packets take no time over the access links of a pair of hosts.
fn hosts_are_instant(path: &PathModel, ends: Ends) -> bool {
    let tables = [ends.from, ends.to].map(|place| match place {
        Some(Place::Hosts(table)) => path.hosts.get(table as usize),
        _ => None,
    });
    let all = || tables.iter().flatten();
    let delay = |hosts: &Hosts, turn| hosts.delay(hosts.host(turn));
    let pairings = all().fold(1_u64, |pairings, hosts| pairings * u64::from(hosts.count));
    all().all(|hosts| hosts.rate.is_none())
        && (0..pairings.min(MOST_PAIRINGS))
            .any(|turn| all().all(|hosts| delay(hosts, turn).is_zero()))
}

/// Whether packets take no time on the route between two nodes.
fn is_instant(path: &PathModel, from: Node, to: Node) -> bool {
    path.route(from, to).is_some_and(|route| {
        let is_link = |step: &Step| matches!(step, Step::Link { .. });
        let mut links = route.steps.iter().flat_map(|step| path.configs(*step));
        route.steps.iter().all(is_link) && links.all(is_instant_link)
    })
}

/// Whether packets take no time on an idle link.
fn is_instant_link(link: &LinkConfig) -> bool {
    let is_late = !link.delay.is_zero() || !link.service.idle_delay().is_zero();
    !is_late && link.service.mean_rate().is_none() && link.jitter.is_none()
}
