//! Both event loops, and a traced run, give the same result, to the byte.
//!
//! Scenarios are drawn at random from all that a file can say. Each has a number, from which it is
//! drawn; a failure prints the number and the file. `SLOWSTART_LOOP_SCENARIOS=20000` draws that
//! many, `SLOWSTART_LOOP_SCENARIOS=417..418` the one with that number.

#![allow(clippy::unwrap_used, reason = "a String takes all that is written")]

mod common;

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::combinations;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use scenario::{Application, Direction, PRESETS, Scenario, TrafficKind};
use simulator::{EventLoop, RunOptions};
use units::{Duration, Instant, Rate};
use workload::draw::Times;
use workload::generate::{
    Epochs, Http10Config, MultiplexedConfig, PersistentConfig, RequestResponseConfig,
    SyntheticConfig,
};
use workload::{Plan, VideoClients, VideoConfig};

/// Scenarios of a normal test run.
const SCENARIOS: u64 = 400;

struct Draw(ChaCha8Rng);

impl Draw {
    /// From `least` to `most`.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.next_u64() % (most - least + 1)
    }

    /// True once in `times`.
    fn once_in(&mut self, times: u64) -> bool {
        self.between(1, times) == 1
    }

    /// Between `least` and `most`, small values as often as large ones.
    fn wide(&mut self, least: f64, most: f64) -> f64 {
        let fraction = self.between(0, 1 << 20) as f64 / f64::from(1 << 20);
        least * libm::pow(most / least, fraction)
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.pick_one::<&str>(of)
    }

    fn pick_one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.between(0, of.len() as u64 - 1) as usize]
    }
}

fn rate(draw: &mut Draw, most: f64) -> String {
    // Round numbers make events coincide.
    let mbit = if draw.once_in(3) {
        [1.0, 8.0, 12.0, 24.0][draw.between(0, 3) as usize]
    } else {
        draw.wide(0.2, most)
    };
    format!("{mbit:.3} Mbit/s")
}

/// The server of a direction.
fn service(draw: &mut Draw, reverse: bool) -> String {
    let mbit = rate(draw, 150.0);
    match draw.between(0, if reverse { 11 } else { 13 }) {
        0 => format!(
            "{{ mean = '{mbit}', variation = '40 %', correlation = '500 ms', slot = '{} ms' }}",
            draw.between(1, 50)
        ),
        1 => format!(
            "[{{ for = '{} ms', rate = '{mbit}' }}, {{ for = '300 ms', rate = '0 bit/s' }}]",
            draw.between(100, 3000)
        ),
        2 => format!(
            "{{ model = 'token-bucket', rate = '{mbit}', burst = '{} kB' }}",
            draw.between(3, 200)
        ),
        3 => format!(
            "{{ model = 'policer', rate = '{mbit}', burst = '{} kB', then = '200 Mbit/s', exceed = '{}' }}",
            draw.between(3, 200),
            draw.pick(&["drop", "mark"])
        ),
        4 => format!(
            "{{ model = 'geo', rate = '{mbit}', frame = '{} ms' }}",
            draw.between(0, 5)
        ),
        5 => format!(
            "{{ model = 'dama', cra = '{} kbit/s', ack_filter = {} }}",
            draw.between(32, 1000),
            draw.once_in(2)
        ),
        6 => format!(
            "{{ model = 'leo', rate = '{mbit}', grant = '{} ms' }}",
            draw.between(0, 12)
        ),
        7 => format!("{{ model = 'cell-uplink', rate = '{mbit}' }}"),
        8 => format!("{{ model = 'cell-reduced', mean = '{mbit}' }}"),
        12 => "{ model = 'lte' }".to_owned(),
        13 => "{ model = 'wifi', standard = 'g' }".to_owned(),
        _ => format!("'{mbit}'"),
    }
}

