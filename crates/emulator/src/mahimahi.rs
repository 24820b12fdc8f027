//! The log of Mahimahi's `mm-link`, which `mm-throughput-graph`, `mm-delay-graph` and related tools
//! read.
//!
//! Lines are `ms # bytes` (a delivery opportunity), `ms + bytes` (an arrival), `ms - bytes delay`
//! (a departure, without propagation; the delay in ms), and `ms d packets bytes` (a drop), after
//! header lines that begin with `#`. A packet counts four bytes more than its IP length, for the
//! TUN header of Mahimahi's packets: a full packet has 1504 bytes, like an opportunity.
//!
//! A link of constant or stepwise rate has an opportunity each time it could have sent a full
//! packet. A link with a varying rate, with no rate, or faster than 10 Gbit/s (which would write
//! too many lines) has an opportunity at each departure instead: a plot then shows the capacity
//! that was used.

use std::io::{self, Write};

use network::{Discipline, DropReason, LinkConfig, QueueLimit, RandomAboveConfig, Service};
use units::{Duration, Instant};

/// Bytes of an opportunity, and of the TUN header in front of the IP header.
const OPPORTUNITY: u32 = 1504;
const TUN_HEADER: u32 = 4;

/// In bits per second.
const MOST_RATE: u64 = 10_000_000_000;

/// The opportunities of a link, in order.
#[derive(Debug)]
enum Opportunities {
    /// One at each departure.
    AsUsed,
    /// One after each full packet at the rate of the current step; the steps repeat.
    Steps {
        steps: Vec<(Duration, units::Rate)>,
        at: usize,
        /// When the step ends.
        until: Instant,
        /// Size of a full packet, in bits times nanoseconds per second.
        packet: u128,
        /// The part of the packet after `next` that is already served, likewise.
        ahead: u128,
        next: Instant,
    },
    /// Those of a trace.
    Trace {
        trace: std::sync::Arc<network::TraceConfig>,
        at: usize,
        lap: u64,
    },
}

impl Opportunities {
    fn of(config: &LinkConfig) -> Self {
        let steps = match &config.service {
            Service::Fixed(rate) => vec![(Duration::MAX, *rate)],
            Service::Steps { steps } => steps.to_vec(),
            Service::Trace(trace) => {
                return Self::Trace {
                    trace: trace.clone(),
                    at: 0,
                    lap: 0,
                };
            }
            Service::Varying(_) | Service::Access(_) | Service::Unlimited => {
                return Self::AsUsed;
            }
        };
        let moves =
            |step: &(Duration, units::Rate)| step.1 > units::Rate::ZERO && !step.0.is_zero();
        let too_fast = |step: &(Duration, units::Rate)| step.1.bits_per_sec() > MOST_RATE;
        if !steps.iter().any(moves) || steps.iter().any(too_fast) {
            return Self::AsUsed;
        }
        let mut own = Self::Steps {
            at: 0,
            until: Instant::ZERO + steps[0].0,
            steps,
            packet: u128::from(scenario::FULL_PACKET + config.overhead) * 8 * 1_000_000_000,
            ahead: 0,
            next: Instant::ZERO,
        };
        own.advance();
        own
    }

    /// The next opportunity, if it is known in advance.
    fn next(&self) -> Option<Instant> {
        match self {
            Self::AsUsed => None,
            Self::Steps { next, .. } => Some(*next),
            Self::Trace { trace, at, lap } => {
                let offset = trace.opportunities_ms.get(*at)?;
                let length = u64::from(*trace.opportunities_ms.last()?);
                Some(Instant::from_millis(lap * length + u64::from(*offset)))
            }
        }
    }

    fn advance(&mut self) {
        match self {
            Self::AsUsed => {}
            Self::Steps {
                steps,
                at,
                until,
                packet,
                ahead,
                next,
            } => loop {
                let rate = u128::from(steps[*at].1.bits_per_sec());
                let span = u128::from(until.saturating_since(*next).as_nanos());
                let missing = *packet - *ahead;
                if rate > 0 && rate.saturating_mul(span) >= missing {
                    let nanos = missing.div_ceil(rate);
                    *next += Duration::from_nanos(nanos as u64);
                    *ahead = rate * nanos - missing;
                    return;
                }
                *ahead += rate * span;
                *next = *until;
                *at = (*at + 1) % steps.len();
                *until += steps[*at].0;
                if *until == Instant::MAX {
                    // The end of time: nothing more happens.
                    *next = Instant::MAX;
                    return;
                }
            },
            Self::Trace { trace, at, lap } => {
                *at += 1;
                if *at == trace.opportunities_ms.len() && trace.repeat {
                    *at = 0;
                    *lap += 1;
                }
            }
        }
    }
}

/// Writes the log of one link.
#[derive(Debug)]
pub(crate) struct Log<W> {
    writer: W,
    opportunities: Opportunities,
}

