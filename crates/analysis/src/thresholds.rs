//! The thresholds of the verdict, each with its unit and its source.
//!
//! One entry makes the constant and its row in the reference (docs/reference/analysis.md). "Grid" as
//! a source means that the value was chosen on the simulated grid of `slowstart validate analyze`:
//! it separates what the simulator knows, it follows from no document, and the held-out flows of
//! that command measure what it is worth elsewhere. "QUIC training flows" are those with an even seed of
//! its part `quic`, which measures those with an odd seed apart.

/// A row of the reference.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// The constant.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it decides.
    pub meaning: &'static str,
    /// Where the value comes from.
    pub source: &'static str,
}

macro_rules! thresholds {
    ($($name:ident: $kind:ty = $value:expr, $unit:literal, $meaning:literal, $source:literal;)*) => {
        $(#[doc = $meaning] pub const $name: $kind = $value;)*

        /// All thresholds, in the order of the reference.
        pub const ALL: &[Threshold] = &[$(Threshold {
            name: stringify!($name),
            value: $name as f64,
            unit: $unit,
            meaning: $meaning,
            source: $source,
        },)*];
    };
}

thresholds! {
    LEAST_EARLY_SLOPE: f64 = 0.3, "bytes per byte",
        "The flight of the first rounds grows at least by this much per delivered byte, or slow \
         start is not recognized.",
        "below the 0.5 of a window that grows per ACK with delayed ACKs (RFC 5681, sections 3.1 and \
         4.2); grid";
    FAST: f64 = 0.5, "early slope",
        "From this fraction of its own early slope on, the flight grows as in slow start.",
        "midway between slow start (1) and no growth (0); RFC 5681, section 3.1";
    RESUMED: f64 = 0.7, "early slope",
        "From this fraction on, slow start goes on after a pause.",
        "above the 0.5 at which Linux limits CUBIC (tcp_cubic.c: one segment for two delivered)";
    CONSERVATIVE: f64 = 0.125, "early slope",
        "From this fraction on, the growth is that of conservative slow start.",
        "half of its growth by a quarter (RFC 9406, section 4.2, CSS_GROWTH_DIVISOR)";
    AVOIDANCE: f64 = 2.0, "segments per window",
        "Slower growth than this is congestion avoidance.",
        "twice the segment per window of RFC 5681, section 3.1";
    SLOPE_OVER: i64 = 4, "parts of the window",
        "The slope is that of the last window divided by this.",
        "grid";
    SLOPE_SEGMENTS: i64 = 4, "segments",
        "The slope is that of at least this much delivered data.",
        "two delayed ACKs (RFC 5681, section 4.2)";
    PAUSED: i64 = 2, "windows",
        "After this many delivered windows without growth, slow start needs RESUMED to go on.",
        "grid";
    OVER: i64 = 8, "windows",
        "After this many delivered windows without growth, slow start is over.",
        "links that deliver in bursts pause for a few windows (LTE and Wi-Fi presets); grid";
    WAITS: f64 = 0.5, "fraction of time",
        "A pause counts if the sender waited for ACKs for this part of it.",
        "more often than not";
    LEAST_ROUNDS: u32 = 2, "rounds",
        "The growth of fewer rounds shows nothing.",
        "the first doubling ends with the second round (RFC 5681, section 3.1)";
    LEAST_RTT: i64 = 5_000_000, "ns",
        "Away from the sender, a shorter round trip gives no verdict.",
        "five ticks of a timestamp clock of 1 ms (RFC 7323, section 5.4)";
    LEAST_IDLE: f64 = 0.6, "windows",
        "A decision needs this much delivered data without growth before the data ends.",
        "the gap between two bursts is half a window; grid";
    LEAST_IDLE_ELSEWHERE: f64 = 1.2, "windows",
        "The same away from the sender.",
        "twice LEAST_IDLE, because the order of packets is restored; grid";
    BEND_NOISE: i64 = 2, "segments",
        "The flight varies by this much around its bend, at least.",
        "one delayed ACK (RFC 5681, section 4.2)";
    BEND_NOISE_PART: i64 = 128, "parts of the window",
        "The same for a large window: the window divided by this.",
        "the step in which the growth is recorded";
    GAP_SEGMENTS: i64 = 8, "segments",
        "A gap or a bend that is nearer than this to the end of the growth belongs to it.",
        "grid";
    GAP_PART: i64 = 32, "parts of the window",
        "A gap belongs to the end of the growth also within the window divided by this.",
        "grid";
    STOPPED_PART: i64 = 6, "parts of the window",
        "The growth stopped before a loss if it did so by more than the window divided by this.",
        "grid";
    STOPPED_SLOPE: f64 = 0.15, "early slope",
        "The flight grew by less than this since the bend, if it stopped before a loss.",
        "just above CONSERVATIVE; grid";
    NEVER_LARGER: i64 = 2, "segments",
        "The receive window held the flight if it was never larger than it by this.",
        "one delayed ACK (RFC 5681, section 4.2)";
    FULL_WINDOW_PART: i64 = 16, "parts of the window",
        "The receive window was full if it had less left than the flight divided by this.",
        "grid";
    RECEIVER_TIME: f64 = 0.3, "fraction of time",
        "The receiver was the limit if its full window held the sender for this part of the rest.",
        "grid";
    APPLICATION_TIME: f64 = 0.5, "fraction of time",
        "The application was the limit if it held the sender for this part of the rest.",
        "more often than not";
    PLATEAU: u32 = 6, "rounds",
        "A paced sender decided if its flight stays for more rounds than this.",
        "twice the three rounds of BBR's full pipe (Cardwell et al., \"BBR: Congestion-Based \
         Congestion Control\", 2016)";
    STAYS: f64 = 0.75, "flight",
        "A flight stays if three quarters of its moments are above this part of it.",
        "between no response (1) and CUBIC's (0.7; RFC 9438, section 4.6)";
    ROUNDS_FOR_CAPACITY: usize = 5, "rounds",
        "Fewer rounds after the exit show no capacity.",
        "grid";
    NEAR_CAPACITY: f64 = 0.9, "BDP",
        "An exit at less than this part of the BDP is early.",
        "payload per packet with headers (0.96), and rounding";
    OWN_LIMIT: f64 = 0.5, "fraction of time",
        "If receiver and application held the sender for more, the class is unknown.",
        "more often than not";
    ACK_USUAL: usize = 64, "ACKs",
        "The usual size of an encrypted ACK is the third largest of so many before it.",
        "QUIC training flows";
    ACK_GROWS: u16 = 6, "bytes",
        "An encrypted ACK that is larger than usual by this much reports a gap.",
        "three gaps of two bytes each (RFC 9000, section 19.3.1); QUIC training flows";
    ACK_RUN: usize = 3, "ACKs",
        "So many of them in a row do.",
        "other frames are rare; QUIC training flows";
}