/// Queue, losses and jitter of a direction; the names of its keys begin with `prefix`.
fn medium(draw: &mut Draw, prefix: &str, text: &mut String) {
    let buffer = match draw.between(0, 3) {
        0 => "unlimited".to_owned(),
        1 => format!("{} kB", draw.between(2, 400)),
        _ => format!("{:.0} packets", draw.wide(1.0, 800.0)),
    };
    writeln!(text, "{prefix}buffer = '{buffer}'").unwrap();
    if text.contains("ack_filter = true") {
        return;
    }
    if draw.once_in(2) && buffer != "unlimited" {
        let kind = draw.pick(&["codel", "fq-codel", "pie", "red", "drop-tail"]);
        writeln!(text, "{prefix}aqm = '{kind}'").unwrap();
        if kind != "drop-tail" && draw.once_in(2) {
            writeln!(text, "{prefix}ecn = true").unwrap();
        }
    } else if draw.once_in(6) && buffer != "unlimited" {
        let kind = "{ kind = 'random-above', fill = '50 %', probability = '25 %' }";
        writeln!(text, "{prefix}aqm = {kind}").unwrap();
    }
    match draw.between(0, 5) {
        0 => writeln!(text, "{prefix}loss = '{:.2} %'", draw.wide(0.01, 8.0)).unwrap(),
        1 => writeln!(
            text,
            "{prefix}loss = {{ p = '0.5 %', r = '30 %', bad_loss = '80 %' }}"
        )
        .unwrap(),
        _ => {}
    }
    if draw.once_in(4) {
        let distribution = draw.pick(&["uniform", "exponential"]);
        writeln!(
            text,
            "{prefix}jitter = {{ amount = '{} ms', distribution = '{distribution}', slot = '{} ms' }}",
            draw.between(1, 20),
            draw.between(1, 30)
        )
        .unwrap();
    }
    // Not drawn, so that the other choices stay as they are. The rest refuses it.
    let length = text.len();
    if length.is_multiple_of(3) && !text.contains("model") && !text.contains("aqm") {
        writeln!(
            text,
            "{prefix}reordering = {{ probability = '{} %', delay = '{} ms', gap = {} }}",
            1 + length % 40,
            1 + length % 23,
            1 + length % 4
        )
        .unwrap();
    }
}

fn delay(draw: &mut Draw) -> String {
    match draw.between(0, 9) {
        0 => "0 s".to_owned(),
        1 => format!("{} ns", draw.between(1, 300_000)),
        2..5 => format!("{} ms", draw.between(1, 40)),
        _ => format!("{:.0} us", draw.wide(100.0, 300_000.0)),
    }
}

fn path(draw: &mut Draw, text: &mut String) {
    text.push_str("[path]\n");
    let routers = draw.once_in(5);
    if draw.once_in(3) {
        let preset = PRESETS[draw.between(0, PRESETS.len() as u64 - 1) as usize].name;
        writeln!(text, "preset = '{preset}'").unwrap();
        if ["lte", "5g", "hsdpa"].contains(&preset) && draw.once_in(2) {
            text.push_str("rrc = 'idle'\n");
        }
        return;
    }
    let service = service(draw, false);
    let is_wifi = service.contains("wifi");
    writeln!(text, "rate = {service}").unwrap();
    medium(draw, "", text);
    writeln!(text, "forward.delay = '{}'", delay(draw)).unwrap();
    writeln!(text, "reverse.delay = '{}'", delay(draw)).unwrap();
    if draw.once_in(2) && !is_wifi {
        writeln!(text, "reverse.rate = {}", self::service(draw, true)).unwrap();
        medium(draw, "reverse.", text);
    }
    if routers && !is_wifi {
        writeln!(
            text,
            "router_support = '{}'",
            draw.pick(&["none", "rcp", "xcp", "quick-start"])
        )
        .unwrap();
        for _ in 0..draw.between(1, 3) {
            let support = draw.pick(&["none", "rcp", "xcp", "quick-start"]);
            writeln!(
                text,
                "[[path.router]]\nrate = '250 Mbit/s'\nrouter_support = '{support}'"
            )
            .unwrap();
        }
    }
}

