//! `model = "wifi"`. Read in the forward direction, where it describes the medium; in the reverse
//! direction `{ model = "wifi" }` alone is the same medium.

use network::AccessConfig;
use network::access::{WifiConfig, WifiRateMap, WifiStandard, WifiTraffic, WifiWidth};
use serde::ser::{Serialize, SerializeMap, Serializer};
use units::{Duration, Rate};

use crate::document::{Item, Table};
use crate::error::Error;
use crate::quantity;
use crate::read::{positive, time_up_to};
use crate::schema::WIFI_TRAFFIC;
use crate::write::map;

const STANDARDS: &[(&str, WifiStandard)] = &[
    ("b", WifiStandard::B),
    ("g", WifiStandard::G),
    ("a", WifiStandard::A),
    ("n", WifiStandard::N),
    ("ac", WifiStandard::Ac),
    ("ax", WifiStandard::Ax),
];
const WIDTHS: &[(&str, WifiWidth)] = &[
    ("20 MHz", WifiWidth::Mhz20),
    ("40 MHz", WifiWidth::Mhz40),
    ("80 MHz", WifiWidth::Mhz80),
    ("160 MHz", WifiWidth::Mhz160),
];
const RATE_MAPS: &[(&str, WifiRateMap)] = &[
    ("snr", WifiRateMap::Snr),
    ("sensitivity", WifiRateMap::Sensitivity),
];
const GUARDS: &[(&str, bool)] = &[("short", true), ("long", false)];

/// A strong signal, as document 001 has it, dBm.
const USUAL_RSSI: f64 = -53.0;
/// Signals, dBm, and their deviation, dB.
const LEVELS: (f64, f64) = (-120.0, 0.0);
const MOST_DEVIATION: f64 = 20.0;
/// What a radio survives, and a processor.
const MOST_STATIONS: u64 = 200;
const MOST_RETRIES: u64 = 1000;
const MOST_PACKETS: u64 = 256;
const MOST_SLOTS: u64 = 32_767;
/// The longest frame of the standard.
const LONGEST_FRAME: Duration = Duration::from_micros(5484);
const SHORTEST_FRAME: Duration = Duration::from_micros(100);
/// Shorter times of traffic cost too much, and so do more packets.
const SHORTEST_TRAFFIC: Duration = Duration::from_millis(1);
const MOST_TRAFFIC: Rate = Rate::from_bits_per_sec(10_000_000_000);

/// The network of which nothing is said.
pub(super) fn usual() -> WifiConfig {
    WifiConfig::new(WifiStandard::Ac, USUAL_RSSI)
}

pub(super) fn read(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let standard = choice(table, "standard", STANDARDS, WifiStandard::Ac)?;
    let level = |item: Item<'_>| item.read("\"-53 dBm\"", |text| quantity::level(text, LEVELS));
    let rssi = table.get("rssi").map_or(Ok(USUAL_RSSI), level)?;
    let mut config = WifiConfig::new(standard, rssi);
    if let WifiStandard::A | WifiStandard::B | WifiStandard::G = standard {
        let foreign = [
            "width",
            "streams",
            "guard",
            "mcs",
            "aggregation",
            "rate_map",
            "max_frame",
            "station_mcs",
            "station_packets",
        ];
        for key in foreign {
            if let Some(item) = table.get(key) {
                return Err(item.refuse("802.11a, b and g have one rate and one packet in a frame"));
            }
        }
        // One packet is one frame.
        config.station_packets = 1;
    }
    config.width = choice(table, "width", WIDTHS, config.width)?;
    if let (Some(item), WifiStandard::N, WifiWidth::Mhz80 | WifiWidth::Mhz160) =
        (table.get("width"), standard, config.width)
    {
        return Err(item.refuse("802.11n has channels of 20 and 40 MHz"));
    }
    let whole = |key, usual: u32, min: u64, max: u64| {
        let item = table.get(key);
        item.map_or(Ok(usual), |item| Ok(item.integer(min, max)? as u32))
    };
    config.streams = whole("streams", config.streams.into(), 1, 4)? as u8;
    config.short_guard = choice(table, "guard", GUARDS, config.short_guard)?;
    if let (Some(item), WifiStandard::Ax) = (table.get("guard"), standard) {
        return Err(item.refuse("802.11ax is modelled with its guard interval of 0.8 us"));
    }
    let most_mcs = match standard {
        WifiStandard::N => 7,
        WifiStandard::Ac => 9,
        _ => 11,
    };
    let mcs = |key| {
        let item = table.get(key);
        item.map(|item| Ok(item.integer(0, most_mcs)? as u8))
            .transpose()
    };
    config.mcs = mcs("mcs")?;
    config.station_mcs = mcs("station_mcs")?;
    if let Some(item) = table.get("rssi_deviation") {
        let read = |text: &str| quantity::decibels(text, MOST_DEVIATION);
        config.rssi_deviation = item.read("\"2 dB\"", read)?;
    }
    let time = |key, usual, example, read: fn(&str) -> Result<Duration, String>| {
        let item = table.get(key);
        item.map_or(Ok(usual), |item| item.read(example, read))
    };
    let correlation = config.rssi_correlation;
    config.rssi_correlation = time("rssi_correlation", correlation, "\"2 s\"", positive)?;
    let share = |key, usual, most| {
        let item = table.get(key);
        item.map_or(Ok(usual), |item| {
            item.read("\"30 %\"", |text| quantity::share(text, most))
        })
    };
    config.blocked = share("blocked", config.blocked, 90)?;
    config.hidden = share("hidden", config.hidden, 90)?;
    config.busy = share("busy", config.busy, 95)?;
    config.rate_map = choice(table, "rate_map", RATE_MAPS, config.rate_map)?;
    if let Some(item) = table.get("aggregation") {
        config.aggregation = item.boolean()?;
    }
    config.max_frame = time("max_frame", config.max_frame, "\"4 ms\"", frame)?;
    config.aifsn = whole("aifsn", config.aifsn, 1, 15)?;
    config.cw_min = whole("cw_min", config.cw_min, 1, MOST_SLOTS)?;
    config.cw_max = whole("cw_max", config.cw_max.max(config.cw_min), 1, MOST_SLOTS)?;
    if let (true, Some(item)) = (
        config.cw_max < config.cw_min,
        table.get("cw_max").or(table.get("cw_min")),
    ) {
        return Err(item.refuse("cw_max is below cw_min"));
    }
    config.retries = whole("retries", config.retries, 0, MOST_RETRIES)?;
    config.stations = whole("stations", config.stations, 0, MOST_STATIONS)?;
    config.station_packets = whole("station_packets", config.station_packets, 1, MOST_PACKETS)?;
    if let Some(item) = table.get("traffic") {
        config.traffic = traffic(&item)?;
    }
    config.airtime_limit = time("airtime_limit", config.airtime_limit, "\"12 ms\"", positive)?;
    Ok(AccessConfig::Wifi(config))
}

