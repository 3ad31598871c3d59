//! A page of metrics that a service answers, of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairways_latency::fuzz::page(bytes));