fn flow(draw: &mut Draw, algorithms: &[String], is_timed: bool, text: &mut String) {
    let algorithm = if draw.once_in(4) {
        draw.pick(&[
            "cubic",
            "reno",
            "bbr",
            "bbr3",
            "rcp",
            "xcp",
            "cubic+suss",
            "cubic+quick-start",
        ])
        .to_owned()
    } else {
        algorithms[draw.between(0, algorithms.len() as u64 - 1) as usize].clone()
    };
    writeln!(text, "[[flow]]\nalgorithm = '{algorithm}'").unwrap();
    let size = draw.wide(1.0, 3e6) as u64;
    match draw.between(0, 6) {
        0 => writeln!(text, "duration = '{} ms'", draw.between(1, 4000)).unwrap(),
        1 if is_timed => {}
        _ => writeln!(text, "size = '{size} B'").unwrap(),
    }
    if draw.once_in(2) {
        writeln!(text, "start = '{} ms'", draw.between(0, 900)).unwrap();
    }
    if draw.once_in(5) {
        writeln!(
            text,
            "count = {}\nstagger = '{} ms'",
            draw.between(2, 3),
            draw.between(0, 400)
        )
        .unwrap();
    }
    if draw.once_in(3) {
        writeln!(text, "extra_delay = '{}'", delay(draw)).unwrap();
    }
    let write = draw.wide(1.0, 300_000.0).max(size as f64 / 200.0) as u64;
    match draw.between(0, 9) {
        0 => writeln!(
            text,
            "application = {{ write = '{write} B', every = '{} us' }}",
            draw.between(500, 300_000)
        )
        .unwrap(),
        1 => writeln!(
            text,
            "application = {{ write = '{write} B', pause = '{} us' }}",
            draw.between(500, 900_000)
        )
        .unwrap(),
        2 => text.push_str("application = { rate = '256 kbit/s' }\n"),
        _ => {}
    }
    // Not drawn, so that the other choices stay as they are.
    if text.len().is_multiple_of(4) {
        let tick = [1, 4, 10][text.len() / 4 % 3];
        writeln!(text, "tick = '{tick} ms'").unwrap();
    }
    let is_old = algorithm.ends_with("rate-halving");
    let window = draw.between(1, 40);
    for (odds, key) in [
        (4, format!("initial_window = {window}")),
        (4, "pacing = true".to_owned()),
        (3, "ecn = true".to_owned()),
        (6, "sack = false".to_owned()),
        (6, "ack_policy = 'every-segment'".to_owned()),
        (
            8,
            format!("receive_buffer = '{} kB'", draw.between(20, 500)),
        ),
        (
            8,
            format!("autotuning = '{}'", draw.pick(&["off", "linux-5.4"])),
        ),
        (6, format!("tso_segments = {}", draw.between(1, 4))),
        (6, "restart_after_idle = false".to_owned()),
        (10, "byte_counting = false".to_owned()),
        (8, format!("mss = '{} bytes'", draw.between(88, 1448))),
    ] {
        // The loss detection of old kernels needs SACK.
        if draw.once_in(odds) && !(is_old && key == "sack = false") {
            writeln!(text, "{key}").unwrap();
        }
    }
    if draw.once_in(6) {
        writeln!(text, "small_queue = {}", draw.between(5, 11)).unwrap();
    }
    let has_sack = !text[text.rfind("[[flow]]").unwrap()..].contains("sack = false");
    if is_old || draw.once_in(12) && has_sack {
        text.push_str("loss_detection = 'fack'\n");
    }
    if draw.once_in(8) {
        let rate = draw.between(50, 50_000);
        let parts = draw.between(1, 20);
        let plan = match draw.between(0, 3) {
            0 => format!("divide = {parts}"),
            1 => format!("duplicate = {parts}"),
            2 => format!("optimistic = '{rate} kbit/s', divide = {parts}"),
            _ if text.contains("every-segment") => "duplicate = 1".to_owned(),
            _ => format!("stretch = {}, wait = '{parts} ms'", parts + 1),
        };
        writeln!(text, "misbehavior = {{ {plan} }}").unwrap();
    }
}

