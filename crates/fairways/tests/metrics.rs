//! The daemon's metrics, as Prometheus and its tools see them, on the emulator.

#![allow(clippy::unwrap_used)]

#[path = "metrics/asked.rs"]
mod asked;
#[path = "daemon/common.rs"]
#[allow(dead_code, reason = "what other tests do with it")]
mod common;
#[path = "metrics/dashboard.rs"]
mod dashboard;
#[path = "metrics/managed.rs"]
mod managed;
#[path = "metrics/page.rs"]
mod page;
#[path = "metrics/prometheus.rs"]
mod prometheus;
#[path = "daemon/running.rs"]
#[allow(dead_code, reason = "what other tests do with it")]
mod running;
#[path = "metrics/scheduling.rs"]
mod scheduling;
#[path = "metrics/told.rs"]
mod told;
