//! The process that answers, and a congestion control around it.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::OnceLock;

use conformance::{Header, Mode, Subject};
use congestion::avoidance::{Cubic, CubicConfig, Reno, RenoConfig};
use congestion::options::Options;
use congestion::recovery::{Prr, PrrConfig};
use congestion::startup::{Standard, StandardConfig};
use congestion::{
    Ack, Avoidance, Classic, Congestion, CongestionControl, CongestionKind, ExitReason, JumpStarts,
    Pace, Phase, Sent, SlowStartExit, Startup, SteersSending, Step, Window,
};
use testing::notes::skip;
use units::{Bytes, Duration, Instant, Rate};

/// `SS_INFINITE` of `bpf/core/types.h`.
const INFINITE: u64 = 0x7fff_ffff;

/// The process.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    last: Reply,
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
        assert_eq!(words.len(), 8, "the core answers `{}`", self.line);
        let number = |index: usize| words[index].parse().expect("a number");
        self.last = Reply {
            step: number(0),
            cwnd: number(1),
            ssthresh: number(2),
            phase: number(3),
            norm: words[4].parse().ok(),
            why: number(5),
            rate: words[6].parse().ok(),
            from: number(7),
        };
        self.last
    }
}

#[derive(Clone, Copy, Default)]
struct Reply {
    step: u64,
    cwnd: u64,
    ssthresh: u64,
    phase: u64,
    norm: Option<i64>,
    why: u64,
    rate: Option<u64>,
    from: u64,
}

/// The compiled core.
pub struct Compiled(Rc<RefCell<Process>>);

impl Compiled {
    /// Starts it; `None`, with a printed reason, without a C compiler.
    pub fn new() -> Option<Self> {
        static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| compile("bpf/host/answer.c", "answer", &[]));
        Some(Self::of(program.as_ref()?))
    }

    /// Starts a compiled program that answers as the core does.
    pub fn of(program: &Path) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the core starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self(Rc::new(RefCell::new(Process {
            child,
            input,
            output,
            line: String::new(),
            last: Reply::default(),
        })))
    }
}

/// Compiles a program of the checkout; `None`, with a printed reason, without a C compiler.
pub fn compile(source: &str, name: &str, options: &[String]) -> Option<PathBuf> {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(source);
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new("cc")
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"])
        .args(options)
        .arg("-o")
        .args([&program, &source])
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
            skip(&format!("no C compiler (`cc`: {error}): install gcc"));
            None
        }
    }
}

/// Avoidance and start-up of a description, such as `reno` and `search:version=2.0`.
fn parts(algorithm: &str) -> (&str, &str) {
    let (avoidance, rest) = algorithm.split_once('+').expect("a start-up");
    // A start-up's name may end with plus signs; what follows is the recovery.
    (avoidance, rest.strip_suffix("+prr").unwrap_or(rest))
}