fn traffic(draw: &mut Draw, algorithms: &[String], text: &mut String) {
    text.push_str("[[traffic]]\n");
    match draw.between(0, 4) {
        0 | 1 => writeln!(
            text,
            "kind = 'web'\narrivals = '{} /s'\nmean = '{} B'",
            draw.between(1, 60),
            draw.between(500, 60_000)
        ),
        2 => writeln!(
            text,
            "kind = 'bulk'\ncount = {}\nspread = '{} ms'\nsize = '{:.0} B'",
            draw.between(1, 4),
            draw.between(0, 1500),
            draw.wide(1.0, 2e6)
        ),
        3 => writeln!(
            text,
            "kind = 'video'\nbitrate = '{} kbit/s'\nsegment = '{} ms'",
            draw.between(100, 4000),
            draw.between(50, 1500)
        ),
        _ => writeln!(
            text,
            "kind = 'datagrams'\ncount = {}\nrate = '{} kbit/s'\non = '{} ms'\noff = '{} ms'",
            draw.between(1, 3),
            draw.between(50, 3000),
            draw.between(1, 900),
            draw.between(0, 900)
        ),
    }
    .unwrap();
    writeln!(text, "direction = '{}'", draw.pick(&["forward", "reverse"])).unwrap();
    if draw.once_in(2) {
        writeln!(text, "extra_delay = ['0 s', '{}', '5 ms']", delay(draw)).unwrap();
    }
    match draw.between(0, 5) {
        0 => writeln!(text, "start = '{} ms'", draw.between(0, 1500)).unwrap(),
        1 => writeln!(text, "duration = '{} ms'", draw.between(1, 2500)).unwrap(),
        2 => writeln!(text, "warm_up = '{} ms'", draw.between(0, 900)).unwrap(),
        _ => {}
    }
    if !text.ends_with("off = ")
        && !text[text.rfind("[[traffic]]").unwrap()..].contains("datagrams")
    {
        if draw.once_in(3) {
            let algorithm = &algorithms[draw.between(0, algorithms.len() as u64 - 1) as usize];
            writeln!(text, "algorithm = '{algorithm}'").unwrap();
        }
        if draw.once_in(4) {
            text.push_str("ecn = true\n");
        }
        if draw.once_in(4) {
            text.push_str("pacing = true\n");
        }
    }
    text.push_str("list_flows = true\n");
}

/// Puts hosts behind access links at both ends: for all flows, or at random.
fn hosts(draw: &mut Draw, text: &mut String) {
    let is_mixed = draw.once_in(4);
    let mut placed = String::new();
    for (place, part) in text.split("[[").enumerate() {
        let Some((header, rest)) = part.split_once("]]").filter(|_| place > 0) else {
            placed.push_str(part);
            continue;
        };
        write!(placed, "[[{header}]]").unwrap();
        if header == "flow" || header == "traffic" {
            let is_reverse = rest.contains("direction = 'reverse'");
            let [left, right] = if is_reverse {
                ["to", "from"]
            } else {
                ["from", "to"]
            };
            if !is_mixed || draw.once_in(2) {
                write!(placed, "\n{right} = 'right'").unwrap();
            }
            if draw.once_in(2) {
                write!(placed, "\n{left} = 'left'").unwrap();
            }
        }
        placed.push_str(rest);
    }
    *text = placed;
    for at in ["left", "right"] {
        let count = draw.between(1, 20);
        write!(
            text,
            "[[hosts]]\nname = '{at}'\nat = '{at}'\ncount = {count}\ndelay = ["
        )
        .unwrap();
        for _ in 0..draw.between(1, 4) {
            write!(text, "'{}', ", delay(draw)).unwrap();
        }
        text.push_str("]\n");
        if draw.once_in(2) {
            let packets = draw.wide(1.0, 200.0);
            let rate = rate(draw, 500.0);
            writeln!(text, "rate = '{rate}'\nbuffer = '{packets:.0} packets'").unwrap();
        }
    }
}

