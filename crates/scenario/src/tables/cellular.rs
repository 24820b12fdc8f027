//! The models of cellular networks, whose keys fill several configurations, and `rrc`.

use network::MIN_SLOT;
use tables::{Kind, MAX_DURATION, MAX_RATE};
use units::{Duration, Rate};

use super::table;

/// The lowest mean rate; below it blocks are empty.
pub(crate) const LEAST_MEAN: Rate = Rate::from_bits_per_sec(10_000);
/// Most other users of a cell.
const MAX_USERS: u64 = 50;
/// The states in which a run can start.
pub(crate) const BEGINS: &[&str] = &["idle", "connected"];

const MILLISECOND: Duration = Duration::from_millis(1);
const MEAN: Kind = Kind::Rate(LEAST_MEAN, MAX_RATE);
const SPREAD: Kind = Kind::Share(0.0, 300.0);
const BLOCK: Kind = Kind::Time(MIN_SLOT, Duration::from_millis(100));
const GRANT: Kind = Kind::Time(Duration::from_micros(100), Duration::from_millis(100));
const GRID: Kind = Kind::Time(MIN_SLOT, Duration::from_secs(60));
const LENGTH: Kind = Kind::Time(MILLISECOND, Duration::from_secs(60));
const LASTING: Kind = Kind::Time(MILLISECOND, MAX_DURATION);
const BETWEEN: Kind = Kind::Any(&[
    Kind::Words(&["none"]),
    Kind::Time(Duration::from_millis(100), MAX_DURATION),
]);
const CYCLE_TIME: Kind = Kind::Time(MILLISECOND, Duration::from_secs(10));
const CYCLE: Kind = Kind::Any(&[Kind::Words(&["none"]), CYCLE_TIME]);
const PROMOTION: Kind = Kind::Any(&[CYCLE_TIME, Kind::List(&CYCLE_TIME, 2, 2)]);
/// A channel is kept for longer than a packet of the other direction may be in flight.
const REST: Kind = Kind::Time(Duration::from_secs(1), MAX_DURATION);

/// The cell of LTE; with other resource blocks and `blockage`, that of 5G.
macro_rules! cell {
    ($name:ident = $table:literal, $title:literal, $summary:literal, $sinr:literal, $prbs:literal $($more:tt)*) => {
        table! { $name = $table, $title, $summary {
            "sinr": Kind::Decibel(-20.0, 60.0), is $sinr,
                "Mean signal-to-interference-and-noise ratio.";
            "sinr_spread": Kind::Decibel(0.0, 30.0), is "0 dB",
                "Standard deviation of the mean SINR between runs and users (normal, cut at twice \
                 this).";
            "shadow": Kind::Decibel(0.0, 30.0), is "2 dB", "Standard deviation of the shadowing.";
            "shadow_tau": Kind::Time(Duration::from_millis(10), MAX_DURATION), is "10 s",
                "Time after which the correlation of the shadowing has fallen to 1/e.";
            "doppler": Kind::Hertz(0.0, 10_000.0), is "3 Hz",
                "Largest Doppler shift (speed over wavelength); with 0 Hz there is no fast fading.";
            "prbs": Kind::Integer(1, 275), is $prbs, "Resource blocks in a slot.";
            "layers": Kind::Integer(1, 8), is "2", "Spatial layers.";
            "users": Kind::Integer(0, MAX_USERS), is "2",
                "Other users of the cell; with `users_most` their smallest number.";
            "users_most": Kind::Integer(0, MAX_USERS), or "as `users`",
                "Largest number of other users: each run draws a number from `users` to this, \
                 uniformly.";
            "on": LASTING, is "1 s", "Mean time for which another user has data to receive.";
            "off": LASTING, is "2 s", "Mean time for which another user has no data to receive.";
            "error": Kind::PERCENT, is "10 %",
                "Fraction of the blocks whose first transmission fails.";
            "handovers": BETWEEN, is "none", "Mean time from one handover to the next.";
            $($more)*
        }}
    };
}

cell! { LTE = "lte", "an LTE cell", "The downlink of an LTE cell.", "12 dB", "100" }
cell! { NR = "5g", "a 5G cell", "The downlink of a 5G cell.", "15 dB", "273"
    "blockage": Kind::Switch, is "false",
        "Whether obstacles block the signal from time to time (millimetre waves).";
}

table! { CELL_UPLINK = "cell-uplink", "a cell's uplink",
    "The uplink of a cell: a terminal requests grants and sends when it has one." {
    "rate": MEAN, needed "20 Mbit/s", "Rate of the grants for a terminal that always has data.";
    "request": GRANT, is "10 ms", "Time from one opportunity to send a request to the next.";
    "wait": GRANT, is "8 ms", "Time from a request to the first transmission.";
    "every": GRANT, is "5 ms", "Time from one grant to the next.";
    "prepare": GRANT, is "4 ms", "Time before a transmission at which its data has to be there.";
    "error": Kind::PERCENT, is "10 %", "Fraction of the grants whose first transmission fails.";
    "retry": GRANT, is "8 ms", "Time from a failed transmission to the next.";
}}