/// The value of an option of a part.
fn option<'a>(part: &'a str, name: &str) -> Option<&'a str> {
    let (_, options) = part.split_once(':')?;
    options
        .split(',')
        .filter_map(|option| option.split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// The description with the core's arithmetic.
pub fn in_percent(algorithm: &str) -> String {
    let algorithm = algorithm
        .replace("arithmetic=shifted", "arithmetic=percent")
        .replace("arithmetic=exact", "arithmetic=percent");
    let (_, startup) = parts(&algorithm);
    if !startup.starts_with("search") || algorithm.contains("arithmetic=percent") {
        return algorithm;
    }
    let mark = if startup.contains(':') { ',' } else { ':' };
    algorithm.replace(startup, &format!("{startup}{mark}arithmetic=percent"))
}

/// What makes a new connection of the core's part, and whether that is the avoidance.
fn command(algorithm: &str) -> (String, bool) {
    let (avoidance, startup) = parts(algorithm);
    let number = |part: &str, name: &str, default: u64| {
        option(part, name).map_or(default, |value| value.parse().expect("a number"))
    };
    let truth = |part: &str, name: &str, default: bool| {
        u8::from(option(part, name).map_or(default, |value| value == "true"))
    };
    let name = |part: &str| part.split(':').next().unwrap_or_default().to_owned();
    match name(avoidance).as_str() {
        "bic" => {
            let [fast, delayed] =
                ["fast_convergence", "delayed_ack"].map(|name| truth(avoidance, name, true));
            return (
                format!("bic {} {fast} {delayed}", number(avoidance, "hz", 250)),
                true,
            );
        }
        "westwood" => return (format!("westwood {}", number(avoidance, "hz", 250)), true),
        _ => {}
    }
    let command = match name(startup).as_str() {
        "hystart++" => format!(
            "hystart++ {} {} {} {} {}",
            number(startup, "n_rtt_sample", 8),
            number(startup, "css_growth_divisor", 4),
            number(startup, "css_rounds", 5),
            number(startup, "limit", 8),
            u8::from(option(startup, "form") == Some("patch"))
        ),
        "hystart" => {
            let [train, delay] = ["train", "delay"].map(|name| truth(startup, name, true));
            format!("hystart {train} {delay}")
        }
        "suss" => format!(
            "suss {} {}",
            u8::from(option(startup, "form") == Some("talk")),
            number(startup, "max", 3)
        ),
        _ => search(startup),
    };
    (command, false)
}

fn search(startup: &str) -> String {
    let number = |name: &str, default: u64| {
        option(startup, name).map_or(default, |value| value.parse().expect("a number"))
    };
    let version = option(startup, "version").unwrap_or("2.0").replace('.', "");
    let is_4 = version == "40";
    let exit = match option(startup, "exit") {
        Some("plain") => 0,
        Some("rollback") => 1,
        Some("drain") => 2,
        _ => 2 * u32::from(is_4),
    };
    let threshold = number("threshold", if is_4 { 26 } else { 35 }) * 10;
    let alpha = if option(startup, "missed") == Some("reset") {
        number("alpha", 2)
    } else {
        0
    };
    format!("search {version} {exit} {threshold} {alpha}")
}

/// The numbers of an ACK, as the core reads them.
fn ack_event(verb: &str, ack: &Ack, window: &Window, is_reducing: bool) -> String {
    let smss = window.smss;
    let ssthresh = match window.ssthresh {
        Bytes::MAX => INFINITE,
        ssthresh => ssthresh.segments(smss),
    };
    let mut event = String::new();
    write!(
        event,
        "{verb} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
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
        u8::from(ack.advanced),
        u8::from(is_reducing),
        ack.pacing_rate.bytes_per_sec(),
        window.cwnd_segments(),
        ssthresh
    )
    .expect("a string");
    event
}

/// The core as a start-up.
struct CoreStartup {
    process: Rc<RefCell<Process>>,
    smss: Bytes,
    /// Only SUSS looks at what leaves.
    steers: bool,
}

impl CoreStartup {
    fn notify(&self, event: &str) -> Reply {
        self.process.borrow_mut().ask(event)
    }

    fn last(&self) -> Reply {
        self.process.borrow().last
    }

    fn ask(&self, verb: &str, ack: &Ack, window: &Window) -> Reply {
        self.notify(&ack_event(verb, ack, window, ack.phase.is_reducing()))
    }

    fn congestion(&self, congestion: &Congestion) -> Reply {
        self.notify(&format!(
            "congestion {} {} {} {}",
            congestion.now.as_nanos(),
            congestion.snd_nxt,
            congestion.in_flight.segments(self.smss),
            u8::from(congestion.kind == CongestionKind::Timeout)
        ))
    }

    fn step(&self, reply: Reply, window: &Window) -> Option<Step> {
        let size = |segments: u64| match segments {
            INFINITE => Bytes::MAX,
            segments => self.smss * segments,
        };
        let nothing = Duration::ZERO;
        let reason = match reply.why {
            1 => ExitReason::AckTrain {
                train: nothing,
                threshold: nothing,
            },
            2 => ExitReason::Delay {
                rtt: nothing,
                threshold: nothing,
                base: nothing,
                samples: 0,
            },
            _ if reply.norm.is_some() || reply.phase == 2 => ExitReason::Search {
                norm_permille: 0,
                threshold_permille: 0,
                current: Bytes::ZERO,
                previous: Bytes::ZERO,
            },
            _ => ExitReason::ConservativeRounds {
                baseline_rtt: nothing,
                rounds: 0,
            },
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
            self.notify(&format!(
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

    fn pacing(&self) -> Option<Pace> {
        let last = self.last();
        last.rate.map(|rate| Pace {
            rate: Rate::from_bytes_per_sec(rate),
            not_before: Some(Instant::from_nanos(last.from)),
        })
    }

    fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> {
        Some(self)
    }

    fn steers_sending(&mut self) -> Option<&mut dyn SteersSending> {
        if self.steers { Some(self) } else { None }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.kind == CongestionKind::Timeout {
            self.congestion(congestion);
        }
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        self.notify("restart");
    }
}

impl JumpStarts for CoreStartup {
    fn reduces_from(&mut self, congestion: &Congestion, window: &Window) -> Option<Bytes> {
        if congestion.kind == CongestionKind::Timeout {
            return None;
        }
        match self.step(self.congestion(congestion), window) {
            Some(Step::Set(cwnd)) => Some(cwnd),
            _ => None,
        }
    }
}

impl SteersSending for CoreStartup {
    fn after_sent(&mut self, sent: &Sent, window: &Window) -> Option<Step> {
        let in_flight = (sent.in_flight + sent.size).segments(self.smss);
        let reply = self.notify(&format!("sent {in_flight} {}", window.cwnd_segments()));
        self.step(reply, window)
    }
}

/// The core as an avoidance.
struct CoreAvoidance {
    process: Rc<RefCell<Process>>,
}

impl CoreAvoidance {
    fn notify(&self, event: &str) -> Reply {
        self.process.borrow_mut().ask(event)
    }
}

impl Avoidance for CoreAvoidance {
    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        self.notify(&ack_event(
            "delivered",
            ack,
            window,
            ack.phase != Phase::Open,
        ));
    }

    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        let smss = window.smss;
        let reply = self.notify(&format!(
            "grow {} {} {}",
            ack.now.as_nanos(),
            window.cwnd_segments(),
            acked.segments(smss)
        ));
        smss * reply.cwnd
    }

    fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes {
        let reply = self.notify(&format!(
            "reduce {} {} {}",
            window.cwnd_segments(),
            window.smss.get(),
            u8::from(congestion.kind == CongestionKind::Timeout)
        ));
        window.smss * reply.ssthresh
    }

    fn on_timeout(&mut self) {
        self.notify("forget");
    }

    fn on_recovery_exit(&mut self, window: &Window) -> Option<Bytes> {
        let reply = self.notify(&format!("recovered {}", window.smss.get()));
        (reply.ssthresh > 0).then(|| window.smss * reply.ssthresh)
    }
}

/// The core's part with the simulator's other parts, and proportional rate reduction.
pub struct CoreSubject {
    whole: Box<dyn CongestionControl>,
    process: Rc<RefCell<Process>>,
}

impl CoreSubject {
    /// A new connection; the process knows one at a time.
    pub fn new(core: &Compiled, header: &Header) -> Self {
        let (avoidance, startup) = parts(&header.algorithm);
        let (command, is_avoidance) = command(&header.algorithm);
        let process = Rc::clone(&core.0);
        process.borrow_mut().ask(&command);
        let whole = if is_avoidance {
            assert_eq!(startup, "standard");
            let standard = Standard::new(StandardConfig::default(), Instant::ZERO, 0);
            let process = Rc::clone(&process);
            with_recovery(standard, CoreAvoidance { process }, header)
        } else {
            let part = CoreStartup {
                process: Rc::clone(&process),
                smss: header.smss,
                steers: startup.starts_with("suss"),
            };
            match avoidance.split_once(':') {
                None => {
                    assert_eq!(avoidance, "reno");
                    with_recovery(part, Reno::new(RenoConfig::default()), header)
                }
                Some((name, options)) => {
                    assert_eq!(name, "cubic");
                    with_recovery(part, Cubic::new(cubic(options)), header)
                }
            }
        };
        Self { whole, process }
    }
}

fn cubic(options: &str) -> CubicConfig {
    let mut config = CubicConfig::default();
    for (name, value) in options
        .split(',')
        .filter_map(|option| option.split_once('='))
    {
        config.set(name, value).expect("an option");
    }
    config
}

fn with_recovery(
    startup: impl Startup + 'static,
    avoidance: impl Avoidance + 'static,
    header: &Header,
) -> Box<dyn CongestionControl> {
    let recovery = Prr::new(PrrConfig::default());
    let (smss, window) = (header.smss, header.initial_window);
    Box::new(Classic::new(startup, avoidance, recovery, smss, window))
}

impl Subject for CoreSubject {
    fn mode(&self) -> Mode {
        match self.process.borrow().last.phase {
            1 => Mode::Conservative,
            2 => Mode::Drain,
            _ => Mode::Ordinary,
        }
    }

    fn norm_permille(&self) -> Option<i64> {
        self.process.borrow().last.norm
    }
}

impl CongestionControl for CoreSubject {
    fn window(&self) -> Window {
        self.whole.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.whole.pacing_rate()
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.whole.on_sent(sent);
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.whole.on_delivery(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.whole.on_ack(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.whole.on_congestion(congestion);
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        self.whole.on_recovery_exit(now);
    }

    fn undo(&mut self, now: Instant) {
        self.whole.undo(now);
    }

    fn on_idle_restart(
        &mut self,
        now: Instant,
        idle: Duration,
        rto: Duration,
        initial_window: Bytes,
        snd_nxt: u64,
    ) {
        self.whole
            .on_idle_restart(now, idle, rto, initial_window, snd_nxt);
    }

    fn on_window_unused(&mut self, now: Instant, used: Bytes, initial_window: Bytes) {
        self.whole.on_window_unused(now, used, initial_window);
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.whole.slow_start_exit()
    }
}
