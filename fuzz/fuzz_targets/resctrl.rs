//! Writes to resctrl's files, of any bytes.
#![no_main]
#![allow(dead_code)] // What the project's own tests use of these is more.

#[path = "../../crates/lab/resctrl-rules/tests/rules/shell.rs"]
mod shell;
#[path = "../../crates/lab/resctrl-rules/tests/rules/sound.rs"]
mod sound;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sound::writes(bytes));
