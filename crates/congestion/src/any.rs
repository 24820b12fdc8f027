//! The registry of algorithms by name, and enums that dispatch without allocation.
//!
//! To add an algorithm, write its file and add one entry to the table of its kind below. An
//! [`Algorithm`] is a parsed description (`cubic+search:version=4.0`); it builds the congestion
//! controls of any number of connections.

#[macro_use]
mod dispatch;
mod error;
mod name;
mod parse;
mod requirements;
mod slot;

pub use error::{AlgorithmError, Problem};
pub use parse::{Algorithm, Chosen};
pub use requirements::Requirements;
pub use slot::{CommonStartup, ControlSlot, Hold, Other, Waiting};

use name::Name;
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use crate::foreign::{ForeignAvoidance, ForeignControl, ForeignStartup};
use crate::options::{OptionError, OptionInfo, Options};
use crate::parts::hooks::forward;
use crate::parts::{avoidance_hooks, congestion_control_hooks, recovery_hooks, startup_hooks};
use crate::{
    Ack, AsksRouters, Avoidance, Classic, Congestion, CongestionControl, Decision, Established,
    JumpStarts, KnownPath, KnowsPath, Lost, Needs, Pace, PathMemory, Recovery, Resumption, Sent,
    SlowStartExit, Startup, SteersSending, Step, Window, avoidance, monolithic, recovery, startup,
};

impl Default for AvoidanceConfig {
    /// The default of Linux.
    fn default() -> Self {
        Self::Cubic(avoidance::CubicConfig::default())
    }
}

impl AvoidanceConfig {
    /// The default start-up of an avoidance.
    fn default_startup(&self) -> StartupConfig {
        match self {
            Self::Cubic(_) => StartupConfig::HyStart(startup::HyStartConfig::default()),
            _ => StartupConfig::Standard(startup::StandardConfig::default()),
        }
    }
}

/// Why a start-up and an avoidance cannot be combined, as a clause after "because".
fn contradiction(avoidance: &AvoidanceConfig, startup: &StartupConfig) -> Option<&'static str> {
    match avoidance {
        AvoidanceConfig::Hybla(_) if !startup.only_watches() => Some(
            "Hybla has its own slow-start growth: it accepts only start-ups that monitor slow \
             start and decide its exit, such as `standard`, `hystart` and `search`",
        ),
        _ => None,
    }
}

impl Default for RecoveryConfig {
    /// The default of Linux.
    fn default() -> Self {
        Self::Prr(recovery::PrrConfig::default())
    }
}

/// Parameters of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildContext {
    /// When the connection is established.
    pub now: Instant,
    /// Sender maximum segment size.
    pub smss: Bytes,
    /// Initial window.
    pub initial_window: Bytes,
    /// Seed of the algorithm's random numbers.
    pub seed: u64,
    /// Round-trip time of the handshake, if it gave a sample.
    pub handshake_rtt: Option<Duration>,
}

/// The role of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Finds the capacity.
    Startup,
    /// Uses the capacity.
    Avoidance,
    /// Reduces the window.
    Recovery,
    /// Combines all three.
    Monolithic,
}

impl PartKind {
    /// The name of the kind in messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Startup => "start-up",
            Self::Avoidance => "avoidance",
            Self::Recovery => "recovery",
            Self::Monolithic => "congestion control",
        }
    }
}

/// Description of a part that an algorithm's name may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// The name.
    pub name: &'static str,
    /// Its role.
    pub kind: PartKind,
    /// One-line summary.
    pub summary: &'static str,
    /// Publication or code that describes it.
    pub source: &'static str,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// Origin of its behaviour: a standard, published code, a paper, or a reconstruction.
    pub provenance: &'static str,
}

impl PartInfo {
    /// An algorithm with this part and its default options, whose other parts need nothing of the
    /// transport.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        let mut name = Name::<64>::new();
        name.push(match self.kind {
            PartKind::Startup => "cubic+",
            PartKind::Recovery => "cubic+standard+",
            PartKind::Avoidance | PartKind::Monolithic => "",
        });
        name.push(self.name);
        Algorithm::parse(name.as_str()).unwrap_or_default()
    }

    /// The full path of its configuration type, such as `congestion::startup::fbe::FbeConfig`. Two
    /// parts may share a type.
    #[must_use]
    pub fn settings_type(&self) -> &'static str {
        None.or_else(|| AvoidanceConfig::settings_type(self.name))
            .or_else(|| StartupConfig::settings_type(self.name))
            .or_else(|| RecoveryConfig::settings_type(self.name))
            .or_else(|| MonolithicConfig::settings_type(self.name))
            .unwrap_or(self.name)
    }
}

