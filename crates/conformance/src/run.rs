//! Runs a vector: tells a congestion control what happened, and compares what it answers.

use congestion::{Algorithm, BuildContext, Congestion, CongestionKind, Phase, Sent, SlowStartExit};
use units::{Bytes, Instant};

use crate::error::Error;
use crate::flight::{Facts, Flight};
use crate::report::{Mismatch, Report};
use crate::subject::{Mode, Subject};
use crate::vector::{Event, Norm, Timed, Vector};

/// Runs a vector against the algorithm that it names.
///
/// # Errors
/// The algorithm or the value of an option is not known here.
pub fn run_algorithm(vector: &Vector) -> Result<Report, Error> {
    let header = &vector.header;
    let algorithm = Algorithm::parse(&header.algorithm)
        .map_err(|error| Error::whole(&vector.file, error.to_string()))?;
    let mut subject = algorithm.build(BuildContext {
        now: Instant::ZERO,
        smss: header.smss,
        initial_window: header.initial_window,
        seed: 1,
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
    let mut flight = Flight::new(&vector.header);
    for timed in &vector.timeline {
        // The parser has booked every event once.
        let Ok(facts) = flight.apply(&timed.event) else {
            break;
        };
        tell(&timed.event, facts, &flight, vector, subject);
        report.events += 1;
        compare(timed, vector, flight.phase(), subject, &mut report);
        if !report.passed() {
            break;
        }
    }
    report
}

fn tell(event: &Event, facts: Facts, flight: &Flight, vector: &Vector, subject: &mut impl Subject) {
    let now = event.now;
    let congestion = |kind, phase, in_flight, first_of_window| Congestion {
        now,
        kind,
        phase,
        in_flight,
        snd_nxt: flight.snd_nxt(),
        first_of_window,
    };
    match facts {
        Facts::Sent {
            size,
            mut in_flight,
            mut snd_nxt,
            retransmission,
            mut idle_since,
        } => {
            let mut left = size;
            while !left.is_zero() {
                let segment = left.min(vector.header.smss);
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
            let initial = vector.header.initial_window;
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

fn compare(
    timed: &Timed,
    vector: &Vector,
    phase: Phase,
    subject: &impl Subject,
    report: &mut Report,
) {
    let window = subject.window();
    let smss = vector.header.smss;
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
    check("cwnd", size(expected.cwnd), size(window.cwnd));
    check("ssthresh", size(expected.ssthresh), size(window.ssthresh));
    check(
        "state",
        expected.state.to_owned(),
        state(subject, phase).to_owned(),
    );
    check(
        "exit",
        expected.exit.to_owned(),
        exit(subject.slow_start_exit()).to_owned(),
    );
    let actual = subject.norm_permille();
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