impl<W: Write> Log<W> {
    /// Begins a log. `command` is the command that runs, `unix_ms` the time when the run began.
    pub(crate) fn new(
        mut writer: W,
        config: &LinkConfig,
        direction: &str,
        command: &str,
        unix_ms: u64,
    ) -> io::Result<Self> {
        let one_line = |text: &str| text.replace(char::is_control, " ");
        writeln!(
            writer,
            "# mahimahi mm-link ({direction}) [{}]",
            one_line(&config.name)
        )?;
        writeln!(writer, "# command line: {}", one_line(command))?;
        writeln!(writer, "# queue: {}", queue_name(config))?;
        writeln!(writer, "# init timestamp: {unix_ms}")?;
        writeln!(writer, "# base timestamp: 0")?;
        Ok(Self {
            writer,
            opportunities: Opportunities::of(config),
        })
    }

    /// Writes the opportunities up to `now`.
    pub(crate) fn advance(&mut self, now: Instant) -> io::Result<()> {
        while let Some(at) = self.opportunities.next().filter(|at| *at <= now) {
            writeln!(self.writer, "{} # {OPPORTUNITY}", at.as_millis())?;
            self.opportunities.advance();
        }
        Ok(())
    }

    pub(crate) fn arrival(
        &mut self,
        now: Instant,
        size: u32,
        drop: Option<DropReason>,
    ) -> io::Result<()> {
        self.advance(now)?;
        let (ms, bytes) = (now.as_millis(), size + TUN_HEADER);
        // Mahimahi logs the arrival of packets that it drops, but not of packets that the medium
        // loses.
        if drop != Some(DropReason::Loss) {
            writeln!(self.writer, "{ms} + {bytes}")?;
        }
        if drop.is_some() {
            writeln!(self.writer, "{ms} d 1 {bytes}")?;
        }
        Ok(())
    }

    /// A packet whose arrival was logged was dropped.
    pub(crate) fn drop(&mut self, at: Instant, size: u32) -> io::Result<()> {
        self.advance(at)?;
        writeln!(self.writer, "{} d 1 {}", at.as_millis(), size + TUN_HEADER)
    }

    pub(crate) fn departure(
        &mut self,
        arrived: Instant,
        leaves: Instant,
        size: u32,
    ) -> io::Result<()> {
        self.advance(leaves)?;
        let bytes = size + TUN_HEADER;
        let ms = leaves.as_millis();
        if let Opportunities::AsUsed = self.opportunities {
            writeln!(self.writer, "{ms} # {bytes}")?;
        }
        let delay = ms.saturating_sub(arrived.as_millis());
        writeln!(self.writer, "{ms} - {bytes} {delay}")
    }

    pub(crate) fn into_inner(self) -> W {
        self.writer
    }
}

