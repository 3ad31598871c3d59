//! An answer of HTTP, of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairways_latency::fuzz::answer(bytes));
