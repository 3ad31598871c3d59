//! The daemon as its service manager, its administrator and its enemies see it, on the emulator.

#![allow(clippy::unwrap_used)]

#[path = "daemon/asked.rs"]
mod asked;
#[path = "daemon/buckets.rs"]
mod buckets;
#[path = "daemon/common.rs"]
mod common;
#[path = "daemon/journals.rs"]
mod journals;
#[path = "daemon/killed.rs"]
mod killed;
#[path = "daemon/notify.rs"]
mod notify;
#[path = "daemon/observed.rs"]
mod observed;
#[path = "daemon/redis.rs"]
mod redis;
#[path = "daemon/running.rs"]
mod running;
#[path = "daemon/scanned.rs"]
mod scanned;
#[path = "daemon/times.rs"]
mod times;
#[path = "daemon/tried.rs"]
mod tried;
#[path = "daemon/unmatched.rs"]
mod unmatched;
#[path = "daemon/week.rs"]
mod week;
