//! The clock and the random numbers of this process, in place of those of the C library,
//! which quiche and BoringSSL call themselves.

use std::cell::Cell;

use libc::{c_int, c_long, c_uint, c_void, clockid_t, size_t, ssize_t, time_t, timespec};

/// Monotonic time begins at an hour, because programs take 0 for "never".
const START: u64 = 3_600;
/// Real time begins at 2026-01-01 00:00:00 UTC.
const EPOCH: u64 = 1_767_225_600;
const SECOND: u64 = 1_000_000_000;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// Sets the time, in nanoseconds of the run.
pub fn set_time(now: u64) {
    NOW.set(now);
}

/// The time, in nanoseconds of the run.
pub fn time() -> u64 {
    NOW.get()
}

/// The time since the run began.
pub fn since_start() -> std::time::Duration {
    std::time::Duration::from_nanos(NOW.get())
}

/// Adds a seed to the state of the random numbers.
pub fn seed(seed: &[u8; 32]) {
    for part in seed.chunks_exact(8) {
        let part = u64::from_le_bytes(part.try_into().unwrap_or_default());
        RANDOM.set(next() ^ part);
    }
}

/// SplitMix64: nothing here is secret.
fn next() -> u64 {
    let state = RANDOM.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    RANDOM.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// # Safety
/// `to` has room for `length` bytes.
unsafe fn fill(to: *mut u8, length: usize) {
    for at in 0..length {
        // SAFETY: `at` is below `length`.
        unsafe { to.add(at).write(next() as u8) };
    }
}

/// # Safety
/// `to` has room for one time.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
    let start = if clock == libc::CLOCK_REALTIME {
        EPOCH
    } else {
        START
    };
    let now = NOW.get();
    let time = timespec {
        tv_sec: (start + now / SECOND) as time_t,
        tv_nsec: (now % SECOND) as _,
    };
    // SAFETY: the caller has room for it.
    unsafe { to.write(time) };
    0
}

/// # Safety
/// `to` has room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(to: *mut c_void, length: size_t, _flags: c_uint) -> ssize_t {
    // SAFETY: the caller has room for them.
    unsafe { fill(to.cast(), length) };
    length as ssize_t
}

/// The C library's `syscall`, by which BoringSSL asks for random numbers and std waits.
///
/// # Safety
/// As that of the system call.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    if number == libc::SYS_getrandom {
        // SAFETY: the caller has room for them.
        unsafe { fill(first as *mut u8, second) };
        return second as c_long;
    }
    let result: c_long;
    // SAFETY: the caller's arguments are passed on as the kernel takes them.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") first, in("rsi") second, in("rdx") third,
            in("r10") fourth, in("r8") fifth, in("r9") sixth,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    if (-4095..0).contains(&result) {
        // SAFETY: errno of this thread.
        unsafe { *libc::__errno_location() = -result as c_int };
        return -1;
    }
    result
}
