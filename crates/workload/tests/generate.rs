//! Generators: their statistics against theory, from fixed seeds, and what holds for all of them.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use units::{Bytes, Duration, Instant, Rate};
use workload::draw::{Sizes, Times};
use workload::generate::{
    Bulk, BulkConfig, Epochs, Http10, Http10Config, Multiplexed, MultiplexedConfig, OnOff,
    OnOffConfig, Persistent, PersistentConfig, PoissonFlows, PoissonFlowsConfig, RequestResponse,
    RequestResponseConfig, Synthetic, SyntheticConfig, web_responses,
};
use workload::suite::{Framing, Offered, arrivals_per_s};
use workload::tmix::{Format, Reader, Writer};
use workload::{Connection, Dialogue, Exchange, Plan, Side, VideoClients, VideoConfig};

fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// The mean of a sample is within 3.5 standard errors of the theory.
fn has_mean(what: &str, expected: f64, values: impl IntoIterator<Item = f64>) {
    let values: Vec<f64> = values.into_iter().collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    let error = squares.sqrt() / count;
    let off = (mean - expected) / error;
    assert!(
        off.abs() < 3.5,
        "{what}: {mean}, not {expected}: {off} standard errors"
    );
}

/// A fraction of a sample is within 3.5 standard errors of the theory.
fn has_fraction(what: &str, expected: f64, hits: impl IntoIterator<Item = bool>) {
    let hits: Vec<bool> = hits.into_iter().collect();
    let found = hits.iter().filter(|&&hit| hit).count() as f64 / hits.len() as f64;
    let error = (expected * (1.0 - expected) / hits.len() as f64).sqrt();
    let off = (found - expected) / error;
    assert!(
        off.abs() < 3.5,
        "{what}: {found}, not {expected}: {off} standard errors"
    );
}

fn gaps(connections: &[Connection]) -> impl Iterator<Item = f64> {
    connections
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].start).as_secs_f64())
}

fn units_of(connections: &[Connection], side: Side) -> impl Iterator<Item = workload::Turn> {
    let units = connections
        .iter()
        .flat_map(|connection| connection.exchange.units());
    units.filter(move |unit| unit.side == side)
}

/// What holds for every generator, here for its first connections.
fn is_sound(name: &str, make: impl Fn(u64) -> Vec<Connection>) {
    let connections = make(1);
    assert_eq!(
        connections,
        make(1),
        "{name}: the same stream, the same connections"
    );
    assert_ne!(connections, make(2), "{name}: another stream");
    assert!(
        connections.is_sorted_by_key(|connection| connection.start),
        "{name}"
    );
    for (number, connection) in (1..).zip(&connections) {
        assert_eq!(connection.check(), Ok(()), "{name}");
        assert_eq!(connection.id, number, "{name}");
    }
    // A file of them in the original format reads back as they were.
    let mut writer = Writer::new(Vec::new(), Format::Original);
    for connection in &connections {
        writer.connection(connection).expect("written");
    }
    let file = writer.finish().expect("memory takes everything");
    let reader = Reader::new(name, &file[..]).expect("a file");
    assert_eq!(
        reader.collect::<Result<Vec<_>, _>>().expect("a file"),
        connections,
        "{name}"
    );
}

fn on_off() -> OnOffConfig {
    OnOffConfig {
        count: 200,
        begin: Instant::from_secs(5),
        spread: Duration::from_secs(10),
        lifetime: Duration::from_secs(300),
        rate: Rate::from_bits_per_sec(1_000_000),
        on: Times::Exponential {
            mean: Duration::from_secs(1),
        },
        off: Times::Exponential {
            mean: Duration::from_secs(2),
        },
        sender: Side::Acceptor,
    }
}

fn clients() -> RequestResponseConfig {
    RequestResponseConfig {
        clients: 450,
        begin: Instant::ZERO,
        spread: Duration::from_secs(30),
        requests: 40,
        epochs: Epochs {
            think: Times::Exponential {
                mean: Duration::from_millis(14_400),
            },
            ..Epochs::default()
        },
    }
}

fn flows() -> PoissonFlowsConfig {
    PoissonFlowsConfig {
        arrivals_per_s: 50.0,
        begin: Instant::from_secs(1),
        size: Sizes::LogNormal {
            median: 20_000.0,
            sigma: 1.0,
        },
        sender: Side::Initiator,
    }
}

fn bulk() -> BulkConfig {
    BulkConfig {
        count: 100,
        begin: Instant::from_secs(1),
        spread: Duration::from_secs(4),
        size: None,
        sender: Side::Initiator,
    }
}

