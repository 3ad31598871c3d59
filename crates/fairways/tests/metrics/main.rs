//! The daemon's metrics, as Prometheus and its tools see them, on the emulator.

#![allow(clippy::unwrap_used)]

mod asked;
#[path = "../daemon/common.rs"]
#[allow(dead_code, reason = "what other tests do with it")]
mod common;
mod dashboard;
mod managed;
mod page;
mod prometheus;
#[path = "../daemon/running.rs"]
#[allow(dead_code, reason = "what other tests do with it")]
mod running;
mod scheduling;
mod values;
