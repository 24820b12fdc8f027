//! Runs a vector: feeds each event to a congestion control and compares its response.

use congestion::{Algorithm, BuildContext, Congestion, CongestionKind, Phase, Sent, SlowStartExit};
use units::{Bytes, Instant, Rate};

use crate::Error;
use crate::flight::{Facts, Flight, Impossible};
use crate::report::{Mismatch, Report};
use crate::subject::{Mode, Subject};
use crate::vector::{Event, Header, Kind, Norm, Pace, Timed, Vector};

/// Runs a vector against the algorithm that it names.
///
/// # Errors
/// The algorithm or the value of an option is not known here.
pub fn run_algorithm(vector: &Vector) -> Result<Report, Error> {
    let header = &vector.header;
    let algorithm = Algorithm::parse(&header.algorithm)
        .map_err(|error| Error::whole(&vector.file, error.to_string()))?;
    let handshake_rtt = vector
        .timeline
        .first()
        .and_then(|first| match first.event.kind {
            Kind::Established { rtt, .. } => rtt,
            _ => None,
        });
    let mut subject = algorithm.build(BuildContext {
        now: Instant::ZERO,
        smss: header.smss,
        initial_window: header.initial_window,
        seed: 1,
        handshake_rtt,
    });
    Ok(run(vector, &mut subject))
}

/// Runs a vector against a congestion control that was just made for its header.
pub fn run(vector: &Vector, subject: &mut impl Subject) -> Report {
    let mut report = Report {
        file: vector.file.clone(),
        title: vector.header.title.clone(),
        form: vector.header.form.clone(),
        algorithm: vector.header.algorithm.clone(),
        events: 0,
        checks: 0,
        mismatches: Vec::new(),
    };
    let mut driver = Driver::new(&vector.header);
    for timed in &vector.timeline {
        // The parser has booked every event once.
        let Ok(answer) = driver.apply(&timed.event, subject) else {
            break;
        };
        report.events += 1;
        compare(timed, vector.header.smss, &answer, &mut report);
        if !report.passed() {
            break;
        }
    }
    report
}

/// What a congestion control answers to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The window.
    pub cwnd: Bytes,
    /// The threshold; [`Bytes::MAX`] while it was never set.
    pub ssthresh: Bytes,
    /// What the window does: `slow-start`, `css`, `drain`, `avoidance`, `recovery` or `cwr`.
    pub state: &'static str,
    /// Why the first slow start ended, or `none`.
    pub exit: &'static str,
    /// SEARCH's last test, in thousandths.
    pub norm_permille: Option<i64>,
    /// The pacing rate that the algorithm chooses itself.
    pub pacing_rate: Option<Rate>,
}

/// A sender that does what a timeline says, event by event.
#[derive(Clone, Debug)]
pub struct Driver {
    header: Header,
    flight: Flight,
}

impl Driver {
    /// A connection that begins now.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self {
            header: header.clone(),
            flight: Flight::new(header),
        }
    }

    /// The sender's books.
    #[must_use]
    pub const fn flight(&self) -> &Flight {
        &self.flight
    }

    /// Tells `subject` of an event, and asks what it makes of it.
    ///
    /// # Errors
    /// What makes the event impossible; nothing has then happened.
    pub fn apply(
        &mut self,
        event: &Event,
        subject: &mut impl Subject,
    ) -> Result<Answer, Impossible> {
        let mut flight = self.flight.clone();
        let facts = flight.apply(event)?;
        self.flight = flight;
        notify(event, facts, &self.flight, &self.header, subject);
        let window = subject.window();
        Ok(Answer {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            state: state(subject, self.flight.phase()),
            exit: exit(subject.slow_start_exit()),
            norm_permille: subject.norm_permille(),
            pacing_rate: subject.pacing_rate(),
        })
    }
}

