//! Every algorithm by name: the registry, and enums that dispatch without allocation.
//!
//! To add an algorithm, write its file and add one entry to the table of its kind below. An
//! [`Algorithm`] is a description (`cubic+search:version=4.0`) that was understood; it builds any
//! number of connections' congestion controls.

#[macro_use]
mod dispatch;
mod error;
mod name;
mod parse;

pub use error::{AlgorithmError, Problem};
pub use parse::Algorithm;

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use crate::options::{OptionError, OptionInfo, Options};
use crate::parts::hooks::forward;
use crate::parts::{avoidance_hooks, congestion_control_hooks, recovery_hooks, startup_hooks};
use crate::{
    Ack, AsksRouters, Avoidance, Classic, Congestion, CongestionControl, Decision, Established,
    JumpStarts, Lost, Pace, PathMemory, Recovery, Sent, SlowStartExit, Startup, SteersSending,
    Step, Window, avoidance, monolithic, recovery, startup,
};

impl Default for AvoidanceConfig {
    /// The default of Linux.
    fn default() -> Self {
        Self::Cubic(avoidance::CubicConfig::default())
    }
}

impl AvoidanceConfig {
    /// The start-up that an avoidance has when none is named.
    fn default_startup(&self) -> StartupConfig {
        match self {
            Self::Cubic(_) => StartupConfig::HyStart(startup::HyStartConfig::default()),
            _ => StartupConfig::Standard(startup::StandardConfig::default()),
        }
    }
}

/// Why a start-up and an avoidance have no meaning together, as a clause after "because".
fn contradiction(avoidance: &AvoidanceConfig, startup: &StartupConfig) -> Option<&'static str> {
    match avoidance {
        AvoidanceConfig::Hybla(_) if !startup.only_watches() => Some(
            "Hybla grows slow start by itself: only a start-up that does no more than to watch and \
             end it has a meaning there, such as `standard`, `hystart` and `search`",
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

/// What an algorithm is told when a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildContext {
    /// When the connection is established.
    pub now: Instant,
    /// Sender maximum segment size.
    pub smss: Bytes,
    /// Initial window.
    pub initial_window: Bytes,
    /// Seed of what the algorithm draws.
    pub seed: u64,
    /// Round-trip time of the handshake, where it gave a sample.
    pub handshake_rtt: Option<Duration>,
}

/// What a part does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Finds the capacity.
    Startup,
    /// Uses the capacity.
    Avoidance,
    /// Reduces the window.
    Recovery,
    /// All three at once.
    Monolithic,
}

impl PartKind {
    /// The word for it in messages.
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

/// What is known about a part that can be named in an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// The name.
    pub name: &'static str,
    /// What it does.
    pub kind: PartKind,
    /// One line about it.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// Where its behaviour comes from: a standard, published code, a paper, or a reconstruction.
    pub provenance: &'static str,
}

impl PartInfo {
    /// The type of its settings, with its modules: `congestion::startup::fbe::FbeConfig`. Two parts
    /// may be settings of one type.
    #[must_use]
    pub fn settings_type(&self) -> &'static str {
        None.or_else(|| AvoidanceConfig::settings_type(self.name))
            .or_else(|| StartupConfig::settings_type(self.name))
            .or_else(|| RecoveryConfig::settings_type(self.name))
            .or_else(|| MonolithicConfig::settings_type(self.name))
            .unwrap_or(self.name)
    }
}

/// Follows a standard, with what Linux does differently as the default.
const STANDARD: &str = "from the standard";
/// Follows the arithmetic of published code.
const LINUX: &str = "from published code (Linux)";

/// Follows the equations of a paper.
const PAPER: &str = "from the paper";
/// Made up by us where the source is not fully known: results say nothing about the original.
const RECONSTRUCTION: &str = "our reconstruction";