/// Follows a standard; defaults are those of Linux where it differs.
const STANDARD: &str = "from the standard";
/// Follows the arithmetic of published code.
const LINUX: &str = "from published code (Linux)";

/// Follows the equations of a paper.
const PAPER: &str = "from the paper";
/// Reconstructed by us where the source is not fully known: results say nothing about the original.
const RECONSTRUCTION: &str = "our reconstruction";

/// Ours, to compare others with; it needs the simulator's knowledge of the path.
const REFERENCE: &str = "our reference, which needs the simulator's knowledge of the path";

// `only_watches`: the start-up only monitors slow start and decides its exit, so that an avoidance
// may replace the growth. Any other start-up sets or limits the growth itself.
startups! {
    Abc(startup::Abc, startup::AbcConfig) {
        name: "abc",
        provenance: STANDARD,
        source: "RFC 3465",
        summary: "slow start that adds the bytes that each ACK acknowledges, up to two segments",
        only_watches: false,
    }

    Abcss(startup::Abcss, startup::AbcssConfig) {
        name: "abcss",
        provenance: RECONSTRUCTION,
        source: "Kasoro et al. 2021 (abstract)",
        summary: "slow start that adds one segment per ACK in the first rounds and counts bytes \
                  afterwards, paced",
        only_watches: false,
    }

    Best(startup::Best, startup::BestConfig) {
        name: "best",
        provenance: RECONSTRUCTION,
        source: "Kachooei et al. 2022 (announcement)",
        summary: "slow start that exits at the BDP estimated from packet-pair dispersion",
        only_watches: true,
    }

    CarefulResume(startup::CarefulResume, startup::CarefulResumeConfig) {
        name: "careful-resume",
        provenance: STANDARD,
        source: "RFC 9959",
        summary: "jumps to half of the window saved by an earlier connection over the path, and \
                  retreats on congestion",
        only_watches: false,
    }

    Fbe(startup::Fbe, startup::FbeConfig) {
        name: "fbe",
        provenance: RECONSTRUCTION,
        source: "Li et al. 2023 (citation only)",
        summary: "slow start that exits at the BDP estimated from refined ACK intervals",
        only_watches: true,
    }

    Forecast(startup::Forecast, startup::ForecastConfig) {
        name: "forecast",
        provenance: RECONSTRUCTION,
        source: "Lübben 2022 (abstract)",
        summary: "after twenty ACKs sets the window from the rate that a small neural network \
                  forecasts",
        only_watches: false,
    }

    Halfback(startup::Halfback, startup::HalfbackConfig) {
        name: "halfback",
        provenance: RECONSTRUCTION,
        source: "Li et al. 2015 (abstract)",
        summary: "paces a short flow over one round trip, and proactively retransmits its second \
                  half as ACKs arrive",
        only_watches: false,
    }

    HyStart(startup::HyStart, startup::HyStartConfig) {
        name: "hystart",
        provenance: LINUX,
        source: "Ha and Rhee 2011; Linux tcp_cubic.c",
        summary: "slow start that exits when ACK trains or delays grow; the default of Linux",
        only_watches: true,
    }

    HyStartPlusPlus(startup::HyStartPlusPlus, startup::HyStartPlusPlusConfig) {
        name: "hystart++",
        provenance: STANDARD,
        source: "RFC 9406",
        summary: "slow start that grows more slowly when delay rises, and exits if it stays high",
        only_watches: false,
    }

    Limited(startup::Limited, startup::LimitedConfig) {
        name: "limited",
        provenance: STANDARD,
        source: "RFC 3742",
        summary: "slow start that adds at most half of max_ssthresh per round trip",
        only_watches: false,
    }

    InitialStart(startup::InitialStart, startup::InitialStartConfig) {
        name: "initial-start",
        provenance: STANDARD,
        source: "RFC 6928; RFC 3390; Scharf 2011",
        summary: "slow start from a configurable initial window",
        only_watches: false,
    }

    JumpStart(startup::JumpStart, startup::JumpStartConfig) {
        name: "jump-start",
        provenance: "from the paper, as recalled; RFC 7661",
        source: "Liu et al. 2007; Scharf 2011",
        summary: "sends all queued data in the first round trip, paced",
        only_watches: false,
    }

    Oracle(startup::Oracle, startup::OracleConfig) {
        name: "oracle",
        provenance: REFERENCE,
        source: "slowstart",
        summary: "slow start that exits when the window holds the BDP, which the simulator tells it; \
                  runs in the simulator only",
        only_watches: true,
    }

    PacketPair(startup::PacketPair, startup::PacketPairConfig) {
        name: "packet-pair",
        provenance: RECONSTRUCTION,
        source: "Abed and Jasim 2022 (abstract)",
        summary: "slow start with the estimated BDP as threshold, corrected each round from packet \
                  pairs",
        only_watches: true,
    }

    QuickStart(startup::QuickStart, startup::QuickStartConfig) {
        name: "quick-start",
        provenance: STANDARD,
        source: "RFC 4782",
        summary: "starts at a rate approved by every router of the path, or with slow start if one \
                  did not approve",
        only_watches: false,
    }

    RapidStart(startup::RapidStart, startup::RapidStartConfig) {
        name: "rapid-start",
        provenance: STANDARD,
        source: "draft-kazuho-ccwg-rapid-start-02 (Oku, 16 March 2026)",
        summary: "triples the window each round while the RTT shows no queue, and corrects the \
                  overshoot at the first loss",
        only_watches: false,
    }

    Search(startup::Search, startup::SearchConfig) {
        name: "search",
        provenance: "from the thesis (Kachooei 2024), drafts and published code",
        source: "Kachooei 2024; draft-chung-ccwg-search-00 (June 2024) to -09 (17 March 2026)",
        summary: "slow start that exits when delivery falls behind what was sent one RTT earlier",
        only_watches: true,
    }

    Standard(startup::Standard, startup::StandardConfig) {
        name: "standard",
        provenance: STANDARD,
        source: "RFC 5681",
        summary: "slow start: the window doubles each round trip until a loss",
        only_watches: true,
    }

    Stateful(startup::Stateful, startup::StatefulConfig) {
        name: "stateful",
        provenance: "from published code (S-CUBIC 1.0)",
        source: "Guo and Lee 2020; draft-lee-tcpm-stateful-tcp-00 (May 2026)",
        summary: "starts from the bandwidth and RTT saved by an earlier connection over the path",
        only_watches: false,
    }

    Suss(startup::Suss, startup::SussConfig) {
        name: "suss",
        provenance: "from published code (the authors')",
        source: "Arghavani et al. 2024; SUSSdeveloper/SUSS for Linux 6.8",
        summary: "slow start that paces additional segments in a round if HyStart would not exit \
                  one round later",
        only_watches: false,
    }
}