/// Makes the node of the last table a proxy, once in `times`.
fn proxy(draw: &mut Draw, times: u64, text: &mut String) {
    if !draw.once_in(times) {
        return;
    }
    let buffer = draw.wide(2896.0, 4e6);
    write!(text, "proxy = {{ buffer = '{buffer:.0} B'").unwrap();
    for (odds, key) in [
        (2, "algorithm = 'hybla'"),
        (3, "initial_window = 40"),
        (3, "pacing = true"),
    ] {
        if draw.once_in(odds) {
            write!(text, ", {key}").unwrap();
        }
    }
    text.push_str(" }\n");
}

/// Makes ends of the path proxies.
fn proxies_at_ends(draw: &mut Draw, text: &mut String) {
    for name in ["left", "right"] {
        if draw.once_in(2) {
            writeln!(text, "[[node]]\nname = '{name}'").unwrap();
            proxy(draw, 1, text);
        }
    }
}

/// Puts nodes and links around the path, hosts at one of the nodes, and, unless they have hosts, the
/// ends of flows anywhere.
fn graph(draw: &mut Draw, text: &mut String) {
    let mut nodes = vec!["left".to_owned(), "right".to_owned()];
    let mut links = String::new();
    let link = |draw: &mut Draw, from: &str, to: &str, number: usize, links: &mut String| {
        writeln!(
            links,
            "[[link]]\nfrom = '{from}'\nto = '{to}'\nname = 'l{number}'"
        )
        .unwrap();
        let may_share = draw.once_in(3);
        let service = service(draw, !may_share);
        writeln!(links, "rate = {service}\ndelay = '{}'", delay(draw)).unwrap();
        let mut queue = String::new();
        medium(draw, "", &mut queue);
        if !service.contains("ack_filter = true") {
            links.push_str(&queue);
        }
        match draw.between(0, 7) {
            0 if !may_share => links.push_str("one_way = true\n"),
            1 => writeln!(links, "reverse = {{ delay = '{}' }}", delay(draw)).unwrap(),
            2 => links.push_str("router_support = 'rcp'\n"),
            3 => links.push_str("router_support = 'quick-start'\n"),
            _ => {}
        }
    };
    for number in 0..draw.between(1, 5) as usize {
        let name = format!("n{number}");
        let other = draw.between(0, nodes.len() as u64 - 1) as usize;
        // Leads both ways, so that every node is reached.
        let mut one = String::new();
        link(draw, &name, &nodes[other], number, &mut one);
        links.push_str(&one.replace("one_way = true\n", ""));
        writeln!(text, "[[node]]\nname = '{name}'").unwrap();
        proxy(draw, 3, text);
        nodes.push(name);
    }
    for number in 0..draw.between(0, 4) as usize {
        let [from, to] = [(); 2].map(|()| draw.between(0, nodes.len() as u64 - 1) as usize);
        if from != to {
            link(draw, &nodes[from], &nodes[to], 100 + number, &mut links);
        }
    }
    text.push_str(&links);
    if text.contains("[[hosts]]") {
        return;
    }
    let at = draw.between(0, nodes.len() as u64 - 1) as usize;
    writeln!(
        text,
        "[[hosts]]\nname = 'hosts'\nat = '{}'\ncount = {}\nrate = '{}'\ndelay = '{}'",
        nodes[at],
        draw.between(1, 5),
        rate(draw, 300.0),
        delay(draw)
    )
    .unwrap();
    nodes.push("hosts".to_owned());
    let mut placed = String::new();
    for (place, part) in text.split("[[").enumerate() {
        let Some((header, rest)) = part.split_once("]]").filter(|_| place > 0) else {
            placed.push_str(part);
            continue;
        };
        write!(placed, "[[{header}]]").unwrap();
        if (header == "flow" || header == "traffic") && !draw.once_in(4) {
            let from = draw.between(0, nodes.len() as u64 - 1) as usize;
            let step = draw.between(1, nodes.len() as u64 - 1) as usize;
            let to = (from + step) % nodes.len();
            write!(placed, "\nfrom = '{}'\nto = '{}'", nodes[from], nodes[to]).unwrap();
        }
        placed.push_str(rest);
    }
    *text = placed;
}