#[test]
fn generators_are_deterministic_sound_and_in_order() {
    is_sound("synthetic", |seed| {
        let config = SyntheticConfig {
            small_segments: Some(0.1),
            ..SyntheticConfig::new(20.0)
        };
        Synthetic::new(config, random(seed)).take(2000).collect()
    });
    is_sound("http10", |seed| {
        Http10::new(Http10Config::new(30.0), random(seed))
            .take(2000)
            .collect()
    });
    is_sound("persistent", |seed| {
        Persistent::new(PersistentConfig::new(2.0), random(seed))
            .take(2000)
            .collect()
    });
    is_sound("multiplexed", |seed| {
        Multiplexed::new(MultiplexedConfig::new(2.0), random(seed))
            .take(2000)
            .collect()
    });
    is_sound("flows", |seed| {
        PoissonFlows::new(flows(), random(seed))
            .take(2000)
            .collect()
    });
    is_sound("bulk", |seed| Bulk::new(bulk(), random(seed)).collect());
    is_sound("on-off", |seed| {
        OnOff::new(on_off(), random(seed)).collect()
    });
    is_sound("clients", |seed| {
        RequestResponse::new(clients(), random(seed)).collect()
    });
}

#[test]
fn the_substitute_has_its_parameters() {
    let config = SyntheticConfig {
        small_segments: Some(0.1),
        ..SyntheticConfig::new(20.0)
    };
    let connections: Vec<Connection> = Synthetic::new(config, random(7)).take(20_000).collect();
    has_mean("gaps", 0.05, gaps(&connections));
    let concurrent = |one: &Connection| matches!(one.exchange, Exchange::Concurrent(_));
    has_fraction("concurrent", 0.05, connections.iter().map(concurrent));
    let small = |one: &Connection| one.headers.mss == Some([496; 2]);
    has_fraction("small segments", 0.1, connections.iter().map(small));
    let (concurrent, sequential): (Vec<_>, Vec<_>) = connections.into_iter().partition(concurrent);
    let epochs = sequential
        .iter()
        .map(|one| f64::from(one.exchange.epochs().0));
    has_mean("epochs", 1.0 + 0.65 / 0.35, epochs);
    let single = sequential.iter().map(|one| one.exchange.epochs().0 == 1);
    has_fraction("single epochs", 0.35, single);
    let delay = units_of(&sequential, Side::Acceptor).map(|unit| unit.wait.as_secs_f64());
    has_mean("delay", 0.02 - 5e-7, delay);
    let thinks: Vec<Duration> = units_of(&sequential, Side::Initiator)
        .map(|unit| unit.wait)
        .filter(|wait| !wait.is_zero())
        .collect();
    let second = Duration::from_secs(1);
    has_fraction(
        "think above 1 s",
        0.5,
        thinks.iter().map(|&think| think >= second),
    );
    for connections in [&sequential, &concurrent] {
        let requests = units_of(connections, Side::Initiator).map(|unit| unit.bytes);
        has_fraction(
            "requests up to 400",
            0.5,
            requests.map(|bytes| bytes <= Bytes::new(400)),
        );
        let responses = || units_of(connections, Side::Acceptor).map(|unit| unit.bytes);
        let above = |size: u64| responses().map(move |bytes| bytes > Bytes::new(size));
        has_fraction("responses above 10 kB", 0.19266, above(10_000));
        has_fraction("responses above 14.6 kB", 0.12703, above(14_600));
        has_fraction("responses above the median", 0.5, above(4_203));
    }
    for connection in &concurrent {
        let [request, response] = match &connection.exchange {
            Exchange::Concurrent(scripts) => scripts.each_ref().map(|script| script.units.len()),
            Exchange::Sequential { .. } => panic!("concurrent"),
        };
        assert_eq!(request, response);
    }
}

#[test]
fn web_traffic_offers_its_load() {
    let rate = Rate::from_bits_per_sec(10_000_000);
    let span = Duration::from_secs(20_000);
    for framing in [Framing::PAYLOAD, Framing::default()] {
        let arrivals = arrivals_per_s(0.35, rate, 14e3, framing);
        let config = Http10Config::new(arrivals);
        assert!((config.response.mean() - 14e3).abs() < 1e-6);
        let mut offered = Offered::default();
        let mut responses = Vec::new();
        let connections = Http10::new(config, random(3));
        for one in connections.take_while(|one| one.start < Instant::ZERO + span) {
            offered.add(&one, framing);
            responses.push(one.payload()[1].get() as f64);
        }
        let count = responses.len() as f64;
        let expected = arrivals * span.as_secs_f64();
        assert!(
            (count - expected).abs() < 3.5 * expected.sqrt(),
            "{count} responses"
        );
        // The variance of a compound Poisson sum: the rate times the mean square.
        let squares: f64 = responses.iter().map(|size| size * size).sum();
        let load = offered.load(Side::Acceptor, rate, span);
        let error = 8.0 * squares.sqrt() / (10e6 * span.as_secs_f64());
        // Segments that are not full add less than one header to each response.
        let partial = 8.0 * f64::from(framing.header) * count / (10e6 * span.as_secs_f64());
        let (low, high) = (0.35 - 3.5 * error, 0.35 + 3.5 * error + partial);
        assert!(
            (low..high).contains(&load),
            "{load} is not in {low}..{high}"
        );
        has_mean("responses", 14e3, responses);
    }
}