avoidances! {
    Abba(avoidance::Abba, avoidance::AbbaConfig) {
        name: "abba",
        provenance: STANDARD,
        source: "draft-kazuho-ccwg-abba, no number yet (Oku, September 2026)",
        summary: "CUBIC that grows faster while the queue is empty, and returns to slow start if \
                  no queue builds for long",
    }

    Bic(avoidance::Bic, avoidance::BicConfig) {
        name: "bic",
        provenance: LINUX,
        source: "Xu et al. 2004; Linux tcp_bic.c",
        summary: "binary search for the window of the last loss",
    }

    Cuback(avoidance::Cuback, avoidance::CubackConfig) {
        name: "cuback",
        provenance: STANDARD,
        source: "draft-kazuho-ccwg-cuback-00 (Oku, 25 September 2026)",
        summary: "the curve of CUBIC as a function of acknowledged data instead of time",
    }

    Cubic(avoidance::Cubic, avoidance::CubicConfig) {
        name: "cubic",
        provenance: LINUX,
        source: "RFC 9438; Linux tcp_cubic.c",
        summary: "cubic function of time around the window of the last loss; the default of Linux",
    }

    Fast(avoidance::Fast, avoidance::FastConfig) {
        name: "fast",
        provenance: PAPER,
        source: "Wei et al. 2006",
        summary: "keeps a constant number of segments queued, estimated from their delay",
    }

    Hybla(avoidance::Hybla, avoidance::HyblaConfig) {
        name: "hybla",
        provenance: LINUX,
        source: "Caini and Firrincieli 2004; Linux tcp_hybla.c",
        summary: "grows on long paths as Reno does at an RTT of 25 ms, also in slow start",
    }

    Illinois(avoidance::Illinois, avoidance::IllinoisConfig) {
        name: "illinois",
        provenance: LINUX,
        source: "Liu et al. 2008; Linux tcp_illinois.c",
        summary: "Reno whose growth and reduction per round trip depend on the queueing delay",
    }

    Prague(avoidance::Prague, avoidance::PragueConfig) {
        name: "prague",
        provenance: PAPER,
        source: "draft-briscoe-iccrg-prague-congestion-control, as before -04 (July 2024)",
        summary: "reduces the window by half of the fraction of packets that an L4S queue marks",
    }

    Reno(avoidance::Reno, avoidance::RenoConfig) {
        name: "reno",
        provenance: LINUX,
        source: "RFC 5681; Linux tcp_cong.c",
        summary: "adds one segment per round trip, and halves the window on congestion",
    }

    Vegas(avoidance::Vegas, avoidance::VegasConfig) {
        name: "vegas",
        provenance: LINUX,
        source: "Brakmo and Peterson 1995; Linux tcp_vegas.c",
        summary: "adds or removes one segment per round trip, by the number of queued segments",
    }

    Westwood(avoidance::Westwood, avoidance::WestwoodConfig) {
        name: "westwood",
        provenance: LINUX,
        source: "Dell'Aera et al. 2004; Linux tcp_westwood.c",
        summary: "Reno that sets the window from the measured bandwidth after a loss (Westwood+)",
    }
}

