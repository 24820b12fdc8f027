//! The congestion controls of this project for transports in C: `include/slowstart.h`.
//!
//! Each function is a call of [`quic_core::Core`], which notes what a transport reports. Pointers
//! come from C and are valid as the header says; this crate checks what it can, which is NULL.

#![allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "C calls these functions, and its header has their contract"
)]

use std::ffi::{CStr, c_char};

use quic_core::{Capabilities, CongestionKind, Core, Pacing, Setup, initial_window};
use units::{Bytes, Duration, Instant};

/// `SLOWSTART_VERSION`.
const VERSION: u32 = 2;
/// `SLOWSTART_UNKNOWN`.
const UNKNOWN: u64 = u64::MAX;

/// `struct slowstart_controller`.
#[derive(Clone, Debug)]
pub struct Controller(Core);

/// `struct slowstart_options`.
#[derive(Debug)]
#[repr(C)]
pub struct Options {
    version: u32,
    sets_pace: u32,
    reports_lost: u32,
    reports_handshake: u32,
    lacks_send_times: u32,
    unpaced: u32,
    algorithm: *const c_char,
    now: u64,
    datagram: u64,
    initial_window: u64,
    seed: u64,
}

/// `struct slowstart_exit`.
#[derive(Debug)]
#[repr(C)]
pub struct Exit {
    at: u64,
    cwnd: u64,
    reason: *const c_char,
}

fn number(number: u64) -> Option<u64> {
    (number != UNKNOWN).then_some(number)
}

const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// The controller of a call.
fn core<'a>(controller: *mut Controller) -> &'a mut Core {
    #[allow(unsafe_code, reason = "the pointer comes from C")]
    // SAFETY: the header: `slowstart_new` or `slowstart_clone` returned it, one thread uses it.
    let controller = unsafe { controller.as_mut() };
    &mut controller.expect("a controller, not NULL").0
}

fn made(options: &Options) -> Result<Core, String> {
    if options.version != VERSION {
        return Err(format!(
            "the header has version {}, the library version {VERSION}",
            options.version
        ));
    }
    if options.algorithm.is_null() {
        return Err("no algorithm is named".to_owned());
    }
    #[allow(unsafe_code, reason = "the pointer comes from C")]
    // SAFETY: it is not NULL, and the header says that it is a string.
    let name = unsafe { CStr::from_ptr(options.algorithm) };
    let name = name.to_string_lossy();
    let algorithm = name.parse().map_err(|error| format!("{name}: {error}"))?;
    if !(1..=65_535).contains(&options.datagram) {
        return Err(format!(
            "a datagram has 1 to 65535 bytes, not {}",
            options.datagram
        ));
    }
    let datagram = Bytes::new(options.datagram);
    let setup = Setup {
        algorithm,
        now: at(options.now),
        datagram,
        initial_window: match options.initial_window {
            0 => initial_window(datagram),
            bytes => Bytes::new(bytes),
        },
        seed: options.seed,
    };
    let capabilities = Capabilities {
        stack: "the transport",
        pacing: if options.sets_pace == 0 {
            Pacing::Fixed
        } else {
            Pacing::Rate
        },
        paces: options.unpaced == 0,
        send_times: options.lacks_send_times == 0,
        lost_packets: options.reports_lost != 0,
        handshake: options.reports_handshake != 0,
    };
    Core::new(setup, &capabilities).map_err(|error| error.to_string())
}

/// `slowstart_new`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_new(
    options: *const Options,
    error: *mut c_char,
    room: usize,
) -> *mut Controller {
    #[allow(unsafe_code, reason = "the pointer comes from C")]
    // SAFETY: the header: it is NULL or valid during the call.
    let options = unsafe { options.as_ref() };
    let made = options.map_or_else(|| Err("no options".to_owned()), made);
    match made {
        Ok(core) => Box::into_raw(Box::new(Controller(core))),
        Err(sentence) => {
            let length = sentence.len().min(room.saturating_sub(1));
            if room > 0 && !error.is_null() {
                #[allow(unsafe_code, reason = "the buffer comes from C")]
                // SAFETY: the buffer has `room` bytes, of which these are `length` and a zero.
                unsafe {
                    std::ptr::copy_nonoverlapping(sentence.as_ptr(), error.cast(), length);
                    error.add(length).write(0);
                }
            }
            std::ptr::null_mut()
        }
    }
}