/// Puts an ad-hoc network or a constellation beside the path, or in its place. Flows and traffic
/// cross it, unless they stay on the path.
fn cloud(draw: &mut Draw, text: &mut String) {
    let is_alone = draw.once_in(2);
    if is_alone && let (Some(from), Some(to)) = (text.find("[path]"), text.find("[[flow]]")) {
        text.replace_range(from..to, "");
    }
    let nodes = draw.between(2, 8);
    let (network, names): (String, Vec<String>) = match draw.between(0, 4) {
        0 => (
            format!(
                "kind = 'ideal'\nnodes = {nodes}\nrate = '{}'\ndelay = '{}'\nqueue = '{} packets'\n",
                rate(draw, 20.0),
                delay(draw),
                draw.between(2, 60)
            ),
            (0..nodes).map(|node| format!("node {node}")).collect(),
        ),
        1 => (
            "kind = 'constellation'\nstart = '100 s'\n\
             terminal = [{ name = 'a', latitude = '37.9 deg', longitude = '-122.3 deg' }, \
             { name = 'b', latitude = '42.3 deg', longitude = '-71.1 deg' }]\n"
                .to_owned(),
            vec!["a".to_owned(), "b".to_owned()],
        ),
        _ => (
            format!(
                "kind = 'adhoc'\nnodes = {nodes}\narea = '{} m'\nrouting = '{}'\nmac = '{}'\n\
                 mobility = '{}'\nwarm_up = '{} ms'\n",
                draw.between(50, 500),
                draw.pick(&["dsdv", "aodv"]),
                draw.pick(&["802.11", "802.15.4"]),
                draw.pick(&["static", "random-waypoint"]),
                draw.between(0, 2000)
            ),
            (0..nodes).map(|node| format!("node {node}")).collect(),
        ),
    };
    let mut tables = format!("[network]\n{network}");
    if !is_alone {
        let (end, node) = (draw.pick(&["left", "right"]), draw.pick_one(&names));
        writeln!(
            tables,
            "[[link]]\nfrom = '{end}'\nto = '{node}'\nrate = '{}'\ndelay = '1 ms'\nbuffer = '40 packets'",
            rate(draw, 50.0)
        )
        .unwrap();
    }
    let mut placed = String::new();
    for (place, part) in text.split("[[").enumerate() {
        let Some((header, rest)) = part.split_once("]]").filter(|_| place > 0) else {
            placed.push_str(part);
            continue;
        };
        write!(placed, "[[{header}]]").unwrap();
        if header == "flow" || header == "traffic" {
            match draw.between(0, 2) {
                0 => placed.push_str("\nfrom = 'any'\nto = 'any'"),
                1 => {
                    let from = draw.between(0, names.len() as u64 - 1) as usize;
                    let step = draw.between(1, names.len() as u64 - 1) as usize;
                    let to = (from + step) % names.len();
                    write!(placed, "\nfrom = '{}'\nto = '{}'", names[from], names[to]).unwrap();
                }
                _ => {}
            }
        }
        placed.push_str(rest);
    }
    // The device of such a queue is the first link of a route.
    let lines = placed
        .lines()
        .filter(|line| !line.starts_with("small_queue"));
    *text = lines.collect::<Vec<_>>().join("\n") + "\n" + &tables;
}

