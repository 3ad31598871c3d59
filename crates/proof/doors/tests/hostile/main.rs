//! Attacks of a neighbor on the same host: nothing is lost, and no limit that others set is lifted.

#![allow(clippy::unwrap_used)]

mod answers;
#[allow(dead_code)]
#[path = "../daemon/common.rs"]
mod common;
mod configuration;
mod health;
mod inputs;
mod latency;
mod limits;
mod lock;
mod monitors;
mod names;
mod privilege;
mod replaced;
#[allow(dead_code)]
#[path = "../daemon/running.rs"]
mod running;
mod slow_end;
mod state;
mod traced;