/// `slowstart_clone`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_clone(controller: *const Controller) -> *mut Controller {
    let copy = core(controller.cast_mut()).clone();
    Box::into_raw(Box::new(Controller(copy)))
}

/// `slowstart_free`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_free(controller: *mut Controller) {
    if !controller.is_null() {
        #[allow(unsafe_code, reason = "the pointer comes from C")]
        // SAFETY: `slowstart_new` or `slowstart_clone` made it, and nothing uses it after this.
        drop(unsafe { Box::from_raw(controller) });
    }
}

/// `slowstart_on_handshake`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_handshake(controller: *mut Controller, now: u64, rtt: u64) {
    core(controller).on_handshake(at(now), Duration::from_nanos(rtt));
}

/// `slowstart_on_sent`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_sent(controller: *mut Controller, now: u64, size: u64, packet: u64) {
    core(controller).on_sent(at(now), Bytes::new(size), number(packet));
}

/// `slowstart_on_acked`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_acked(
    controller: *mut Controller,
    now: u64,
    sent: u64,
    size: u64,
    packet: u64,
) {
    core(controller).on_acked(at(now), at(sent), Bytes::new(size), number(packet));
}

/// `slowstart_on_batch_end`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_batch_end(
    controller: *mut Controller,
    now: u64,
    in_flight: u64,
    app_limited: u32,
) {
    core(controller).on_batch_end(at(now), Bytes::new(in_flight), app_limited != 0);
}

/// `slowstart_on_lost`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_lost(controller: *mut Controller, now: u64, size: u64, packet: u64) {
    core(controller).on_lost(at(now), Bytes::new(size), packet);
}

/// `slowstart_on_congestion`. A kind that the header does not have is a loss.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_congestion(
    controller: *mut Controller,
    now: u64,
    newest_sent: u64,
    kind: u32,
    lost: u64,
) {
    let kind = match kind {
        1 => CongestionKind::Ecn,
        2 => CongestionKind::Timeout,
        _ => CongestionKind::Loss,
    };
    core(controller).on_congestion(at(now), at(newest_sent), kind, Bytes::new(lost));
}

/// `slowstart_on_spurious`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_spurious(controller: *mut Controller) {
    core(controller).on_spurious();
}

/// `slowstart_on_mtu`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_on_mtu(controller: *mut Controller, datagram: u64) {
    core(controller).on_mtu(Bytes::new(datagram));
}

/// `slowstart_window`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_window(controller: *const Controller) -> u64 {
    core(controller.cast_mut()).window().cwnd.get()
}

/// `slowstart_threshold`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_threshold(controller: *const Controller) -> u64 {
    core(controller.cast_mut()).window().ssthresh.get()
}

/// `slowstart_pace`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_pace(controller: *const Controller) -> u64 {
    let pace = core(controller.cast_mut()).pace();
    pace.map_or(UNKNOWN, |pace| pace.rate.bytes_per_sec())
}

/// `slowstart_exited`.
#[allow(unsafe_code, reason = "C finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn slowstart_exited(controller: *const Controller, exit: *mut Exit) -> u32 {
    let Some(found) = core(controller.cast_mut()).slow_start_exit() else {
        return 0;
    };
    #[allow(unsafe_code, reason = "the pointer comes from C")]
    // SAFETY: the header: it is NULL or valid during the call.
    if let Some(exit) = unsafe { exit.as_mut() } {
        *exit = Exit {
            at: found.at.as_nanos(),
            cwnd: found.cwnd.get(),
            reason: word(found.reason.name()),
        };
    }
    1
}

/// The word as a C string that lives as long as the program; there are few.
fn word(name: &'static str) -> *const c_char {
    use std::ffi::CString;
    use std::sync::{Mutex, PoisonError};

    static WORDS: Mutex<Vec<(&'static str, &'static CStr)>> = Mutex::new(Vec::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, word)) = words.iter().find(|(known, _)| *known == name) {
        return word.as_ptr();
    }
    let word: &'static CStr = Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str());
    words.push((name, word));
    word.as_ptr()
}
