//! `fairways top` on a terminal.

#![allow(clippy::unwrap_used)]

#[path = "daemon/common.rs"]
#[allow(dead_code)]
mod common;
#[path = "top/hang_up.rs"]
mod hang_up;
#[path = "daemon/running.rs"]
#[allow(dead_code)]
mod running;
#[path = "top/terminal.rs"]
mod terminal;
#[path = "top/watches.rs"]
mod watches;
