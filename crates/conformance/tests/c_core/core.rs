//! The process that answers, and a congestion control around it.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::OnceLock;

use conformance::{Header, Mode, Subject};
use congestion::avoidance::{Reno, RenoConfig};
use congestion::recovery::{Prr, PrrConfig};
use congestion::{
    Ack, Classic, Congestion, CongestionControl, ExitReason, Sent, SlowStartExit, Startup, Step,
    Window,
};
use units::{Bytes, Duration, Instant, Rate};

/// `SS_INFINITE` of `bpf/core/types.h`.
const INFINITE: u64 = 0x7fff_ffff;

/// The process.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn ask(&mut self, event: &str) -> Reply {
        writeln!(self.input, "{event}").expect("the core reads");
        self.line.clear();
        self.output
            .read_line(&mut self.line)
            .expect("the core answers");
        let words: Vec<&str> = self.line.split_whitespace().collect();
        assert_eq!(words.len(), 5, "the core answers `{}`", self.line);
        let number = |index: usize| words[index].parse().expect("a number");
        Reply {
            step: number(0),
            cwnd: number(1),
            ssthresh: number(2),
            phase: number(3),
            norm: words[4].parse().ok(),
        }
    }
}

#[derive(Clone, Copy)]
struct Reply {
    step: u64,
    cwnd: u64,
    ssthresh: u64,
    phase: u64,
    norm: Option<i64>,
}

/// The compiled core.
pub struct Compiled(Rc<RefCell<Process>>);

impl Compiled {
    /// Starts it; `None`, with a printed reason, without a C compiler.
    pub fn new() -> Option<Self> {
        static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
        let program = PROGRAM.get_or_init(compile).as_ref()?;
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the core starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Some(Self(Rc::new(RefCell::new(Process {
            child,
            input,
            output,
            line: String::new(),
        }))))
    }
}