fn choice<T: Copy>(
    table: &Table<'_>,
    key: &'static str,
    choices: &[(&str, T)],
    usual: T,
) -> Result<T, Error> {
    let item = table.get(key);
    item.map_or(Ok(usual), |item| item.choice(choices))
}

fn frame(text: &str) -> Result<Duration, String> {
    let span = time_up_to(text, LONGEST_FRAME)?;
    if span < SHORTEST_FRAME {
        return Err(format!(
            "the least is {}",
            quantity::format_duration(SHORTEST_FRAME)
        ));
    }
    Ok(span)
}

/// `traffic`: a word, or times with and without something to send, or a rate.
fn traffic(item: &Item<'_>) -> Result<WifiTraffic, Error> {
    let Some(table) = item.as_table(&WIFI_TRAFFIC) else {
        return item.choice(&[("saturated", WifiTraffic::Saturated)]);
    };
    let table = table?;
    table.either("on", "rate")?;
    table.either("off", "rate")?;
    if let Some(item) = table.get("rate") {
        let rate = item.read("\"5 Mbit/s\"", |text| {
            let rate = quantity::rate(text)?;
            match rate > MOST_TRAFFIC {
                true => Err(format!(
                    "the limit is {}",
                    quantity::format_rate(MOST_TRAFFIC)
                )),
                false => Ok(rate),
            }
        })?;
        return Ok(WifiTraffic::Poisson(rate));
    }
    let span = |key| {
        let read = |text: &str| {
            let span = positive(text)?;
            if span < SHORTEST_TRAFFIC {
                return Err("the least is 1 ms".to_owned());
            }
            Ok(span)
        };
        table.need(key, "\"1 s\"")?.read("\"1 s\"", read)
    };
    Ok(WifiTraffic::OnOff {
        on: span("on")?,
        off: span("off")?,
    })
}

struct Traffic(WifiTraffic);

impl Serialize for Traffic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            WifiTraffic::Saturated => map!(serializer, "kind": "saturated"),
            WifiTraffic::OnOff { on, off } => map!(serializer,
                "kind": "on-off",
                "on_s": on.as_secs_f64(),
                "off_s": off.as_secs_f64(),
            ),
            WifiTraffic::Poisson(rate) => {
                map!(serializer, "kind": "poisson", "rate_bps": rate.bits_per_sec())
            }
        }
    }
}

fn name<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> &'static str {
    let found = choices.iter().find(|(_, choice)| choice == value);
    found.map_or("", |(name, _)| name)
}

pub(super) fn write<S: Serializer>(config: &WifiConfig, serializer: S) -> Result<S::Ok, S::Error> {
    map!(serializer,
        "kind": "wifi",
        "standard": name(STANDARDS, &config.standard),
        "width": name(WIDTHS, &config.width),
        "streams": config.streams,
        "guard": name(GUARDS, &config.short_guard),
        "rssi_dbm": config.rssi,
        "rssi_deviation_db": config.rssi_deviation,
        "rssi_correlation_s": config.rssi_correlation.as_secs_f64(),
        "blocked": config.blocked,
        "mcs": config.mcs,
        "rate_map": name(RATE_MAPS, &config.rate_map),
        "aggregation": config.aggregation,
        "max_frame_ms": config.max_frame.as_nanos() as f64 / 1e6,
        "aifsn": config.aifsn,
        "cw_min": config.cw_min,
        "cw_max": config.cw_max,
        "retries": config.retries,
        "hidden": config.hidden,
        "stations": config.stations,
        "traffic": Traffic(config.traffic),
        "station_packets": config.station_packets,
        "station_mcs": config.station_mcs,
        "busy": config.busy,
        "airtime_limit_ms": config.airtime_limit.as_nanos() as f64 / 1e6,
        "mean_bps": Rate::bits_per_sec(config.mean_rate()),
    )
}
