//! The parser of profiles files, on any bytes.
#![no_main]

#[path = "../../crates/lab/profiles/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::profiles(bytes));
