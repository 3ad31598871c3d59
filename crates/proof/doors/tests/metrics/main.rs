//! The daemon's metrics, as Prometheus and its tools see them, on the emulator.

#![allow(clippy::unwrap_used)]

#[path = "../daemon/common.rs"]
#[allow(dead_code, reason = "what other tests do with it")]
mod common;
mod dashboard;
mod fleet;
mod managed;
mod page;
mod prometheus;
mod requests;
#[path = "../daemon/running.rs"]
#[allow(dead_code, reason = "what other tests do with it")]
mod running;
mod scheduling;
mod values;
