#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::recorded_trace(data));