// `only_watches`: the start-up watches slow start and ends it, and no more, so that an avoidance
// may grow the window otherwise. Any other start-up sets or limits the growth itself.
startups! {
    Abc(startup::Abc, startup::AbcConfig) {
        name: "abc",
        provenance: STANDARD,
        source: "RFC 3465",
        summary: "slow start that adds what an ACK acknowledges, up to two segments",
        only_watches: false,
    }

    Abcss(startup::Abcss, startup::AbcssConfig) {
        name: "abcss",
        provenance: RECONSTRUCTION,
        source: "Kasoro et al. 2021 (abstract)",
        summary: "one segment for each ACK in the first rounds, byte counting afterwards, paced",
        only_watches: false,
    }

    Best(startup::Best, startup::BestConfig) {
        name: "best",
        provenance: RECONSTRUCTION,
        source: "Kachooei et al. 2022 (announcement)",
        summary: "slow start that ends at bandwidth times RTT, by the dispersion of packet pairs",
        only_watches: true,
    }

    CarefulResume(startup::CarefulResume, startup::CarefulResumeConfig) {
        name: "careful-resume",
        provenance: STANDARD,
        source: "RFC 9959",
        summary: "jumps to half of what an earlier connection over the path reached, and retreats \
                  if that was wrong",
        only_watches: false,
    }

    Fbe(startup::Fbe, startup::FbeConfig) {
        name: "fbe",
        provenance: RECONSTRUCTION,
        source: "Li, Chen and Li 2023 (abstract)",
        summary: "slow start that ends at bandwidth times RTT, by refined ACK intervals",
        only_watches: true,
    }

    Forecast(startup::Forecast, startup::ForecastConfig) {
        name: "forecast",
        provenance: RECONSTRUCTION,
        source: "Luebben 2022 (abstract)",
        summary: "after twenty ACKs the window is what a small neural network forecasts",
        only_watches: false,
    }

    Halfback(startup::Halfback, startup::HalfbackConfig) {
        name: "halfback",
        provenance: RECONSTRUCTION,
        source: "Li, Dong and Godfrey 2015",
        summary: "paces a short flow over one round trip, and sends its second half again as ACKs \
                  come",
        only_watches: false,
    }

    HyStart(startup::HyStart, startup::HyStartConfig) {
        name: "hystart",
        provenance: LINUX,
        source: "Ha and Rhee 2011; Linux tcp_cubic.c",
        summary: "slow start that ends when ACK trains or delays grow; the default of Linux",
        only_watches: true,
    }

    HyStartPlusPlus(startup::HyStartPlusPlus, startup::HyStartPlusPlusConfig) {
        name: "hystart++",
        provenance: STANDARD,
        source: "RFC 9406",
        summary: "slow start that slows down when delays grow, and ends when they stay",
        only_watches: false,
    }

    Limited(startup::Limited, startup::LimitedConfig) {
        name: "limited",
        provenance: STANDARD,
        source: "RFC 3742",
        summary: "slow start that adds at most half of max_ssthresh each round trip",
        only_watches: false,
    }

    InitialStart(startup::InitialStart, startup::InitialStartConfig) {
        name: "initial-start",
        provenance: STANDARD,
        source: "RFC 6928; RFC 3390; Scharf 2009",
        summary: "slow start from an initial window of choice",
        only_watches: false,
    }

    JumpStart(startup::JumpStart, startup::JumpStartConfig) {
        name: "jump-start",
        provenance: "from the paper, as recalled; RFC 7661",
        source: "Liu et al., PFLDnet 2007; Scharf 2009",
        summary: "sends what is queued in the first round trip, paced",
        only_watches: false,
    }

    PacketPair(startup::PacketPair, startup::PacketPairConfig) {
        name: "packet-pair",
        provenance: RECONSTRUCTION,
        source: "Abed and Jasim 2022 (abstract)",
        summary: "slow start with bandwidth times RTT as threshold, corrected each round by packet \
                  pairs",
        only_watches: true,
    }

    QuickStart(startup::QuickStart, startup::QuickStartConfig) {
        name: "quick-start",
        provenance: STANDARD,
        source: "RFC 4782",
        summary: "begins with the rate that every router of the path approved, and with slow start \
                  where one did not",
        only_watches: false,
    }

    RapidStart(startup::RapidStart, startup::RapidStartConfig) {
        name: "rapid-start",
        provenance: STANDARD,
        source: "draft-kazuho-ccwg-rapid-start",
        summary: "triples the window each round while no queue shows, and answers the first loss \
                  for it",
        only_watches: false,
    }

    Search(startup::Search, startup::SearchConfig) {
        name: "search",
        provenance: "from the thesis, its drafts and published code",
        source: "draft-chung-ccwg-search; thesis",
        summary: "slow start that ends when delivery falls behind what was sent one round trip \
                  before",
        only_watches: true,
    }

    Standard(startup::Standard, startup::StandardConfig) {
        name: "standard",
        provenance: STANDARD,
        source: "RFC 5681",
        summary: "slow start: the window doubles each round trip until something is lost",
        only_watches: true,
    }

    Stateful(startup::Stateful, startup::StatefulConfig) {
        name: "stateful",
        provenance: "from published code (S-CUBIC 1.0)",
        source: "Guo and Lee 2020; draft-lee-tcpm-stateful-tcp",
        summary: "begins with the bandwidth and RTT that an earlier connection over the path left",
        only_watches: false,
    }

    Suss(startup::Suss, startup::SussConfig) {
        name: "suss",
        provenance: "from published code (the authors')",
        source: "Arghavani et al., SIGCOMM 2024; SUSSdeveloper/SUSS for Linux 6.8",
        summary: "slow start that paces additional segments while HyStart would not end it one \
                  round later",
        only_watches: false,
    }
}

