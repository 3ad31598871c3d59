//! Requests at the daemon's control socket, of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairways_daemon::fuzz::request(bytes));
