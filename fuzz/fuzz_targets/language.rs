//! The parsers of resctrl's files, on any bytes.
#![no_main]

#[path = "../../crates/base/resctrl/tests/language/properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::language(bytes));
