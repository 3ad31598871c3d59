//! A journal, of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairways_daemon::fuzz::journal(bytes));
