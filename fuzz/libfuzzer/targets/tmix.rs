#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::connection_vectors(data));
