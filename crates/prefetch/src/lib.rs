//! Asks the processor for memory before it is used.
//!
//! A simulation of many flows waits for memory most of the time: the state of a flow that was used a
//! million packets ago is in no cache. The event loop knows which flows come next, and asks for their
//! state while it handles the packets before them. A request changes no value: results are the same
//! with and without it. Where the processor's instruction is not known, nothing is asked.

#![no_std]

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Asks for the whole `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let first = core::ptr::from_ref(value).cast::<i8>();
    let mut offset = 0;
    while offset < size_of::<T>() {
        ask(first.wrapping_add(offset));
        offset += LINE;
    }
}

/// Asks for the line at `address`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask(address: *const i8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of every processor of this architecture (SSE). It reads nothing
    // that the program sees, and raises no fault, whatever the address is.
    #[allow(unsafe_code, reason = "no safe function asks for memory")]
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask(_address: *const i8) {}