avoidances! {
    Bic(avoidance::Bic, avoidance::BicConfig) {
        name: "bic",
        provenance: LINUX,
        source: "Xu, Harfoush and Rhee 2004; Linux tcp_bic.c",
        summary: "a binary search for the window of the last loss",
    }

    Cubic(avoidance::Cubic, avoidance::CubicConfig) {
        name: "cubic",
        provenance: LINUX,
        source: "RFC 9438; Linux tcp_cubic.c",
        summary: "a cubic curve of time around the window of the last loss; the default of Linux",
    }

    Fast(avoidance::Fast, avoidance::FastConfig) {
        name: "fast",
        provenance: PAPER,
        source: "Wei, Jin, Low and Hegde 2006",
        summary: "keeps a constant number of segments in queues, by the delay that they cause",
    }

    Hybla(avoidance::Hybla, avoidance::HyblaConfig) {
        name: "hybla",
        provenance: LINUX,
        source: "Caini and Firrincieli 2004; Linux tcp_hybla.c",
        summary: "grows on long paths as Reno does on one of 25 ms, in slow start too",
    }

    Reno(avoidance::Reno, avoidance::RenoConfig) {
        name: "reno",
        provenance: LINUX,
        source: "RFC 5681; Linux tcp_cong.c",
        summary: "one segment more each round trip, half on congestion",
    }

    Vegas(avoidance::Vegas, avoidance::VegasConfig) {
        name: "vegas",
        provenance: LINUX,
        source: "Brakmo and Peterson 1995; Linux tcp_vegas.c",
        summary: "one segment more or less each round trip, by how many wait in queues",
    }

    Westwood(avoidance::Westwood, avoidance::WestwoodConfig) {
        name: "westwood",
        provenance: LINUX,
        source: "Dell'Aera, Grieco and Mascolo 2004; Linux tcp_westwood.c",
        summary: "Reno that falls to the measured bandwidth after a loss (Westwood+)",
    }
}

recoveries! {
    Prr(recovery::Prr, recovery::PrrConfig) {
        name: "prr",
        provenance: LINUX,
        source: "RFC 9937; Linux tcp_input.c",
        summary: "proportional rate reduction: sends are spread over one round trip",
    }

    NewReno(recovery::NewReno, recovery::NewRenoConfig) {
        name: "newreno",
        provenance: STANDARD,
        source: "RFC 6582",
        summary: "the window is the threshold at once, and what is found lost is repeated at once",
    }

    Plain(recovery::Plain, recovery::PlainConfig) {
        name: "plain",
        provenance: STANDARD,
        source: "RFC 5681, RFC 6675",
        summary: "the window is the threshold at once, limited by the pipe",
    }

    RateHalving(recovery::RateHalving, recovery::RateHalvingConfig) {
        name: "rate-halving",
        provenance: LINUX,
        source: "Mathis, Semke and Mahdavi 1999; Linux 2.6 tcp_input.c",
        summary: "every second ACK takes a segment off the window, as Linux did before PRR",
    }
}

monoliths! {
    Bbr(monolithic::Bbr, monolithic::BbrConfig) {
        name: "bbr",
        provenance: LINUX,
        source: "Cardwell et al. 2016; Linux tcp_bbr.c",
        summary: "version 1: paces at the measured bandwidth, with a window of two bandwidth-delay \
                  products",
    }

    Bbr3(monolithic::Bbr3, monolithic::Bbr3Config) {
        name: "bbr3",
        provenance: STANDARD,
        source: "draft-ietf-ccwg-bbr",
        summary: "version 3: as version 1, and more than 2 % lost bound what is in flight",
    }

    Bbrp(monolithic::Bbr, monolithic::BbrpConfig) {
        name: "bbrp",
        provenance: RECONSTRUCTION,
        source: "Grazia, Klapez and Casoni 2020 (abstract)",
        summary: "version 1 that sends faster than it measures, so that Wi-Fi has frames to \
                  aggregate",
    }

    Rcp(monolithic::Rcp, monolithic::RcpConfig) {
        name: "rcp",
        provenance: "from published code (ns-2)",
        source: "Dukkipati and McKeown 2005",
        summary: "sends at the smallest rate that the routers of the path tell every flow, from \
                  the first data on (the fall-back where one does not is ours)",
    }

    Xcp(monolithic::Xcp, monolithic::XcpConfig) {
        name: "xcp",
        provenance: "from published code (ns-2)",
        source: "Katabi, Handley and Rohrs 2002",
        summary: "changes its window as the routers of the path tell each packet (the fall-back \
                  where one does not is ours)",
    }
}

const PARTS_COUNT: usize = STARTUPS.len() + AVOIDANCES.len() + RECOVERIES.len() + MONOLITHIC.len();

/// Every part that can be named, by kind.
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
