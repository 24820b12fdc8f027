//! `model = "geo"` and `model = "dama"`: the two directions of a geostationary satellite.

use network::AccessConfig;
use network::access::{AcmConfig, DamaConfig, GeoConfig, RainConfig};
use serde::ser::{Serialize, SerializeMap, Serializer};
use units::{Bytes, Duration, Instant, Rate};

use crate::document::Table;
use crate::error::Error;
use crate::quantity::{self, MAX_DURATION};
use crate::read::{MAX_RTT, positive, time_up_to};
use crate::schema::{ACM, RAIN};
use crate::write::{map, millis};

/// Most decibels of anything.
const MAX_DECIBEL: f64 = 100.0;
/// The largest slot, and the most frames between two requests.
const MAX_SLOT: Bytes = Bytes::new(1_000_000);
const MAX_REQUEST: u64 = 10_000;

/// Document 001's gateway frames (network-models, section B.1.3).
const DAMA: DamaConfig = DamaConfig {
    frame: Duration::from_micros(26_500),
    slot: Bytes::new(53),
    cra: Rate::from_bits_per_sec(32_000),
    max: Rate::from_bits_per_sec(4_000_000),
    request: 8,
    grant_loop: Duration::from_millis(560),
    hold: Duration::from_millis(1500),
    granted: 1.0,
    phase: None,
    ack_filter: false,
};

/// Section B.1.2.
const ACM_DEFAULT: AcmConfig = AcmConfig {
    clear_sky: 12.0,
    deviation: 0.5,
    correlation: Duration::from_secs(10),
    margin: 0.5,
    every: Duration::from_millis(500),
    lag: Duration::from_millis(600),
    rain: None,
};

pub(super) fn read(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let rate = table
        .need("rate", "\"33 Mbit/s\"")?
        .read("\"33 Mbit/s\"", quantity::rate)?;
    let frame = table.time("frame", Duration::ZERO, |text| time_up_to(text, MAX_RTT))?;
    let acm = table.get("acm").map(|item| acm(&item.table(&ACM)?));
    Ok(AccessConfig::Geo(GeoConfig {
        rate,
        spread: table.share("spread", 0.0, 300)?,
        frame,
        acm: acm.transpose()?,
    }))
}

fn acm(table: &Table<'_>) -> Result<AcmConfig, Error> {
    let usual = ACM_DEFAULT;
    let rain = table.get("rain").map(|item| rain(&item.table(&RAIN)?));
    Ok(AcmConfig {
        clear_sky: decibel(table, "clear_sky", usual.clear_sky)?,
        deviation: decibel(table, "deviation", usual.deviation)?,
        correlation: table.time("correlation", usual.correlation, positive)?,
        margin: decibel(table, "margin", usual.margin)?,
        every: table.time("every", usual.every, look)?,
        lag: table.time("lag", usual.lag, |text| time_up_to(text, MAX_RTT))?,
        rain: rain.transpose()?,
    })
}

fn rain(table: &Table<'_>) -> Result<RainConfig, Error> {
    let depth = table.need("depth", "\"4 dB\"")?;
    let any = |text: &str| time_up_to(text, MAX_DURATION);
    Ok(RainConfig {
        depth: depth.read("\"4 dB\"", read_decibel)?,
        start: Instant::ZERO + table.time("start", Duration::from_secs(10), any)?,
        ramp: table.time("ramp", Duration::from_secs(60), positive)?,
        hold: table.time("hold", Duration::from_secs(60), any)?,
    })
}

