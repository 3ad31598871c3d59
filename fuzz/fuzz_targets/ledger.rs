//! The ledgers of resctrl and of threads, of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fairways_resctrl_client::fuzz(bytes);
    fairways_turns::ledger::fuzz(bytes);
});