fn notify(
    event: &Event,
    facts: Facts,
    flight: &Flight,
    header: &Header,
    subject: &mut impl Subject,
) {
    let now = event.now;
    let congestion = |kind, phase, in_flight, first_of_window| Congestion {
        now,
        kind,
        phase,
        in_flight,
        snd_nxt: flight.snd_nxt(),
        first_of_window,
    };
    if let Kind::Ack {
        feedback: Some(feedback),
        ..
    } = &event.kind
    {
        subject.on_feedback(now, feedback);
    }
    match facts {
        Facts::Established(start) => {
            subject.on_established(&start);
            let Kind::Established {
                approved, feedback, ..
            } = event.kind
            else {
                return;
            };
            if let (Some(rate), Some(rtt)) = (approved, start.rtt) {
                subject.on_approval(now, rate, rtt);
            }
            if let Some(feedback) = feedback {
                subject.on_feedback(now, &feedback);
            }
        }
        Facts::Sent {
            size,
            mut in_flight,
            mut snd_nxt,
            retransmission,
            mut idle_since,
        } => {
            let mut left = size;
            while !left.is_zero() {
                let segment = left.min(header.smss);
                left -= segment;
                if !retransmission {
                    snd_nxt += segment.get();
                }
                subject.on_sent(&Sent {
                    now,
                    size: segment,
                    in_flight,
                    snd_nxt,
                    retransmission,
                    idle_since: idle_since.take(),
                    app_limited: false,
                });
                in_flight += segment;
            }
        }
        Facts::Acked {
            delivery,
            ack,
            begins,
            ends,
            before,
        } => {
            if !delivery.delivered.is_zero() {
                subject.on_delivery(&delivery);
            }
            if begins {
                subject.on_congestion(&congestion(
                    CongestionKind::Loss,
                    before,
                    ack.in_flight,
                    true,
                ));
            }
            if ends && before.is_reducing() {
                subject.on_recovery_exit(now);
            }
            subject.on_ack(&ack);
        }
        Facts::Dropped(lost) => subject.on_lost(&lost),
        Facts::Marked { in_flight, before } => {
            subject.on_congestion(&congestion(CongestionKind::Ecn, before, in_flight, true));
        }
        Facts::TimedOut { before, first } => {
            subject.on_congestion(&congestion(
                CongestionKind::Timeout,
                before,
                Bytes::ZERO,
                first,
            ));
        }
        Facts::Restarted { idle, rto } => {
            let initial = header.initial_window;
            subject.on_idle_restart(now, idle, rto, initial, flight.snd_nxt());
        }
    }
}

fn state(subject: &impl Subject, phase: Phase) -> &'static str {
    match (phase, subject.mode()) {
        (Phase::Recovery, _) => "recovery",
        (Phase::Cwr, _) => "cwr",
        _ if !subject.window().in_slow_start() => "avoidance",
        (_, Mode::Ordinary) => "slow-start",
        (_, Mode::Conservative) => "css",
        (_, Mode::Drain) => "drain",
    }
}

fn exit(exit: Option<SlowStartExit>) -> &'static str {
    exit.map_or("none", |exit| exit.reason.name())
}

fn compare(timed: &Timed, smss: Bytes, answer: &Answer, report: &mut Report) {
    let size = |size: Bytes| match size {
        Bytes::MAX => "infinite".to_owned(),
        size if size.get().is_multiple_of(smss.get()) => {
            format!("{} bytes ({}s)", size.get(), size.segments(smss))
        }
        size => format!("{} bytes", size.get()),
    };
    let mut check = |quantity, expected: String, actual: String| {
        report.checks += 1;
        if expected != actual {
            report.mismatches.push(Mismatch {
                line: timed.line,
                now: timed.event.now,
                event: timed.text.clone(),
                quantity,
                expected,
                actual,
            });
        }
    };
    let expected = &timed.expected;
    check("cwnd", size(expected.cwnd), size(answer.cwnd));
    check("ssthresh", size(expected.ssthresh), size(answer.ssthresh));
    check("state", expected.state.to_owned(), answer.state.to_owned());
    check("exit", expected.exit.to_owned(), answer.exit.to_owned());
    if let Some(pace) = expected.pace {
        let rate = |bytes: Option<u64>| bytes.map_or("none".to_owned(), |rate| rate.to_string());
        let expected = match pace {
            Pace::None => None,
            Pace::BytesPerSecond(bytes) => Some(bytes),
        };
        let actual = answer.pacing_rate.map(Rate::bytes_per_sec);
        check("pace", rate(expected), rate(actual));
    }
    let actual = answer.norm_permille;
    match expected.norm {
        None => {}
        Some(Norm::None) => check("norm", "none".to_owned(), permille(actual)),
        Some(Norm::Permille(norm)) => check("norm", permille(Some(norm)), permille(actual)),
        Some(Norm::Percent(norm)) => check(
            "norm",
            format!("{norm}%"),
            actual.map_or("none".to_owned(), |norm| {
                format!("{}%", norm.div_euclid(10))
            }),
        ),
    }
}

fn permille(norm: Option<i64>) -> String {
    norm.map_or("none".to_owned(), |norm| {
        let sign = if norm < 0 { "-" } else { "" };
        let size = norm.unsigned_abs();
        format!("{sign}{}.{:03}", size / 1_000, size % 1_000)
    })
}
