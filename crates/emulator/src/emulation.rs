//! An emulation from its start to its report.

use std::fs::File;
use std::io::PipeWriter;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use measure::Histogram;
use network::{Discipline, LinkConfig, LossConfig, QueueConfig, QueueLimit, Service};
use scenario::{PathModel, stacks};
use units::{Duration, Instant};

use crate::access::AccessDelays;
use crate::check::{self, Bounds, Measured, SelfCheck};
use crate::clock::Clock;
use crate::device::Device;
use crate::error::EmulatorError;
use crate::flows::FlowLog;
use crate::link::LinkState;
use crate::live::{Live, Snapshot};
use crate::machine::{Processors, Watch};
use crate::mover::{Mover, Noted};
use crate::namespace::Namespace;
use crate::output::Existing;
use crate::process::{self, Running};
use crate::record::{CaptureTo, Files, LogTo, Writing};
use crate::report::{LinkReport, Report};
use crate::schedule::Scheduling;
use crate::side::{Direction, Side};
use crate::{device, nest, probe};

/// Options of an emulation.
#[derive(Clone, Debug)]
pub struct EmulationOptions {
    /// IPv4 addresses of sender and receiver, the two hosts of a /30 network.
    pub addresses: [Ipv4Addr; 2],
    /// The side that is the current host, where that host is itself part of an emulation: it
    /// forwards the packets of the other side and assigns the addresses. Elsewhere, both sides are
    /// new.
    pub nested: Option<Side>,
    /// The side that is the current host, where that is no part of an emulation: it gets the device
    /// and an address, and nothing else of it changes. Programs of this host are then behind the
    /// path.
    pub host: Option<Side>,
    /// Whether to request deadline scheduling.
    pub deadline: bool,
    /// How long before a due instant the emulator's thread stays awake. A longer time is more
    /// precise and uses more processor time.
    pub spin: Duration,
    /// How many probes measure the round trip before the run; zero for none.
    pub probes: u32,
    /// Access delays of hosts on the sender's side, by their addresses, in each direction. The
    /// reverse direction includes both, as in the simulator.
    pub access_delays: Vec<(Ipv4Addr, Duration)>,
    /// Whether to trace the queues.
    pub trace: bool,
    /// Whether to keep deliveries, for the one-way latency of each packet.
    pub deliveries: bool,
    /// Captures to write.
    pub captures: Vec<CaptureTo>,
    /// Logs to write.
    pub logs: Vec<LogTo>,
    /// What happens to captures and logs that exist already.
    pub existing: Existing,
    /// Description of the run in captures and logs.
    pub title: String,
    /// Bounds of the timing self-check.
    pub bounds: Bounds,
}

impl Default for EmulationOptions {
    /// Sender 10.77.0.1, receiver 10.77.0.2, deadline scheduling, no spinning, five probes, and
    /// nothing written.
    fn default() -> Self {
        Self {
            addresses: [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)],
            nested: None,
            host: None,
            deadline: true,
            spin: Duration::ZERO,
            probes: 5,
            access_delays: Vec::new(),
            trace: false,
            deliveries: false,
            captures: Vec::new(),
            logs: Vec::new(),
            existing: Existing::default(),
            title: String::new(),
            bounds: Bounds::default(),
        }
    }
}

/// The environment variable that holds the address of the other end.
pub(crate) const PEER: &str = "SLOWSTART_PEER";

/// The emulator's thread, and the means to stop it.
struct Moving {
    thread: JoinHandle<Mover>,
    stop: Arc<AtomicBool>,
    /// Closing it wakes the thread.
    wake: PipeWriter,
}