#[test]
fn a_persistent_connection_lives_until_its_server_is_tired_of_it() {
    let config = PersistentConfig::new(1.0);
    let connections: Vec<Connection> = Persistent::new(config, random(5)).take(60_000).collect();
    let mut requests = 0.0;
    for connection in &connections {
        let Exchange::Sequential { turns, close } = &connection.exchange else {
            panic!("sequential");
        };
        requests += f64::from(connection.exchange.epochs().0);
        assert_eq!(
            (close.side, close.wait),
            (Side::Acceptor, config.idle_timeout)
        );
        let asks = turns.iter().filter(|turn| turn.side == Side::Initiator);
        assert!(asks.into_iter().all(|turn| turn.wait < config.idle_timeout));
    }
    // A think time exceeds the time-out with probability 1 - Phi(ln 5 / 1.3) = 0.10786, and follows
    // nine of ten requests: a session of 10 requests has 1 + 9 * 0.10786 connections on average.
    let sessions = connections
        .last()
        .map_or(0.0, |last| last.start.as_secs_f64());
    let expected = 10.0 / (1.0 + 9.0 * 0.107_86);
    let found = requests / connections.len() as f64;
    assert!(
        (found / expected - 1.0).abs() < 0.01,
        "{found} requests, not {expected}"
    );
    // Sessions arrive once a second; the last ones have connections to come.
    let found = connections.len() as f64 / sessions;
    assert!(
        (found / (1.0 + 9.0 * 0.107_86) - 1.0).abs() < 0.02,
        "{found} connections a second"
    );
    let certain = PersistentConfig {
        idle_timeout: Duration::from_secs(1 << 30),
        ..config
    };
    let one = Persistent::new(certain, random(5)).take(20_000);
    has_mean(
        "requests",
        10.0,
        one.map(|one| f64::from(one.exchange.epochs().0)),
    );
}

#[test]
fn a_page_is_one_connection() {
    let config = MultiplexedConfig::new(4.0);
    let mut pages = Multiplexed::new(config, random(5));
    let pages: Vec<_> = (0..5_000).map(|_| pages.next_page()).collect();
    has_mean(
        "objects",
        20.0,
        pages.iter().map(|page| page.ends.len() as f64),
    );
    for page in &pages {
        let turns: Vec<_> = page.connection.exchange.units().collect();
        assert_eq!(turns.len(), if page.ends.is_empty() { 2 } else { 4 });
        if let Some(last) = page.ends.iter().max() {
            assert_eq!(turns[3].bytes, *last);
            assert_eq!(turns[2].bytes, Bytes::new(400) * page.ends.len() as u64);
        }
    }
    let starts: Vec<Connection> = pages.into_iter().map(|page| page.connection).collect();
    has_mean("gaps", 0.25, gaps(&starts));
}

#[test]
fn flows_transfers_and_sources_have_their_parameters() {
    let connections: Vec<Connection> = PoissonFlows::new(flows(), random(9)).take(20_000).collect();
    has_mean("gaps", 0.02, gaps(&connections));
    let sizes = connections.iter().map(|one| one.payload()[0].get() as f64);
    has_mean("sizes", 20_000.0 * 0.5f64.exp(), sizes);
    assert!(connections.iter().all(|one| one.payload()[1].is_zero()));

    let starts = Bulk::new(
        BulkConfig {
            count: 10_000,
            ..bulk()
        },
        random(9),
    );
    has_mean("starts", 3.0, starts.map(|one| one.start.as_secs_f64()));
    assert_eq!(Bulk::new(bulk(), random(9)).count(), 100);

    let sources: Vec<Connection> = OnOff::new(on_off(), random(9)).collect();
    assert_eq!(sources.len(), 200);
    let units = || units_of(&sources, Side::Acceptor);
    // A second at 1 Mbit/s is 125,000 bytes; the last burst of a source may be cut short, so that
    // one in a hundred is.
    let mean = units().map(|unit| unit.bytes.get() as f64).sum::<f64>() / units().count() as f64;
    assert!((mean / 125_000.0 - 1.0).abs() < 0.03, "{mean}");
    let off = units().filter(|unit| !unit.wait.is_zero());
    has_mean("pauses", 2.0, off.map(|unit| unit.wait.as_secs_f64()));
    let bursts = units().count() as f64 / 200.0;
    assert!(
        (98.0..104.0).contains(&bursts),
        "{bursts} bursts of 3 s on average in 300 s"
    );
}