#[allow(clippy::print_stderr, reason = "a skipped test says why")]
fn compile() -> Option<PathBuf> {
    let source = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../bpf/host/answer.c"
    ));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("answer");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([program.as_path(), source])
        .output();
    match compiled {
        Ok(output) => {
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "the core does not compile:\n{messages}"
            );
            Some(program)
        }
        Err(error) => {
            let reason = format!("no C compiler (`cc`: {error}): install gcc");
            let required = ["CI", "SLOWSTART_REQUIRE_ROOT_TESTS"];
            let required = required.iter().any(|name| std::env::var_os(name).is_some());
            assert!(!required, "{reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// The start-up of a description, such as `search:version=2.0`.
fn startup_of(algorithm: &str) -> &str {
    algorithm.split('+').nth(1).expect("a start-up")
}

/// The description with the core's arithmetic.
pub fn in_percent(algorithm: &str) -> String {
    let algorithm = algorithm
        .replace("arithmetic=shifted", "arithmetic=percent")
        .replace("arithmetic=exact", "arithmetic=percent");
    if !startup_of(&algorithm).starts_with("search") || algorithm.contains("arithmetic=percent") {
        return algorithm;
    }
    let startup = startup_of(&algorithm);
    let mark = if startup.contains(':') { ',' } else { ':' };
    algorithm.replace(startup, &format!("{startup}{mark}arithmetic=percent"))
}

/// What makes a new connection of the core.
fn command(algorithm: &str) -> String {
    let is_hystart = algorithm.contains("+hystart++");
    let options = if is_hystart {
        algorithm.split("+hystart++").nth(1).unwrap_or_default()
    } else {
        startup_of(algorithm).trim_start_matches("search")
    };
    let options = options.split('+').next().unwrap_or_default();
    let option = |name: &str| {
        let options = options.trim_start_matches(':').split(',');
        options
            .filter_map(|option| option.split_once('='))
            .find_map(|(key, value)| (key == name).then_some(value))
    };
    let number = |name: &str, default: u64| {
        option(name).map_or(default, |value| value.parse().expect("a number"))
    };
    if is_hystart {
        return format!(
            "hystart++ {} {} {} {}",
            number("n_rtt_sample", 8),
            number("css_growth_divisor", 4),
            number("css_rounds", 5),
            number("limit", 8)
        );
    }
    let version = option("version").unwrap_or("2.0").replace('.', "");
    let is_4 = version == "40";
    let exit = match option("exit") {
        Some("plain") => 0,
        Some("rollback") => 1,
        Some("drain") => 2,
        _ => 2 * u32::from(is_4),
    };
    let threshold = number("threshold", if is_4 { 26 } else { 35 }) * 10;
    let alpha = if option("missed") == Some("reset") {
        number("alpha", 2)
    } else {
        0
    };
    format!("search {version} {exit} {threshold} {alpha}")
}

/// The core as a start-up.
pub struct CoreStartup {
    process: Rc<RefCell<Process>>,
    last: Reply,
    smss: Bytes,
}

impl CoreStartup {
    fn tell(&mut self, event: &str) -> Reply {
        self.last = self.process.borrow_mut().ask(event);
        self.last
    }

    fn ask(&mut self, verb: &str, ack: &Ack, window: &Window) -> Reply {
        let smss = window.smss;
        let ssthresh = match window.ssthresh {
            Bytes::MAX => INFINITE,
            ssthresh => ssthresh.segments(smss),
        };
        let mut event = String::new();
        write!(
            event,
            "{verb} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
            ack.now.as_nanos(),
            ack.latest_rtt.map_or(0, Duration::as_nanos),
            ack.srtt.as_nanos(),
            ack.snd_una,
            ack.bytes_sent,
            ack.snd_nxt,
            ack.delivered.segments(smss),
            ack.in_flight.segments(smss),
            smss.get(),
            u8::from(ack.latest_rtt.is_some()),
            u8::from(ack.app_limited),
            u8::from(ack.paced),
            window.cwnd_segments(),
            ssthresh
        )
        .expect("a string");
        self.tell(&event)
    }

    fn step(&self, reply: Reply, window: &Window) -> Option<Step> {
        let size = |segments: u64| match segments {
            INFINITE => Bytes::MAX,
            segments => self.smss * segments,
        };
        let reason = if reply.norm.is_some() || reply.phase == 2 {
            ExitReason::Search {
                norm_permille: 0,
                current: Bytes::ZERO,
                previous: Bytes::ZERO,
            }
        } else {
            ExitReason::ConservativeRounds {
                baseline_rtt: Duration::ZERO,
                rounds: 0,
            }
        };
        match reply.step {
            0 => None,
            1 => Some(Step::Grow(size(reply.cwnd))),
            2 => Some(Step::Set(size(reply.cwnd))),
            3 => Some(Step::Exit {
                cwnd: size(reply.cwnd),
                ssthresh: size(reply.ssthresh),
                reason,
            }),
            _ => Some(Step::Exit {
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
                reason,
            }),
        }
    }
}

impl Startup for CoreStartup {
    fn on_sent(&mut self, sent: &Sent) {
        if let Some(since) = sent.idle_since {
            self.tell(&format!(
                "resume {} {}",
                sent.now.as_nanos(),
                since.as_nanos()
            ));
        }
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let reply = self.ask("delivery", ack, window);
        self.step(reply, window)
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        let reply = self.ask("ack", ack, window);
        self.step(reply, window)
            .unwrap_or(Step::Grow(ack.delivered))
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.tell("congestion");
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        self.tell("restart");
    }
}

/// The core with Reno and proportional rate reduction.
pub struct CoreSubject(Classic<CoreStartup, Reno, Prr>);

impl CoreSubject {
    /// A new connection; the process knows one at a time.
    pub fn new(core: &Compiled, header: &Header) -> Self {
        assert!(
            header.algorithm.starts_with("reno+"),
            "{}",
            header.algorithm
        );
        let last = core.0.borrow_mut().ask(&command(&header.algorithm));
        let startup = CoreStartup {
            process: Rc::clone(&core.0),
            last,
            smss: header.smss,
        };
        Self(Classic::new(
            startup,
            Reno::new(RenoConfig::default()),
            Prr::new(PrrConfig::default()),
            header.smss,
            header.initial_window,
        ))
    }
}

impl Subject for CoreSubject {
    fn mode(&self) -> Mode {
        match self.0.startup().last.phase {
            1 => Mode::Conservative,
            2 => Mode::Drain,
            _ => Mode::Ordinary,
        }
    }

    fn norm_permille(&self) -> Option<i64> {
        self.0.startup().last.norm
    }
}

impl CongestionControl for CoreSubject {
    fn window(&self) -> Window {
        self.0.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.0.on_sent(sent);
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.0.on_delivery(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.0.on_congestion(congestion);
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        self.0.on_recovery_exit(now);
    }

    fn undo(&mut self, now: Instant) {
        self.0.undo(now);
    }

    fn on_idle_restart(
        &mut self,
        now: Instant,
        idle: Duration,
        rto: Duration,
        initial_window: Bytes,
        snd_nxt: u64,
    ) {
        self.0
            .on_idle_restart(now, idle, rto, initial_window, snd_nxt);
    }

    fn on_window_unused(&mut self, now: Instant, used: Bytes, initial_window: Bytes) {
        self.0.on_window_unused(now, used, initial_window);
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.0.slow_start_exit()
    }
}