impl Moving {
    fn start(
        make: impl FnOnce(Arc<AtomicBool>, std::io::PipeReader) -> Mover,
    ) -> Result<Self, EmulatorError> {
        let (reader, wake) = std::io::pipe().map_err(EmulatorError::system("creating a pipe"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let mover = make(stop.clone(), reader);
        let thread = thread::Builder::new()
            .name("slowstart-emu".to_owned())
            .spawn(move || mover.run())
            .map_err(EmulatorError::system("starting a thread"))?;
        Ok(Self { thread, stop, wake })
    }

    fn stop(self) -> Mover {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.wake);
        match self.thread.join() {
            Ok(mover) => mover,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Two hosts whose path does not carry packets yet, so that preparing them takes no time of the
/// run.
pub struct Prepared<'a> {
    path: &'a PathModel,
    seed: u64,
    options: EmulationOptions,
    files: Files,
    namespaces: [Namespace; 2],
    names: [String; 2],
    devices: [File; 2],
    probe_rtt: Option<Duration>,
}

/// Two hosts with an emulated path between them.
///
/// The run begins when [`Emulation::start`] returns. Dropping it ends everything, as does
/// [`Emulation::finish`], which returns the report.
pub struct Emulation {
    namespaces: [Namespace; 2],
    /// The names of the devices.
    names: [String; 2],
    options: EmulationOptions,
    base_rtt: Duration,
    clock: Clock,
    moving: Option<Moving>,
    writing: Option<Writing>,
    live: Arc<Live>,
    probe_rtt: Option<Duration>,
    processors: Option<Processors>,
    watch: Option<Watch>,
}

impl Prepared<'_> {
    /// As [`Emulation::address`].
    #[must_use]
    pub const fn address(&self, side: Side) -> Ipv4Addr {
        self.options.addresses[side as usize]
    }

    /// As [`Emulation::within`].
    ///
    /// # Errors
    /// As there.
    pub fn within<T: Send>(
        &self,
        side: Side,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, EmulatorError> {
        self.namespaces[side.index()].within(work)
    }

    /// The namespace of a side, for a thread that lives while the emulation does.
    ///
    /// # Errors
    /// Where no more file descriptors can be had.
    pub fn namespace(&self, side: Side) -> Result<Namespace, EmulatorError> {
        self.namespaces[side.index()].try_clone()
    }

    /// As [`Emulation::spawn`].
    ///
    /// # Errors
    /// As there.
    pub fn spawn(&self, side: Side, command: Command) -> Result<Running, EmulatorError> {
        spawn(&self.namespaces, self.options.addresses, side, command)
    }

    /// Opens the path. Time zero of the run, and of its channel, is `lead` from this call; a packet
    /// that arrives earlier counts as arriving at zero.
    ///
    /// # Errors
    /// One sentence on what failed; nothing is left behind.
    pub fn begin(self, lead: Duration) -> Result<Emulation, EmulatorError> {
        let Self {
            path,
            seed,
            options,
            ..
        } = self;
        let configs = [&path.forward, &path.reverse];
        let mut links = LinkState::pair(configs, seed, path.base_rtt, options.trace);
        let delays = options.access_delays.iter();
        links[Direction::Reverse.index()].access =
            AccessDelays::new(delays.map(|&(host, delay)| (host, delay * 2)));
        let live = Arc::new(Live::default());
        let clock = Clock::begin_after(lead);
        let (recorder, writing) = match self.files.start(path, seed, &options.title, clock)? {
            Some((recorder, writing)) => (Some(recorder), Some(writing)),
            None => (None, None),
        };
        let processors = Processors::now();
        let moving = Moving::start(|stop, wake| {
            Mover::new(
                clock,
                self.devices,
                links,
                FlowLog::new(options.deliveries),
                recorder,
                live.clone(),
                (stop, wake),
                (options.deadline, options.spin),
            )
        })?;
        let watch = Watch::start(clock, &moving.thread);
        Ok(Emulation {
            namespaces: self.namespaces,
            names: self.names,
            options,
            base_rtt: path.base_rtt,
            clock,
            moving: Some(moving),
            writing,
            live,
            probe_rtt: self.probe_rtt,
            processors,
            watch: Some(watch),
        })
    }
}

impl Emulation {
    /// Creates the hosts, probes the path's delays, and opens the path. The links draw the same
    /// random numbers as those of a simulation with `seed`.
    ///
    /// # Errors
    /// One sentence on what is missing; nothing is left behind.
    pub fn start(
        path: &PathModel,
        seed: u64,
        options: EmulationOptions,
    ) -> Result<Self, EmulatorError> {
        Self::prepare(path, seed, options)?.begin(Duration::ZERO)
    }

    /// As [`Emulation::start`] without its last step, so that sockets can be made before the
    /// channel's time begins.
    ///
    /// # Errors
    /// As [`Emulation::start`].
    pub fn prepare(
        path: &PathModel,
        seed: u64,
        mut options: EmulationOptions,
    ) -> Result<Prepared<'_>, EmulatorError> {
        check_addresses(options.addresses)?;
        if let Some(sentence) = scenario::refusal_of_path(&stacks::EMULATED, path) {
            return Err(EmulatorError::Invalid(sentence));
        }
        // The most likely failure comes first, so that the error is about it.
        drop(device::open()?);
        let files = Files::open(&options.captures, &options.logs, options.existing)?;
        let (namespaces, devices) = make_hosts(&mut options)?;
        let names = devices.each_ref().map(|device| device.name.clone());
        let mut devices = devices.map(|device| device.file);
        let mut probe_rtt = None;
        if options.probes > 0 {
            // The probes use links of their own, with the delays alone, and draw none of the run's
            // random numbers.
            let [forward, reverse] = [&path.forward, &path.reverse].map(only_delay);
            let links = LinkState::pair([&forward, &reverse], 0, path.base_rtt, false);
            let moving = Moving::start(|stop, wake| {
                Mover::new(
                    Clock::begin(),
                    devices,
                    links,
                    FlowLog::new(false),
                    None,
                    Arc::new(Live::default()),
                    (stop, wake),
                    (options.deadline, options.spin),
                )
            })?;
            let measured = probe::median_rtt(
                &namespaces,
                options.addresses,
                path.base_rtt,
                options.probes,
            );
            devices = moving.stop().devices;
            probe_rtt = measured?;
        }
        Ok(Prepared {
            path,
            seed,
            options,
            files,
            namespaces,
            names,
            devices,
            probe_rtt,
        })
    }

    /// The address of a side.
    #[must_use]
    pub const fn address(&self, side: Side) -> Ipv4Addr {
        self.options.addresses[side as usize]
    }

    /// Time since the run began.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// CLOCK_MONOTONIC when the run began, in nanoseconds. It relates the instants of the report to
    /// those of a sender that reads the same clock.
    #[must_use]
    pub const fn zero_monotonic_nanos(&self) -> u64 {
        self.clock.zero()
    }

    /// The current state of the links.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.live.snapshot(self.clock.now())
    }

    /// The network namespace of a side, for `nsenter --net=` and similar tools, while this lives.
    #[must_use]
    pub fn namespace_path(&self, side: Side) -> PathBuf {
        self.namespaces[side.index()].path()
    }

    /// Runs `work` on a new thread on one side and waits for it. Sockets that it creates stay on
    /// that side, whichever thread uses them later.
    ///
    /// # Errors
    /// Where the thread cannot be started or moved.
    pub fn within<T: Send>(
        &self,
        side: Side,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, EmulatorError> {
        self.namespaces[side.index()].within(work)
    }

    /// Starts a program on one side, with the environment variables `SLOWSTART_ADDRESS` and
    /// `SLOWSTART_PEER`. Neither it nor a program that it starts outlives this process.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn spawn(&self, side: Side, command: Command) -> Result<Running, EmulatorError> {
        spawn(&self.namespaces, self.options.addresses, side, command)
    }

    /// Ends the run. Programs that are still running lose their network.
    ///
    /// # Errors
    /// Where a capture or log could not be written.
    pub fn finish(mut self) -> Result<Report, EmulatorError> {
        let Some(moving) = self.moving.take() else {
            return Err(EmulatorError::Invalid(
                "the emulation has already ended".into(),
            ));
        };
        // The watch reads a clock of the emulator's thread.
        let standstill = self.watch.take().and_then(Watch::stop);
        let mover = moving.stop();
        let idle = Processors::fractions(self.processors, Processors::now());
        let mut local_drops = mover.noted.refused;
        for (namespace, name) in self.namespaces.iter().zip(&self.names) {
            local_drops += namespace.within(|| device::local_drops(name))?;
        }
        let Noted { end, .. } = mover.noted;
        let unrecorded = mover.recorder.as_ref().map_or(0, |recorder| recorder.lost);
        if let Some(recorder) = mover.recorder {
            recorder.close(end);
        }
        if let Some(writing) = self.writing.take() {
            writing.finish()?;
        }
        let [forward, reverse] = mover.links.map(|state| LinkReport::new(state, end));
        let conserved = forward.conserved() && reverse.conserved();
        let check = self.check(
            &mover.noted,
            (idle, standstill),
            local_drops,
            unrecorded,
            conserved,
        );
        Ok(Report {
            zero_monotonic_nanos: self.clock.zero(),
            end,
            forward,
            reverse,
            flows: mover.flows.flows,
            drops: mover.flows.drops,
            drops_not_kept: mover.flows.drops_not_kept,
            deliveries: mover.flows.deliveries.unwrap_or_default(),
            check,
        })
    }

    fn check(
        &self,
        noted: &Noted,
        ((cpu_idle_share, cpu_stolen_share), standstill): (
            (Option<f64>, Option<f64>),
            Option<Duration>,
        ),
        local_drops: u64,
        unrecorded: u64,
        conserved: bool,
    ) -> SelfCheck {
        let some = noted.lateness.count() > 0;
        let lateness = [
            noted.lateness.quantile(500),
            noted.lateness.quantile(990),
            some.then_some(noted.worst_lateness),
        ];
        let apart = noted.apart.quantile(990);
        let (worked, packets) = noted.catching_up;
        let each = (packets > 0).then(|| worked / packets);
        let measured = Measured {
            stall: noted.worst_stall,
            standstill,
            lateness,
            apart,
            each,
            busy: noted.pace.busy(),
            rate_ratio: noted.pace.ratio(),
            probe: self.probe_rtt,
            base_rtt: self.base_rtt,
            local_drops,
            unrecorded,
            conserved,
        };
        let reasons = check::judge(&self.options.bounds, &measured);
        let micros = |at: usize| lateness[at].map(Duration::as_micros);
        let p99 = |histogram: &Histogram| histogram.quantile(990).map(Duration::as_micros);
        SelfCheck {
            valid: reasons.is_empty(),
            reasons,
            scheduling: noted.scheduling.unwrap_or(Scheduling::Normal),
            deliveries: noted.lateness.count(),
            lateness_p50_us: micros(0),
            lateness_p99_us: micros(1),
            lateness_max_us: micros(2),
            lateness_apart_p99_us: apart.map(Duration::as_micros),
            work_per_packet_us: each.map(|each| each.as_nanos() as f64 / 1e3),
            wake_up_p99_us: p99(&noted.wake_ups),
            stall_max_us: noted.worst_stall.as_micros(),
            standstill_max_us: standstill.map(Duration::as_micros),
            rate_ratio: measured.rate_ratio,
            probe_rtt_ms: self.probe_rtt.map(|rtt| rtt.as_nanos() as f64 / 1e6),
            base_rtt_ms: self.base_rtt.as_nanos() as f64 / 1e6,
            longest_burst_packets: noted.longest_burst,
            bursts: noted.bursts,
            cpu_share: noted.processor_time.as_secs_f64() / noted.end.as_secs_f64().max(1e-9),
            cpu_idle_share,
            cpu_stolen_share,
            local_drops,
            unrecorded,
        }
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        let _ = self.watch.take().and_then(Watch::stop);
        if let Some(moving) = self.moving.take() {
            drop(moving.stop());
        }
    }
}

/// Two new hosts, or a new host and the current one.
fn make_hosts(
    options: &mut EmulationOptions,
) -> Result<([Namespace; 2], [Device; 2]), EmulatorError> {
    // Every host has routes to the hosts of the emulations inside and around this one.
    let make = |address| {
        Namespace::make(move || {
            let device = Device::make(address)?;
            nest::route(&device, nest::ALL)?;
            Ok(device)
        })
    };
    let far = match options.nested {
        Some(side) => nest::far_end()?.map(|end| (side, end)),
        None => None,
    };
    if let (None, Some(side)) = (&far, options.host) {
        return host_and_new(side, options.addresses, make);
    }
    let Some((side, far)) = far else {
        let [sender, receiver] = options.addresses;
        let ((sender, device), (receiver, other)) = (make(sender)?, make(receiver)?);
        return Ok(([sender, receiver], [device, other]));
    };
    let (near, device) = make(far.addresses[0])?;
    let namespaces = [near, Namespace::current()?];
    let devices = [device, far.device];
    options.addresses = far.addresses;
    if side == Side::Receiver {
        return Ok((namespaces, devices));
    }
    options.addresses.reverse();
    let ([near, own], [device, other]) = (namespaces, devices);
    Ok(([own, near], [other, device]))
}

/// The current host on `side`, and a new host that `make` makes with its address.
fn host_and_new(
    side: Side,
    addresses: [Ipv4Addr; 2],
    make: impl Fn(Ipv4Addr) -> Result<(Namespace, Device), EmulatorError>,
) -> Result<([Namespace; 2], [Device; 2]), EmulatorError> {
    let name = device::ON_HOST.to_owned();
    let own = Device::make_if_free(name, addresses[side.index()])?.ok_or_else(|| {
        EmulatorError::Invalid(format!(
            "another emulation has its server on this host ({} exists): wait for its end",
            device::ON_HOST
        ))
    })?;
    let (near, other) = make(addresses[side.peer().index()])?;
    let here = Namespace::current()?;
    Ok(match side {
        Side::Sender => ([here, near], [own, other]),
        Side::Receiver => ([near, here], [other, own]),
    })
}

fn spawn(
    namespaces: &[Namespace; 2],
    addresses: [Ipv4Addr; 2],
    side: Side,
    mut command: Command,
) -> Result<Running, EmulatorError> {
    let (own, peer) = (addresses[side.index()], addresses[side.peer().index()]);
    command.env("SLOWSTART_ADDRESS", own.to_string());
    if !command.get_envs().any(|(name, _)| name == PEER) {
        command.env(PEER, peer.to_string());
    }
    process::spawn(namespaces[side.index()].try_clone()?, command)
}

/// The link of `config`, reduced to its delay.
fn only_delay(config: &LinkConfig) -> LinkConfig {
    LinkConfig {
        service: Service::Unlimited,
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        loss: LossConfig::None,
        jitter: None,
        reordering: None,
        ..config.clone()
    }
}

fn check_addresses([sender, receiver]: [Ipv4Addr; 2]) -> Result<(), EmulatorError> {
    let (a, b) = (u32::from(sender), u32::from(receiver));
    let host = |address: u32| matches!(address & 3, 1 | 2);
    if a >> 2 == b >> 2 && a != b && host(a) && host(b) && sender.is_private() {
        Ok(())
    } else {
        Err(EmulatorError::Invalid(format!(
            "{sender} and {receiver} are not the two hosts of a private /30 network, such as \
             10.77.0.1 and 10.77.0.2"
        )))
    }
}
