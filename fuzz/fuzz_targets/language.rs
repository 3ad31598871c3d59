//! The parsers of resctrl's files, on any bytes.
#![no_main]

#[path = "../../crates/resctrl/tests/rules/language.rs"]
mod language;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| language::language(bytes));
