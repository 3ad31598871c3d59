//! `fairways top` on a terminal.

#![allow(clippy::unwrap_used)]

#[path = "../daemon/common.rs"]
#[allow(dead_code)]
mod common;
mod hang_up;
#[path = "../daemon/running.rs"]
#[allow(dead_code)]
mod running;
mod terminal;
mod watches;