pub(super) fn read_dama(table: &Table<'_>) -> Result<AccessConfig, Error> {
    let usual = DAMA;
    let rate = |key, usual, read: fn(&str) -> Result<Rate, String>| {
        let item = table.get(key);
        item.map_or(Ok(usual), |item| item.read("\"32 kbit/s\"", read))
    };
    let slot = table.get("slot").map_or(Ok(usual.slot), |item| {
        let slot = item.read("\"53 bytes\"", quantity::size)?;
        if slot.is_zero() || slot > MAX_SLOT {
            return Err(item.refuse(format!(
                "a slot carries 1 byte to {}",
                quantity::format_size(MAX_SLOT)
            )));
        }
        Ok(slot)
    });
    let cra = rate("cra", usual.cra, quantity::rate_or_zero)?;
    let max = rate("max", usual.max, quantity::rate)?;
    if max < cra {
        let key = ["cra", "max"].into_iter().find(|key| table.has(key));
        return Err(table.refuse_at(
            key.unwrap_or("max"),
            format!(
                "the constant rate is cra = {}, and the most in all max = {}",
                quantity::format_rate(cra),
                quantity::format_rate(max)
            ),
        ));
    }
    let request = table
        .get("request")
        .map_or(Ok(u64::from(usual.request)), |item| {
            item.integer(1, MAX_REQUEST)
        });
    let phase = table
        .get("phase")
        .map(|item| item.read("\"0 s\"", |text| time_up_to(text, MAX_DURATION)));
    let granted = table.share("granted", usual.granted, 100)?;
    if granted < DamaConfig::LEAST_GRANTED {
        return Err(table.refuse_at("granted", "at least 1 % of a request is granted"));
    }
    Ok(AccessConfig::Dama(DamaConfig {
        frame: table.time("frame", usual.frame, dama_frame)?,
        slot: slot?,
        cra,
        max,
        request: u32::try_from(request?).unwrap_or(u32::MAX),
        grant_loop: table.time("loop", usual.grant_loop, |text| {
            time_up_to(text, DamaConfig::LONGEST_LOOP)
        })?,
        hold: table.time("hold", usual.hold, |text| time_up_to(text, MAX_DURATION))?,
        granted,
        phase: phase.transpose()?,
        ack_filter: table
            .get("ack_filter")
            .map_or(Ok(usual.ack_filter), |item| item.boolean())?,
    }))
}

fn dama_frame(text: &str) -> Result<Duration, String> {
    let (frame, least) = (time_up_to(text, MAX_RTT)?, DamaConfig::LEAST_FRAME);
    if frame < least {
        let least = quantity::format_duration(least);
        return Err(format!("a frame lasts at least {least}"));
    }
    Ok(frame)
}

/// Time between two looks at the sky.
fn look(text: &str) -> Result<Duration, String> {
    let least = Duration::from_millis(1);
    let every = time_up_to(text, MAX_DURATION)?;
    if every < least {
        return Err(format!("the least is {}", quantity::format_duration(least)));
    }
    Ok(every)
}

fn decibel(table: &Table<'_>, key: &'static str, usual: f64) -> Result<f64, Error> {
    let item = table.get(key);
    item.map_or(Ok(usual), |item| item.read("\"12 dB\"", read_decibel))
}

fn read_decibel(text: &str) -> Result<f64, String> {
    quantity::decibels(text, MAX_DECIBEL)
}

pub(super) fn write<S: Serializer>(config: &GeoConfig, serializer: S) -> Result<S::Ok, S::Error> {
    map!(serializer,
        "kind": "geo",
        "rate_bps": config.rate.bits_per_sec(),
        "spread": config.spread,
        "frame_ms": millis(config.frame),
        "acm": config.acm.as_ref().map(Acm),
    )
}

struct Acm<'a>(&'a AcmConfig);

impl Serialize for Acm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map!(serializer,
            "clear_sky_db": self.0.clear_sky,
            "deviation_db": self.0.deviation,
            "correlation_ms": millis(self.0.correlation),
            "margin_db": self.0.margin,
            "every_ms": millis(self.0.every),
            "lag_ms": millis(self.0.lag),
            "rain": self.0.rain.as_ref().map(Rain),
        )
    }
}

struct Rain<'a>(&'a RainConfig);

impl Serialize for Rain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map!(serializer,
            "depth_db": self.0.depth,
            "start_s": self.0.start.as_secs_f64(),
            "ramp_s": self.0.ramp.as_secs_f64(),
            "hold_s": self.0.hold.as_secs_f64(),
        )
    }
}

pub(super) fn write_dama<S: Serializer>(
    config: &DamaConfig,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    map!(serializer,
        "kind": "dama",
        "frame_ms": millis(config.frame),
        "slot_bytes": config.slot.get(),
        "cra_bps": config.cra.bits_per_sec(),
        "max_bps": config.max.bits_per_sec(),
        "request_frames": config.request,
        "loop_ms": millis(config.grant_loop),
        "hold_ms": millis(config.hold),
        "phase_ms": config.phase.map(millis),
        "granted": config.granted,
        ; "ack_filter": config.ack_filter.then_some(true)
    )
}
