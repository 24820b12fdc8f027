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
    Step, Window, avoidance, recovery, startup, whole,
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

impl StartupConfig {
    /// Whether it only watches slow start and ends it, so that an avoidance may grow it otherwise.
    /// Any other sets or limits the growth itself.
    const fn only_watches(&self) -> bool {
        matches!(
            self,
            Self::Best(_)
                | Self::Fbe(_)
                | Self::HyStart(_)
                | Self::PacketPair(_)
                | Self::Search(_)
                | Self::Standard(_)
        )
    }
}

/// Why a start-up and an avoidance that exist have no meaning together, as a clause after "because".
fn contradiction(avoidance: &AvoidanceConfig, startup: &StartupConfig) -> Option<&'static str> {
    match avoidance {
        AvoidanceConfig::Hybla(_) if !startup.only_watches() => Some(
            "Hybla grows slow start by itself: only a start-up that does no more than to watch and end it \
             has a meaning there, such as `standard`, `hystart` and `search`",
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
    Whole,
}

impl PartKind {
    /// The word for it in messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Startup => "start-up",
            Self::Avoidance => "avoidance",
            Self::Recovery => "recovery",
            Self::Whole => "congestion control",
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
    /// How sure we are of it.
    pub truth: &'static str,
}

impl PartInfo {
    /// The type of its settings, with its modules: `congestion::startup::fbe::FbeConfig`. Two parts
    /// may be settings of one type.
    #[must_use]
    pub fn settings_type(&self) -> &'static str {
        None.or_else(|| AvoidanceConfig::settings_type(self.name))
            .or_else(|| StartupConfig::settings_type(self.name))
            .or_else(|| RecoveryConfig::settings_type(self.name))
            .or_else(|| WholeConfig::settings_type(self.name))
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

startups! {
    Abc(startup::Abc, startup::AbcConfig) = "abc", STANDARD, "RFC 3465",
        "slow start that adds what an ACK acknowledges, up to two segments";
    Abcss(startup::Abcss, startup::AbcssConfig) = "abcss", RECONSTRUCTION, "Kasoro et al. 2021 (abstract)",
        "one segment for each ACK in the first rounds, byte counting afterwards, paced";
    Best(startup::Best, startup::BestConfig) = "best", RECONSTRUCTION, "Kachooei et al. 2022 (announcement)",
        "slow start that ends at bandwidth times RTT, by the dispersion of packet pairs";
    CarefulResume(startup::CarefulResume, startup::CarefulResumeConfig) = "careful-resume", STANDARD, "RFC 9959",
        "jumps to half of what an earlier connection over the path reached, and retreats if that was wrong";
    Fbe(startup::Fbe, startup::FbeConfig) = "fbe", RECONSTRUCTION, "Li, Chen and Li 2023 (abstract)",
        "slow start that ends at bandwidth times RTT, by refined ACK intervals";
    Forecast(startup::Forecast, startup::ForecastConfig) = "forecast", RECONSTRUCTION, "Luebben 2022 (abstract)",
        "after twenty ACKs the window is what a small neural network forecasts";
    Halfback(startup::Halfback, startup::HalfbackConfig) = "halfback", RECONSTRUCTION, "Li, Dong and Godfrey 2015",
        "paces a short flow over one round trip, and sends its second half again as ACKs come";
    HyStart(startup::HyStart, startup::HyStartConfig) = "hystart", LINUX, "Ha and Rhee 2011; Linux tcp_cubic.c",
        "slow start that ends when ACK trains or delays grow; the default of Linux";
    HyStartPlusPlus(startup::HyStartPlusPlus, startup::HyStartPlusPlusConfig) = "hystart++", STANDARD, "RFC 9406",
        "slow start that slows down when delays grow, and ends when they stay";
    Limited(startup::Limited, startup::LimitedConfig) = "limited", STANDARD, "RFC 3742",
        "slow start that adds at most half of max_ssthresh each round trip";
    InitialStart(startup::InitialStart, startup::InitialStartConfig) = "initial-start", STANDARD, "RFC 6928; RFC 3390; Scharf 2009",
        "slow start from an initial window of choice";
    JumpStart(startup::JumpStart, startup::JumpStartConfig) = "jump-start", "from the paper, as recalled; RFC 7661", "Liu et al., PFLDnet 2007; Scharf 2009",
        "sends what is queued in the first round trip, paced";
    PacketPair(startup::PacketPair, startup::PacketPairConfig) = "packet-pair", RECONSTRUCTION, "Abed and Jasim 2022 (abstract)",
        "slow start with bandwidth times RTT as threshold, corrected each round by packet pairs";
    QuickStart(startup::QuickStart, startup::QuickStartConfig) = "quick-start", STANDARD, "RFC 4782",
        "begins with the rate that every router of the path approved, and with slow start where one did not";
    RapidStart(startup::RapidStart, startup::RapidStartConfig) = "rapid-start", STANDARD, "draft-kazuho-ccwg-rapid-start",
        "triples the window each round while no queue shows, and answers the first loss for it";
    Search(startup::Search, startup::SearchConfig) = "search", "from the thesis, its drafts and published code", "draft-chung-ccwg-search; thesis",
        "slow start that ends when delivery falls behind what was sent one round trip before";
    Standard(startup::Standard, startup::StandardConfig) = "standard", STANDARD, "RFC 5681",
        "slow start: the window doubles each round trip until something is lost";
    Stateful(startup::Stateful, startup::StatefulConfig) = "stateful", "from published code (S-CUBIC 1.0)", "Guo and Lee 2020; draft-lee-tcpm-stateful-tcp",
        "begins with the bandwidth and RTT that an earlier connection over the path left";
    Suss(startup::Suss, startup::SussConfig) = "suss", "from published code (the authors')", "Arghavani et al., SIGCOMM 2024; SUSSdeveloper/SUSS for Linux 6.8",
        "slow start that paces additional segments while HyStart would not end it one round later";
}

avoidances! {
    Bic(avoidance::Bic, avoidance::BicConfig) = "bic", LINUX, "Xu, Harfoush and Rhee 2004; Linux tcp_bic.c",
        "a binary search for the window of the last loss";
    Cubic(avoidance::Cubic, avoidance::CubicConfig) = "cubic", LINUX, "RFC 9438; Linux tcp_cubic.c",
        "a cubic curve of time around the window of the last loss; the default of Linux";
    Fast(avoidance::Fast, avoidance::FastConfig) = "fast", PAPER, "Wei, Jin, Low and Hegde 2006",
        "keeps a constant number of segments in queues, by the delay that they cause";
    Hybla(avoidance::Hybla, avoidance::HyblaConfig) = "hybla", LINUX, "Caini and Firrincieli 2004; Linux tcp_hybla.c",
        "grows on long paths as Reno does on one of 25 ms, in slow start too";
    Reno(avoidance::Reno, avoidance::RenoConfig) = "reno", LINUX, "RFC 5681; Linux tcp_cong.c",
        "one segment more each round trip, half on congestion";
    Vegas(avoidance::Vegas, avoidance::VegasConfig) = "vegas", LINUX, "Brakmo and Peterson 1995; Linux tcp_vegas.c",
        "one segment more or less each round trip, by how many wait in queues";
    Westwood(avoidance::Westwood, avoidance::WestwoodConfig) = "westwood", LINUX, "Dell'Aera, Grieco and Mascolo 2004; Linux tcp_westwood.c",
        "Reno that falls to the measured bandwidth after a loss (Westwood+)";
}

recoveries! {
    Prr(recovery::Prr, recovery::PrrConfig) = "prr", LINUX, "RFC 9937; Linux tcp_input.c",
        "proportional rate reduction: sends are spread over one round trip";
    NewReno(recovery::NewReno, recovery::NewRenoConfig) = "newreno", STANDARD, "RFC 6582",
        "the window is the threshold at once, and what is found lost is repeated at once";
    Plain(recovery::Plain, recovery::PlainConfig) = "plain", STANDARD, "RFC 5681, RFC 6675",
        "the window is the threshold at once, limited by the pipe";
    RateHalving(recovery::RateHalving, recovery::RateHalvingConfig) = "rate-halving", LINUX, "Mathis, Semke and Mahdavi 1999; Linux 2.6 tcp_input.c",
        "every second ACK takes a segment off the window, as Linux did before PRR";
}

wholes! {
    Bbr(whole::Bbr, whole::BbrConfig) = "bbr", LINUX, "Cardwell et al. 2016; Linux tcp_bbr.c",
        "version 1: paces at the measured bandwidth, with a window of two bandwidth-delay products";
    Bbr3(whole::Bbr3, whole::Bbr3Config) = "bbr3", STANDARD, "draft-ietf-ccwg-bbr",
        "version 3: as version 1, and more than 2 % lost bound what is in flight";
    Bbrp(whole::Bbr, whole::BbrpConfig) = "bbrp", RECONSTRUCTION, "Grazia, Klapez and Casoni 2020 (abstract)",
        "version 1 that sends faster than it measures, so that Wi-Fi has frames to aggregate";
    Rcp(whole::Rcp, whole::RcpConfig) = "rcp", "from published code (ns-2)", "Dukkipati and McKeown 2005",
        "sends at the smallest rate that the routers of the path tell every flow, from the first data on (the fall-back where one does not is ours)";
    Xcp(whole::Xcp, whole::XcpConfig) = "xcp", "from published code (ns-2)", "Katabi, Handley and Rohrs 2002",
        "changes its window as the routers of the path tell each packet (the fall-back where one does not is ours)";
}

const PARTS_COUNT: usize = STARTUPS.len() + AVOIDANCES.len() + RECOVERIES.len() + WHOLES.len();

/// Every part that can be named, by kind.
pub const PARTS: &[PartInfo] = &joined([AVOIDANCES, STARTUPS, RECOVERIES, WHOLES]);

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