/// The file of scenario `number`.
fn file(number: u64, algorithms: &[String]) -> String {
    let draw = &mut Draw(ChaCha8Rng::seed_from_u64(number));
    let mut text = format!("seed = {}\n", draw.between(0, 1 << 40));
    let is_timed = draw.once_in(2);
    if is_timed {
        writeln!(text, "duration = '{} ms'", draw.between(1, 5000)).unwrap();
    }
    writeln!(text, "time_limit = '{} ms'", draw.between(1000, 8000)).unwrap();
    path(draw, &mut text);
    let most = draw.pick(&["1", "2", "4", "12"]).parse().unwrap();
    for _ in 0..draw.between(1, most) {
        flow(draw, algorithms, is_timed, &mut text);
    }
    if draw.once_in(2) {
        for _ in 0..draw.between(1, 3) {
            traffic(draw, algorithms, &mut text);
        }
    }
    if draw.once_in(8) {
        cloud(draw, &mut text);
        return text;
    }
    if draw.once_in(4) {
        hosts(draw, &mut text);
    }
    if draw.once_in(3) {
        graph(draw, &mut text);
    }
    if draw.once_in(3) {
        proxies_at_ends(draw, &mut text);
    }
    text
}

/// Replaces some of the one-way traffic by connections in which both sides write.
fn talk(draw: &mut Draw, scenario: &mut Scenario) -> bool {
    let mut any = false;
    for traffic in &mut scenario.path.traffic {
        if matches!(traffic.kind, TrafficKind::Datagrams { .. }) || draw.once_in(3) {
            continue;
        }
        any = true;
        let per_s = draw.wide(0.5, 60.0);
        let mut epochs = Epochs::default();
        if draw.once_in(2) {
            // Zero waits and round ones make events coincide.
            epochs.think = Times::Constant(Duration::from_millis(draw.between(0, 300)));
            epochs.delay = Times::Constant(Duration::from_millis(draw.between(0, 30)));
        }
        let plan = match draw.between(0, 5) {
            0 => Plan::Synthetic(SyntheticConfig {
                epochs,
                concurrent: 0.4,
                small_segments: draw.once_in(3).then_some(0.3),
                ..SyntheticConfig::new(per_s)
            }),
            1 => Plan::Http10(Http10Config::new(per_s)),
            2 => Plan::Persistent(PersistentConfig {
                epochs,
                ..PersistentConfig::new(per_s)
            }),
            3 => Plan::Multiplexed(MultiplexedConfig::new(per_s / 8.0)),
            4 => Plan::RequestResponse(RequestResponseConfig {
                clients: draw.between(1, 20) as u32,
                begin: Instant::ZERO,
                spread: Duration::from_millis(draw.between(0, 500)),
                requests: draw.between(1, 30) as u32,
                epochs,
            }),
            _ => Plan::AdaptiveVideo(VideoClients {
                clients: draw.between(1, 3) as u32,
                begin: Instant::ZERO,
                spread: Duration::from_millis(draw.between(0, 500)),
                client: VideoConfig {
                    segment: Duration::from_millis(draw.between(50, 900)),
                    ..VideoConfig::new(
                        [300_000, 900_000].map(Rate::from_bits_per_sec).to_vec(),
                        Some(draw.between(1, 9) as u32),
                    )
                },
            }),
        };
        traffic.kind = TrafficKind::Exchanges(plan);
        traffic.flow.application = Application::Bulk;
    }
    if any && scenario.duration.is_some() && draw.once_in(3) {
        scenario.flows.clear();
    }
    any
}

/// Whether a proxy splits a connection.
fn splits(scenario: &Scenario) -> bool {
    let path = &scenario.path;
    let flows = scenario
        .flows
        .iter()
        .map(|it| (it.ends, Direction::Forward));
    let traffic = path.traffic.iter().map(|it| (it.flow.ends, it.direction));
    flows
        .chain(traffic)
        .any(|(ends, direction)| !path.proxies_between(ends, direction).is_empty())
}

