//! Every hook of every list reaches the part behind an enum and behind a wrapper, and [`Classic`]
//! calls every hook of its parts. The probes are made from the lists themselves: a hook that is
//! added to a list is probed here, without a line of this file changing.

#[allow(
    dead_code,
    reason = "operations on a transport, of which each test has its own"
)]
#[path = "../../tests/core/transport.rs"]
mod transport;

use core::cell::RefCell;
use core::marker::PhantomData;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::vec::Vec;

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use super::hooks::{delegate, forward, hooks, own_hooks};
use super::{avoidance_hooks, congestion_control_hooks, recovery_hooks, startup_hooks};
use crate::{
    Ack, AsksRouters, Avoidance, BuildContext, Classic, Congestion, CongestionControl,
    CongestionKind, Decision, Established, ExitReason, JumpStarts, KnownPath, KnowsPath, Lost,
    Needs, Pace, PathMemory, Phase, Recovery, Reduction, Resumption, Sent, SlowStartExit, Startup,
    SteersSending, Step, Window,
};
use transport::{Operation, Transport};

/// Writes down which hooks of the contract `K` were called.
struct Probe<K: ?Sized>(Rc<RefCell<BTreeSet<&'static str>>>, PhantomData<K>);

impl<K: ?Sized> Probe<K> {
    fn new() -> Self {
        Self(Rc::default(), PhantomData)
    }

    /// The same one.
    fn handle(&self) -> Self {
        Self(Rc::clone(&self.0), PhantomData)
    }

    fn note<T: Example>(&self, hook: &'static str) -> T {
        self.0.borrow_mut().insert(hook);
        T::example()
    }

    fn seen(&self) -> Vec<&'static str> {
        self.0.borrow().iter().copied().collect()
    }
}

/// A value of any type that a hook takes or returns.
trait Example {
    fn example() -> Self;
}

macro_rules! examples {
    ($($type:ty = $value:expr;)*) => {
        $( impl Example for $type { fn example() -> Self { $value } } )*
    };
}

const SMSS: Bytes = Bytes::new(1_000);

examples! {
    () = ();
    bool = true;
    u32 = 2;
    u64 = 0;
    Bytes = SMSS * 10;
    Needs = Needs::ALL;
    Duration = Duration::from_millis(1);
    Instant = Instant::ZERO;
    Rate = Rate::MAX;
    Window = Window { cwnd: SMSS * 10, ssthresh: Bytes::MAX, smss: SMSS };
    PathMemory = PathMemory::default();
    Feedback = Feedback::XcpEcho { delta: None };
    Step = Step::Grow(SMSS);
    Pace = Pace::at(Rate::MAX);
    SlowStartExit = SlowStartExit {
        at: Instant::ZERO,
        cwnd: SMSS,
        reason: ExitReason::Decision,
    };
    Decision = Decision { cwnd: SMSS, ssthresh: SMSS, reason: ExitReason::Decision };
    BuildContext = BuildContext {
        now: Instant::ZERO,
        smss: SMSS,
        initial_window: SMSS * 10,
        seed: 0,
        handshake_rtt: None,
    };
    KnownPath = KnownPath {
        rate: Rate::MAX,
        queue_delay: Duration::ZERO,
        base_rtt: Duration::from_millis(1),
        busy_for: Duration::ZERO,
    };
    Established = Established {
        now: Instant::ZERO,
        rtt: None,
        queued: Bytes::MAX,
        receive_window: Bytes::MAX,
        memory: PathMemory::default(),
    };
    Sent = Sent {
        now: Instant::ZERO,
        size: SMSS,
        in_flight: Bytes::ZERO,
        snd_nxt: SMSS.get(),
        retransmission: false,
        idle_since: Some(Instant::ZERO),
        app_limited: true,
    };
    Lost = Lost {
        now: Instant::ZERO,
        size: SMSS,
        seq: 0,
        end: SMSS.get(),
        delivered: SMSS,
        tx_in_flight: SMSS,
        lost: SMSS,
        app_limited: false,
    };
    Congestion = Congestion {
        now: Instant::ZERO,
        kind: CongestionKind::Loss,
        phase: Phase::Open,
        in_flight: SMSS * 5,
        snd_nxt: SMSS.get() * 10,
        first_of_window: true,
    };
    Ack = Ack {
        now: Instant::ZERO,
        delivered: SMSS,
        newly_lost: Bytes::ZERO,
        prior_in_flight: SMSS * 10,
        in_flight: SMSS * 9,
        snd_una: SMSS.get(),
        snd_nxt: SMSS.get() * 10,
        advanced: true,
        bytes_sent: SMSS.get() * 10,
        latest_rtt: None,
        srtt: Duration::from_millis(1),
        min_rtt: Duration::from_millis(1),
        rate: None,
        cwnd_limited: true,
        app_limited: false,
        phase: Phase::Open,
        paced: false,
        pacing_rate: Rate::MAX,
    };
}

