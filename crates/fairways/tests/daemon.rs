//! The daemon as its service manager, its administrator and its enemies see it, on the emulator.

#![allow(clippy::unwrap_used)]

#[path = "daemon/common.rs"]
mod common;
#[path = "daemon/killed.rs"]
mod killed;
