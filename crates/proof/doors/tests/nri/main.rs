//! The daemon as a plugin of a container runtime: NRI's own runtime side, in a program that plays
//! the runtime, and resctrl of the emulator.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "what other tests do with it")]
#[path = "../daemon/common.rs"]
mod common;
mod place;
mod places;
mod restarts;
#[allow(dead_code, reason = "what other tests do with it")]
#[path = "../daemon/running.rs"]
mod running;
mod runtime;
mod starts;
mod wishes;