/// What an `Option` or a reference to one of these is by example.
impl<T> Example for Option<T> {
    fn example() -> Self {
        None
    }
}

impl<T: Example> Example for &'static T {
    fn example() -> Self {
        std::boxed::Box::leak(std::boxed::Box::new(T::example()))
    }
}

impl<T: Example> Example for &'static mut T {
    fn example() -> Self {
        std::boxed::Box::leak(std::boxed::Box::new(T::example()))
    }
}

/// Implements every listed hook by writing its name down.
macro_rules! probe {
    (($($except:ident)?) $( fn $hook:ident $arguments:tt $(-> $result:ty)?; )*) => {
        $( probe_one! { fn $hook $arguments $(-> $result)? } )*
    };
}

macro_rules! probe_one {
    (fn $hook:ident(&self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?) => {
        fn $hook(&self $(, _: $type)*) $(-> $result)? { self.note(stringify!($hook)) }
    };
    (fn $hook:ident(&mut self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?) => {
        fn $hook(&mut self $(, _: $type)*) $(-> $result)? { self.note(stringify!($hook)) }
    };
}

/// Calls every listed hook of `$part` by its trait, and gives their names.
macro_rules! call_all {
    (($part:ident $trait:ident) $( fn $hook:ident $arguments:tt $(-> $result:ty)?; )*) => {{
        $( call_one! { $part $trait $hook $arguments } )*
        BTreeSet::from([$( stringify!($hook) ),*])
    }};
}

macro_rules! call_one {
    ($part:ident $trait:ident $hook:ident (&self $(, $name:ident: $type:ty)* $(,)?)) => {
        let _ = $trait::$hook(&$part $(, <$type as Example>::example())*);
    };
    ($part:ident $trait:ident $hook:ident (&mut self $(, $name:ident: $type:ty)* $(,)?)) => {
        let _ = $trait::$hook(&mut $part $(, <$type as Example>::example())*);
    };
}

/// An enum of two probes that forwards as the registry's enums do.
enum Any<K: ?Sized> {
    First(Probe<K>),
    Second(Probe<K>),
}

macro_rules! forwarding {
    ($($trait:ident $list:ident;)*) => { $(
        impl $trait for Probe<dyn $trait> {
            $list!(probe!());
        }

        impl $trait for Any<dyn $trait> {
            $list!(forward!(First Second));
        }
    )* };
}

forwarding! {
    Startup startup_hooks;
    Avoidance avoidance_hooks;
    Recovery recovery_hooks;
    CongestionControl congestion_control_hooks;
}

#[test]
fn an_enum_forwards_every_hook_of_every_list() {
    macro_rules! check {
        ($($trait:ident $list:ident;)*) => { $(
            for variant in [Any::First, Any::Second] {
                let probe = Probe::<dyn $trait>::new();
                let mut any = variant(probe.handle());
                let listed: BTreeSet<&'static str> = $list!(call_all!(any $trait));
                assert_eq!(*probe.0.borrow(), listed, stringify!($trait));
            }
        )* };
    }
    check! {
        Startup startup_hooks;
        Avoidance avoidance_hooks;
        Recovery recovery_hooks;
        CongestionControl congestion_control_hooks;
    }
}

/// A wrapper that answers for the window itself.
struct Wrapper {
    inner: Probe<dyn CongestionControl>,
    own: Probe<()>,
}

own_hooks!(($) own: window);

impl CongestionControl for Wrapper {
    congestion_control_hooks!(delegate!(inner but own));

    fn window(&self) -> Window {
        self.own.note("window")
    }
}

#[test]
fn a_wrapper_delegates_every_hook_but_its_own() {
    let (inner, own) = (Probe::new(), Probe::new());
    let mut wrapper = Wrapper {
        inner: inner.handle(),
        own: own.handle(),
    };
    let mut expected = congestion_control_hooks!(call_all!(wrapper CongestionControl));
    assert!(expected.remove("window"));
    assert_eq!(*inner.0.borrow(), expected);
    assert_eq!(own.seen(), ["window"]);
}

hooks! {
    ($)
    /// A contract to which a hook is added: nothing but this list says so.
    pub trait Grown, listed by grown_hooks;

    required { fn before(&mut self); }

    provided {
        /// The hook that is added.
        fn added(&self, size: Bytes) -> bool { false }
    }
}

forwarding! { Grown grown_hooks; }

#[test]
fn a_hook_that_is_added_to_a_list_is_forwarded() {
    let probe = Probe::<dyn Grown>::new();
    let mut any = Any::Second(probe.handle());
    assert!(any.added(SMSS), "the default is false");
    assert_eq!(probe.seen(), ["added"]);
    let listed = grown_hooks!(call_all!(any Grown));
    assert_eq!(*probe.0.borrow(), listed);
}

/// A start-up with all that the small traits offer. It takes over every second episode.
struct Everything {
    probe: Probe<dyn Startup>,
    took_over: bool,
}

own_hooks!(($) doors: jump_starts asks_routers steers_sending);

impl Startup for Everything {
    startup_hooks!(delegate!(probe but doors));

    fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> {
        self.probe.note::<()>("jump_starts");
        Some(self)
    }

    fn asks_routers(&mut self) -> Option<&mut dyn AsksRouters> {
        self.probe.note::<()>("asks_routers");
        Some(self)
    }

    fn steers_sending(&mut self) -> Option<&mut dyn SteersSending> {
        self.probe.note::<()>("steers_sending");
        Some(self)
    }
}

impl JumpStarts for Everything {
    fn take_over(&mut self, _congestion: &Congestion, window: &Window) -> Option<Reduction> {
        self.probe.note::<()>("take_over");
        self.took_over = !self.took_over;
        self.took_over.then_some(Reduction {
            cwnd: window.cwnd,
            ssthresh: window.cwnd,
        })
    }

    fn reduces_from(&mut self, _congestion: &Congestion, _window: &Window) -> Option<Bytes> {
        self.probe.note("reduces_from")
    }

    fn on_recovery_ack(&mut self, _ack: &Ack, window: &Window) -> Bytes {
        self.probe.note::<()>("on_recovery_ack");
        window.cwnd
    }

    fn on_recovery_exit(&mut self, _now: Instant, window: &Window) -> Reduction {
        self.probe.note::<()>("on_recovery_exit");
        Reduction {
            cwnd: window.cwnd,
            ssthresh: window.cwnd,
        }
    }
}

impl AsksRouters for Everything {
    fn requested_rate(&self, _queued: Bytes) -> Option<Rate> {
        self.probe.note("requested_rate")
    }

    fn on_approval(&mut self, _rate: Rate, _rtt: Duration, _window: &Window) -> Option<Step> {
        self.probe.note("on_approval")
    }

    fn thins_acks(&self) -> bool {
        self.probe.note("thins_acks")
    }
}

impl SteersSending for Everything {
    fn after_sent(&mut self, _sent: &Sent, _window: &Window) -> Option<Step> {
        self.probe.note("after_sent")
    }

    fn supposed_receive_window(&self) -> Option<Bytes> {
        self.probe.note("supposed_receive_window")
    }
}

#[test]
fn classic_calls_every_hook_of_its_parts() {
    let (startup, avoidance, recovery) = (Probe::new(), Probe::new(), Probe::new());
    let everything = Everything {
        probe: startup.handle(),
        took_over: false,
    };
    let (smss, window) = (SMSS, SMSS * 10);
    let mut control = Classic::new(
        everything,
        avoidance.handle(),
        recovery.handle(),
        smss,
        window,
    );
    // In slow start, before anything is lost, each hook once.
    let mut other = Probe::<dyn CongestionControl>::new();
    let names = congestion_control_hooks!(call_all!(control CongestionControl));
    assert_eq!(
        names,
        congestion_control_hooks!(call_all!(other CongestionControl))
    );
    // `call_all` made the segments larger.
    control.on_mtu(Instant::ZERO, smss);
    // `call_all` begins an episode that the start-up takes over and undoes it.
    let (ack, sent) = (Ack::example(), Sent::example());
    let reducing = Ack {
        phase: Phase::Recovery,
        ..ack
    };
    for _ in 0..2 {
        control.on_congestion(&Congestion::example());
        control.on_sent(&sent);
        control.on_ack(&reducing);
        control.on_recovery_exit(Instant::ZERO);
    }
    control.on_ack(&ack);
    control.on_congestion(&Congestion {
        kind: CongestionKind::Timeout,
        ..Congestion::example()
    });

    let mut unused = Probe::<dyn Startup>::new();
    let mut expected = startup_hooks!(call_all!(unused Startup));
    expected.extend([
        "take_over",
        "reduces_from",
        "on_recovery_ack",
        "on_recovery_exit",
    ]);
    expected.extend([
        "requested_rate",
        "on_approval",
        "thins_acks",
        "after_sent",
        "supposed_receive_window",
    ]);
    assert_eq!(*startup.0.borrow(), expected);

    let mut unused = Probe::<dyn Avoidance>::new();
    let mut expected = avoidance_hooks!(call_all!(unused Avoidance));
    // Asked before the parts are put together.
    assert!(expected.remove("begin"));
    assert_eq!(*avoidance.0.borrow(), expected);

    let mut unused = Probe::<dyn Recovery>::new();
    let expected = recovery_hooks!(call_all!(unused Recovery));
    assert_eq!(*recovery.0.borrow(), expected);
}

/// A congestion control of which each hook is noted and then called.
struct Spied<C> {
    control: C,
    seen: Probe<()>,
}

macro_rules! spy {
    (() $( fn $hook:ident $arguments:tt $(-> $result:ty)?; )*) => {
        $( spy_one! { fn $hook $arguments $(-> $result)? } )*
    };
}

macro_rules! spy_one {
    (fn $hook:ident(&self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?) => {
        fn $hook(&self $(, $name: $type)*) $(-> $result)? {
            self.seen.note::<()>(stringify!($hook));
            self.control.$hook($($name),*)
        }
    };
    (fn $hook:ident(&mut self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?) => {
        fn $hook(&mut self $(, $name: $type)*) $(-> $result)? {
            self.seen.note::<()>(stringify!($hook));
            self.control.$hook($($name),*)
        }
    };
}

impl<C: CongestionControl> CongestionControl for Spied<C> {
    congestion_control_hooks!(spy!());
}

#[test]
fn the_transport_of_the_tests_calls_every_hook() {
    let seen = Probe::new();
    for name in [
        "cubic+quick-start",
        "cubic+suss",
        "cubic+oracle",
        "bbr3",
        "prague",
        "xcp",
    ] {
        let algorithm: crate::Algorithm = name.parse().expect(name);
        let mut transport = Transport::new(Spied {
            control: algorithm.build(BuildContext::example()),
            seen: seen.handle(),
        });
        let ack = Operation::Ack {
            segments: 20,
            advanced: true,
        };
        let second = Operation::Idle(Duration::from_secs(1));
        for operation in [
            Operation::Send(20),
            Operation::Lose(2),
            Operation::Undo,
            Operation::Lose(2),
            Operation::Ecn,
            Operation::Send(20),
            ack,
            second,
            Operation::Unused(3),
            Operation::Mtu(1_200),
            Operation::Timeout,
        ] {
            transport.apply(operation);
            transport.check();
        }
        transport.close();
    }
    let mut unused = Probe::<dyn CongestionControl>::new();
    let listed = congestion_control_hooks!(call_all!(unused CongestionControl));
    assert_eq!(*seen.0.borrow(), listed);
}