/// The queue in the notation of `mm-link`, also where Mahimahi has no such queue.
fn queue_name(config: &LinkConfig) -> String {
    let ms = |span: Duration| span.as_nanos() as f64 / 1e6;
    let limit = match config.queue.limit {
        QueueLimit::Unlimited => None,
        QueueLimit::Packets(packets) => Some(format!("packets={packets}")),
        QueueLimit::Bytes(bytes) => Some(format!("bytes={}", bytes.get())),
    };
    let (name, ecn, settings) = match &config.queue.discipline {
        Discipline::DropTail if limit.is_none() => return "infinite".to_owned(),
        Discipline::DropTail => ("droptail", false, vec![]),
        Discipline::RandomAbove(RandomAboveConfig { fill, probability }) => (
            "random-above",
            false,
            vec![format!("fill={fill}"), format!("probability={probability}")],
        ),
        Discipline::CoDel(codel) => (
            "codel",
            codel.ecn,
            vec![
                format!("target={}", ms(codel.target)),
                format!("interval={}", ms(codel.interval)),
            ],
        ),
        Discipline::FqCoDel(fq) => (
            "fq_codel",
            fq.codel().ecn,
            vec![
                format!("target={}", ms(fq.codel().target)),
                format!("interval={}", ms(fq.codel().interval)),
                format!("quantum={}", fq.quantum.get()),
                format!("flows={}", fq.flows),
            ],
        ),
        Discipline::Pie(pie) => (
            "pie",
            pie.ecn,
            vec![
                format!("qdelay_ref={}", ms(pie.target)),
                format!("max_burst={}", ms(pie.burst)),
            ],
        ),
        // Parameters that are not set follow from the rate.
        Discipline::Red(red) => {
            let said = [("min", red.min), ("max", red.max), ("weight", red.weight)];
            let said = said
                .into_iter()
                .filter_map(|(name, value)| Some(format!("{name}={}", value?)));
            let probability = format!("probability={}", red.probability);
            ("red", red.ecn, said.chain([probability]).collect())
        }
        Discipline::DualPi2(dual) => (
            "dualpi2",
            dual.ecn,
            vec![
                format!("target={}", ms(dual.target)),
                format!("coupling={}", dual.coupling),
            ],
        ),
    };
    let ecn = ecn.then(|| "ecn".to_owned());
    let all: Vec<String> = limit.into_iter().chain(settings).chain(ecn).collect();
    format!("{name} [{}]", all.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use network::{
        CoDelConfig, FqCoDelConfig, PieConfig, QueueConfig, RandomAboveConfig, RedConfig,
        TraceConfig,
    };
    use units::Rate;

    use super::*;

    fn lines(service: Service, until: Instant) -> Vec<String> {
        let config = LinkConfig {
            name: "link".to_owned(),
            service,
            overhead: 0,
            queue: QueueConfig {
                limit: QueueLimit::Packets(10),
                discipline: Discipline::DropTail,
            },
            delay: Duration::ZERO,
            ..LinkConfig::DEFAULT
        };
        let mut log = Log::new(Vec::new(), &config, "downlink", "x\ny", 5).unwrap();
        log.arrival(Instant::from_millis(1), 1500, None).unwrap();
        log.departure(Instant::from_millis(1), Instant::from_millis(3), 1500)
            .unwrap();
        log.arrival(Instant::from_millis(3), 40, Some(DropReason::Overflow))
            .unwrap();
        log.arrival(Instant::from_millis(3), 40, Some(DropReason::Loss))
            .unwrap();
        log.advance(until).unwrap();
        let text = String::from_utf8(log.into_inner()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_trace_has_its_own_opportunities_and_repeats() {
        let trace = TraceConfig {
            opportunities_ms: vec![0, 2, 2, 5],
            repeat: true,
        };
        let lines = lines(Service::Trace(Arc::new(trace)), Instant::from_millis(7));
        assert_eq!(
            lines,
            [
                "# mahimahi mm-link (downlink) [link]",
                "# command line: x y",
                "# queue: droptail [packets=10]",
                "# init timestamp: 5",
                "# base timestamp: 0",
                "0 # 1504",
                "1 + 1504",
                "2 # 1504",
                "2 # 1504",
                "3 - 1504 2",
                "3 + 44",
                "3 d 1 44",
                "3 d 1 44",
                "5 # 1504",
                "5 # 1504",
                "7 # 1504",
                "7 # 1504",
            ]
        );
    }

    #[test]
    fn the_queue_has_its_name() {
        let mut config = LinkConfig {
            name: "link".to_owned(),
            service: Service::Unlimited,
            overhead: 0,
            queue: QueueConfig {
                limit: QueueLimit::Unlimited,
                discipline: Discipline::DropTail,
            },
            delay: Duration::ZERO,
            ..LinkConfig::DEFAULT
        };
        assert_eq!(queue_name(&config), "infinite");
        config.queue.limit = QueueLimit::Bytes(units::Bytes::new(3000));
        assert_eq!(queue_name(&config), "droptail [bytes=3000]");
        let named = |discipline, ecn| {
            let mut config = config.clone();
            config.queue.limit = QueueLimit::Packets(100);
            config.queue.discipline = match discipline {
                "codel" => Discipline::CoDel(CoDelConfig {
                    ecn,
                    ..CoDelConfig::default()
                }),
                "fq_codel" => Discipline::FqCoDel(FqCoDelConfig::default()),
                "pie" => Discipline::Pie(PieConfig {
                    ecn,
                    ..PieConfig::default()
                }),
                "red" => Discipline::Red(RedConfig {
                    min: Some(5.0),
                    ..RedConfig::default()
                }),
                _ => Discipline::RandomAbove(RandomAboveConfig {
                    fill: 0.5,
                    probability: 0.25,
                }),
            };
            queue_name(&config)
        };
        assert_eq!(
            [
                named("codel", true),
                named("fq_codel", false),
                named("pie", false),
                named("red", false),
                named("random-above", false)
            ],
            [
                "codel [packets=100, target=5, interval=100, ecn]",
                "fq_codel [packets=100, target=5, interval=100, quantum=1514, flows=1024]",
                "pie [packets=100, qdelay_ref=15, max_burst=150]",
                "red [packets=100, min=5, probability=0.1]",
                "random-above [packets=100, fill=0.5, probability=0.25]",
            ]
        );
    }

    #[test]
    fn rates_make_opportunities() {
        let count = |service, ms| {
            let lines = lines(service, Instant::from_millis(ms));
            lines
                .iter()
                .filter(|line| line.ends_with(" # 1504"))
                .count()
        };
        // 12 Mbit/s: one full packet each ms.
        let rate = Rate::from_bits_per_sec(12_000_000);
        assert_eq!(count(Service::Fixed(rate), 1000), 1000);
        let steps = [
            (Duration::from_millis(10), rate),
            (Duration::from_millis(10), Rate::ZERO),
        ];
        assert_eq!(
            count(
                Service::Steps {
                    steps: Arc::new(steps)
                },
                1000
            ),
            500
        );
        // Without a rate, one for each departure.
        assert_eq!(count(Service::Unlimited, 1000), 1);
        let never = [(Duration::from_millis(10), Rate::ZERO)];
        assert_eq!(
            count(
                Service::Steps {
                    steps: Arc::new(never)
                },
                1000
            ),
            1
        );
    }
}