/// The result of a scenario, as text.
fn result(scenario: &Scenario, options: &RunOptions) -> String {
    let output = simulator::run(scenario, 0, options, &AtomicBool::new(false));
    serde_json::to_string_pretty(&output.unwrap().result).unwrap()
}

/// The first lines in which two results differ, with their numbers.
fn difference(one: &str, other: &str) -> String {
    let lines = (1..).zip(one.lines().zip(other.lines()));
    let unlike = lines.filter(|(_, (one, other))| one != other);
    let shown = unlike
        .take(12)
        .map(|(line, (one, other))| format!("line {line}: {} or {}", one.trim(), other.trim()));
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn all_loops_give_the_same_result() {
    let wanted = std::env::var_os("SLOWSTART_LOOP_SCENARIOS").map(|value| {
        let text = value.to_string_lossy().into_owned();
        let (first, last) = text.split_once("..").unwrap_or(("0", &text));
        first.parse().unwrap()..last.parse().unwrap()
    });
    let algorithms = combinations();
    let (mut invalid, mut wrong) = (Vec::new(), Vec::new());
    let (mut with_hosts, mut with_links, mut with_proxies) = (0, 0, 0);
    let (mut with_networks, mut talking) = (0, 0);
    let numbers = wanted.unwrap_or(0..SCENARIOS);
    for number in numbers.clone() {
        let text = file(number, &algorithms);
        let mut scenario = match Scenario::parse(&text, "random.toml", Path::new("")) {
            Ok(scenario) => scenario,
            Err(error) => {
                invalid.push(error.to_string());
                continue;
            }
        };
        let draw = &mut Draw(ChaCha8Rng::seed_from_u64(!number));
        talking += u64::from(talk(draw, &mut scenario));
        let with = |event_loop| RunOptions {
            event_loop,
            ..RunOptions::default()
        };
        let [plain, turns] = [EventLoop::Plain, EventLoop::Turns].map(with);
        let traced = RunOptions {
            traces: true,
            ..RunOptions::default()
        };
        with_hosts += u64::from(!scenario.path.hosts.is_empty());
        with_proxies += u64::from(splits(&scenario));
        with_links += u64::from(!scenario.path.links.is_empty());
        with_networks += u64::from(scenario.path.cloud.is_some());
        let expected = result(&scenario, &plain);
        let usual = with(EventLoop::Fastest);
        for (name, options) in [("turns", turns), ("usual", usual), ("traced", traced)] {
            let found = result(&scenario, &options);
            if found != expected {
                let difference = difference(&expected, &found);
                println!("scenario {number}, the {name} run:\n{difference}\n{text}");
                let kinds = scenario.path.traffic.iter().map(|traffic| &traffic.kind);
                println!("traffic: {:?}", kinds.collect::<Vec<_>>());
                wrong.push(number);
            }
        }
    }
    let count = numbers.end - numbers.start;
    let most = count / 5 + 1;
    assert!(
        invalid.len() as u64 <= most,
        "{} of {count} scenarios are not valid: {:#?}",
        invalid.len(),
        &invalid[..invalid.len().min(30)]
    );
    assert!(wrong.is_empty(), "results differ: {wrong:?}");
    for (found, fraction, what) in [
        (with_hosts, 0.35, "have hosts"),
        (talking, 0.3, "have connections in which both sides write"),
        (with_links, 0.28, "have links"),
        (with_proxies, 0.1, "have connections that proxies split"),
        (with_networks, 0.1, "have a network"),
    ] {
        let least = fewest(count, fraction);
        assert!(
            found >= least,
            "only {found} of {count} {what}, not {least}"
        );
    }
}

/// Fewer than this many of `count` independent scenarios have something that the given fraction of
/// all scenarios has, or a larger one, only once in millions of ranges: five standard deviations
/// less than expected.
fn fewest(count: u64, fraction: f64) -> u64 {
    let expected = count as f64 * fraction;
    (expected - 5.0 * libm::sqrt(expected * (1.0 - fraction))).max(0.0) as u64
}