recoveries! {
    Prr(recovery::Prr, recovery::PrrConfig) {
        name: "prr",
        provenance: LINUX,
        source: "RFC 9937; Linux tcp_input.c",
        summary: "proportional rate reduction: spreads transmissions over one round trip",
    }

    NewReno(recovery::NewReno, recovery::NewRenoConfig) {
        name: "newreno",
        provenance: STANDARD,
        source: "RFC 6582",
        summary: "sets the window to the threshold at once, and retransmits losses at once",
    }

    Plain(recovery::Plain, recovery::PlainConfig) {
        name: "plain",
        provenance: STANDARD,
        source: "RFC 5681, RFC 6675",
        summary: "sets the window to the threshold at once, limited by the pipe",
    }

    RateHalving(recovery::RateHalving, recovery::RateHalvingConfig) {
        name: "rate-halving",
        provenance: LINUX,
        source: "Mathis et al. 1999; Linux 2.6 tcp_input.c",
        summary: "reduces the window by one segment on every second ACK, as Linux did before PRR",
    }
}

monoliths! {
    Bbr(monolithic::Bbr, monolithic::BbrConfig) {
        name: "bbr",
        provenance: LINUX,
        source: "Cardwell et al. 2016; Linux tcp_bbr.c",
        summary: "BBRv1: paces at the measured bandwidth, with a window of two BDP",
    }

    Bbr3(monolithic::Bbr3, monolithic::Bbr3Config) {
        name: "bbr3",
        provenance: STANDARD,
        source: "draft-ietf-ccwg-bbr after -06 (text of 3 August 2026)",
        summary: "BBRv3: like BBRv1, but loss above 2 % bounds inflight (inflight_longterm)",
    }

    Bbrp(monolithic::Bbr, monolithic::BbrpConfig) {
        name: "bbrp",
        provenance: RECONSTRUCTION,
        source: "Grazia et al. 2020 (abstract)",
        summary: "BBRv1 that paces above the measured bandwidth, so that Wi-Fi has frames to \
                  aggregate",
    }

    C4(monolithic::C4, monolithic::C4Config) {
        name: "c4",
        provenance: STANDARD,
        source: "draft-huitema-ccwg-c4-spec-04 (July 2026)",
        summary: "Christian's Congestion Control Code: paces at the largest measured rate, and \
                  allows for the largest RTT without a queue",
    }

    Rcp(monolithic::Rcp, monolithic::RcpConfig) {
        name: "rcp",
        provenance: "from published code (ns-2)",
        source: "Dukkipati and McKeown",
        summary: "sends at the smallest rate that the routers of the path offer, from the first \
                  data on (the fallback without router support is ours)",
    }

    Xcp(monolithic::Xcp, monolithic::XcpConfig) {
        name: "xcp",
        provenance: "from published code (ns-2)",
        source: "Katabi et al. 2002",
        summary: "changes its window by the feedback of the path's routers (the fallback without \
                  router support is ours)",
    }
}

const PARTS_COUNT: usize = STARTUPS.len() + AVOIDANCES.len() + RECOVERIES.len() + MONOLITHIC.len();

/// Every part that an algorithm's name may contain, by kind.
pub const PARTS: &[PartInfo] = &joined([AVOIDANCES, STARTUPS, RECOVERIES, MONOLITHIC]);

const fn joined<const N: usize>(tables: [&[PartInfo]; N]) -> [PartInfo; PARTS_COUNT] {
    let mut all = [RECOVERIES[0]; PARTS_COUNT];
    let (mut table, mut next) = (0, 0);
    while table < N {
        let mut row = 0;
        while row < tables[table].len() {
            all[next] = tables[table][row];
            next += 1;
            row += 1;
        }
        table += 1;
    }
    all
}