#[test]
fn clients_in_a_closed_loop_think_between_requests() {
    let connections: Vec<Connection> = RequestResponse::new(clients(), random(11)).collect();
    assert_eq!(connections.len(), 450);
    assert!(
        connections
            .iter()
            .all(|one| one.exchange.epochs() == (40, 40))
    );
    let thinks = units_of(&connections, Side::Initiator).map(|unit| unit.wait.as_secs_f64());
    // The first request of each client waits for nothing.
    has_mean("think", 14.4, thinks.filter(|&think| think > 0.0));
    let responses = units_of(&connections, Side::Acceptor);
    let median = Bytes::new(web_responses().quantile(0.5) as u64);
    has_fraction("responses", 0.5, responses.map(|unit| unit.bytes > median));
}

#[test]
fn extreme_parameters_end() {
    let never = OnOffConfig {
        count: 1,
        on: Times::Constant(Duration::ZERO),
        off: Times::Constant(Duration::ZERO),
        lifetime: Duration::MAX,
        ..on_off()
    };
    assert_eq!(OnOff::new(never, random(1)).count(), 1);
    let at_once = OnOffConfig {
        lifetime: Duration::ZERO,
        ..never
    };
    let source = OnOff::new(at_once, random(1)).next().expect("a source");
    assert_eq!(source.payload()[1], Bytes::new(1));
    let idle = Http10::new(Http10Config::new(0.0), random(1))
        .next()
        .expect("one");
    assert!(idle.start > Instant::from_secs(1 << 34));
}

/// Files published under a seed must stay the same: the first connections of the substitute, as a
/// hash (FNV-1a) of their file.
#[test]
fn the_substitute_is_pinned() {
    let connections = Synthetic::new(SyntheticConfig::new(20.0), random(1)).take(1000);
    let mut writer = Writer::new(Vec::new(), Format::Original);
    for connection in connections {
        writer.connection(&connection).expect("written");
    }
    let file = writer.finish().expect("memory takes everything");
    let hash = file.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    assert_eq!(hash, 7_128_307_243_195_707_903);
}

/// What the connections of a plan offer agrees with its bytes per arrival, for responses of equal
/// and of random size.
#[test]
fn plans_offer_what_they_say() {
    let think = Times::Constant(Duration::from_millis(100));
    let sizes = [
        Sizes::Constant(Bytes::new(2_000)),
        Sizes::LogNormal {
            median: 1e6,
            sigma: 0.5,
        },
    ];
    let framing = Framing::default();
    for response in sizes {
        let epochs = Epochs {
            response,
            think,
            ..Epochs::default()
        };
        let synthetic = SyntheticConfig {
            epochs,
            ..SyntheticConfig::new(1.0)
        };
        let plans = [
            Plan::Synthetic(synthetic),
            Plan::Synthetic(SyntheticConfig {
                small_segments: Some(0.3),
                ..synthetic
            }),
            Plan::Http10(Http10Config {
                response,
                ..Http10Config::new(1.0)
            }),
            Plan::Persistent(PersistentConfig {
                epochs,
                ..PersistentConfig::new(1.0)
            }),
            Plan::Multiplexed(MultiplexedConfig {
                document: response,
                object: response,
                ..MultiplexedConfig::new(1.0)
            }),
        ];
        for mut plan in plans {
            plan.set_arrivals_per_s(5.0);
            let expected = plan.bytes_per_arrival(framing).expect("arrivals");
            // Sums over 20 s, which 100 arrivals are.
            let mut sums = vec![0.0; 200];
            for dialogue in plan.dialogues(random(9)) {
                let Dialogue::Script(connection) = dialogue else {
                    panic!("{}", plan.name());
                };
                let place = (connection.start.as_secs_f64() / 20.0) as usize;
                let Some(sum) = sums.get_mut(place) else {
                    break;
                };
                let mut offered = Offered::default();
                offered.add(&connection, framing);
                *sum += offered.bytes[Side::Acceptor.index()].get() as f64 / 100.0;
            }
            has_mean(&format!("{plan:?}"), expected, sums);
        }
    }
}

#[test]
fn videos_start_within_their_span_and_in_order() {
    let rate = Rate::from_bits_per_sec(1_000_000);
    let client = VideoConfig::new([rate], Some(3));
    let plan = Plan::AdaptiveVideo(VideoClients {
        clients: 50,
        begin: Instant::from_secs(5),
        spread: Duration::from_secs(10),
        client: client.clone(),
    });
    let starts: Vec<Instant> = plan
        .dialogues(random(3))
        .map(|dialogue| match dialogue {
            Dialogue::Video { start, client: one } if one == client => start,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(starts.len(), 50);
    assert!(starts.is_sorted());
    assert!(starts[0] >= Instant::from_secs(5) && starts[49] < Instant::from_secs(15));
}
