//! How the kernel runs the thread that moves packets.
//!
//! SCHED_DEADLINE with 0.8 ms in each ms, and up to 0.95 ms where other tasks have not reserved it.
//! Measured on a busy machine, this keeps the 99th percentile of the lateness below 0.2 ms, where
//! SCHED_FIFO loses 50 ms a second to the fair server and normal scheduling reaches some ms. It
//! needs CAP_SYS_NICE and free deadline bandwidth. Without them the thread runs like any other,
//! with a timer slack of one nanosecond.

use std::io;

use nix::sys::prctl;
use nix::sys::signal::SigSet;

/// How the emulator's thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// SCHED_DEADLINE.
    Deadline,
    /// Like any other thread: SCHED_OTHER.
    Normal,
}

/// The period of the reservation, in nanoseconds, and the reservations to try: the kernel admits 95
/// % of the processors in total, so that a second emulation, or a nested one, may find less free.
const PERIOD: u64 = 1_000_000;
const RUNTIMES: [u64; 3] = [800_000, 400_000, 200_000];

/// Prepares the calling thread: deadline scheduling if `deadline` is set and allowed, fine timers,
/// no signals.
pub(crate) fn prepare_thread(deadline: bool) -> Scheduling {
    // Signals are for the other threads of the program; an interrupted wait would only cost time.
    let _ = SigSet::all().thread_block();
    let _ = prctl::set_timerslack(1);
    if deadline && RUNTIMES.iter().any(|&runtime| reserve(runtime).is_ok()) {
        Scheduling::Deadline
    } else {
        Scheduling::Normal
    }
}

#[expect(
    unsafe_code,
    reason = "the C library has no wrapper of sched_setattr(2)"
)]
fn reserve(runtime: u64) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_DEADLINE as u32,
        // It may use more where other tasks have not reserved it: a burst of ACKs is several ms of
        // work, and being throttled for a fifth of that would make packets late.
        sched_flags: libc::SCHED_FLAG_RECLAIM as u64,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: runtime,
        sched_deadline: PERIOD,
        sched_period: PERIOD,
    };
    // SAFETY: the kernel reads `size` bytes of the structure, which lives until the call returns;
    // thread 0 is the calling thread, and the call itself has no flags.
    let status = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Gives the calling thread, an application of a run, priority over ordinary ones, where that is
/// allowed, so that a busy machine does not make the application late. The emulator's own thread has
/// deadlines and comes first.
pub fn prefer_thread() {
    // A refusal changes nothing.
    let _ = set_priority(libc::SCHED_RR, 1);
}

/// The same for a thread that reads, which comes before those that write. On a machine with one
/// processor, a writer that fills a large buffer would otherwise keep the processor for 10 ms, in which
/// the reader frees no receive buffer and causes no ACK.
pub fn prefer_reader() {
    let _ = set_priority(libc::SCHED_RR, 2);
}

/// Gives the calling thread priority over all others, except those with deadlines.
pub(crate) fn go_first() -> io::Result<()> {
    set_priority(libc::SCHED_FIFO, 99)
}

#[expect(unsafe_code, reason = "`nix` has no wrapper of sched_setscheduler(2)")]
fn set_priority(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let priority = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the kernel reads the structure, which outlives the call; thread 0 is the caller.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