/// A varying rate, with the defaults of a model.
macro_rules! fading {
    ($name:ident = $table:literal, $title:literal, $summary:literal, $mean:ident $example:literal,
     $spread:literal, $fast:literal, $tau_fast:literal, $tau_slow:literal,
     $outages:literal, $outage:literal, $longest:literal; $($more:tt)*) => {
        table! { $name = $table, $title, $summary {
            "mean": MEAN, $mean $example, "Mean rate between outages.";
            "spread": SPREAD, is $spread, "Standard deviation of the logarithm of the rate.";
            "fast": Kind::PERCENT, is $fast, "Fraction of that variance that varies fast.";
            "tau_fast": Kind::SPAN, is $tau_fast,
                "Time after which the correlation of the fast part has fallen to 1/e.";
            "tau_slow": Kind::SPAN, is $tau_slow,
                "Time after which the correlation of the slow part has fallen to 1/e.";
            "grid": GRID, is "10 ms", "Time for which a drawn rate holds.";
            "peak": Kind::RATE, or "none", "Upper limit of the rate.";
            $($more)*
            "outages": BETWEEN, is $outages, "Mean time from one outage to the next.";
            "outage": LENGTH, is $outage, "Median length of an outage.";
            "longest": LENGTH, is $longest, "Length of the longest outage.";
        }}
    };
}

fading! { CELL_REDUCED = "cell-reduced", "a cell's reduced model",
    "A cell as a rate whose logarithm varies fast and slowly, with outages.",
    needed "40 Mbit/s", "35 %", "50 %", "150 ms", "4 s", "none", "350 ms", "1.5 s";
    "tti": BLOCK, is "1 ms", "Duration of a block.";
    "error": Kind::PERCENT, is "10 %", "Fraction of the blocks whose first transmission fails.";
}

fading! { HSDPA = "hsdpa", "an HSDPA downlink", "The downlink of HSDPA.",
    is "2 Mbit/s", "75 %", "10 %", "100 ms", "7.5 s", "50 s", "400 ms", "6 s";
    "block": Kind::Integer(400, 84_384), is "7298",
        "Largest block of the terminal's category, in bits.";
    "error": Kind::PERCENT, is "10 %", "Fraction of the blocks whose first transmission fails.";
    "residual": Kind::PERCENT, is "0.1 %", "Fraction of the blocks that RLC retransmits.";
    "discard": Kind::PERCENT, is "0.02 %", "Fraction of the packets that RLC discards.";
}

table! { UMTS_UPLINK = "umts-uplink", "a UMTS uplink", "A dedicated uplink channel of UMTS." {
    "rate": MEAN, needed "384 kbit/s", "Rate of the channel.";
    "tti": BLOCK, is "10 ms", "Duration of a block.";
    "error": Kind::PERCENT, is "1 %", "Fraction of the blocks that RLC retransmits.";
}}

table! { RRC = "rrc", "a radio's states",
    "What the radio of LTE or 5G does while it is idle (radio resource control)." {
    "begins": Kind::Words(BEGINS), is "idle",
        "State at the start of a run: without a connection, or with one that was in use until \
         then.";
    "inactivity": LASTING, is "100 ms",
        "Time without traffic after which the terminal listens only once in each cycle (DRX).";
    "cycle": CYCLE, is "160 ms", "Time from one listening period to the next.";
    "idle": REST, is "10 s", "Time without traffic after which the connection is released.";
    "promotion": PROMOTION, or "[\"80 ms\", \"260 ms\"]",
        "Time to set up a connection: one value, or the limits of a uniform distribution.";
}}

table! { RRC_UMTS = "rrc-umts", "a UMTS radio's states",
    "What the radio of HSDPA does while it is idle (radio resource control)." {
    "begins": Kind::Words(BEGINS), is "idle",
        "State at the start of a run: without a connection, or with one that was in use until \
         then.";
    "fach": REST, is "5 s",
        "Time without traffic after which the dedicated channel is released (FACH).";
    "fach_promotion": PROMOTION, or "[\"500 ms\", \"1 s\"]",
        "Time to get a dedicated channel from FACH: one value, or the limits of a uniform \
         distribution.";
    "idle": REST, is "17 s", "Time without traffic after which the connection is released.";
    "promotion": PROMOTION, or "[\"1.5 s\", \"2.5 s\"]",
        "Time to get a dedicated channel without a connection: one value, or the limits of a \
         uniform distribution.";
}}
