//! The client of resctrl on the emulator, whose files obey the kernel's rules.

#![allow(clippy::unwrap_used)]

mod adopted;
mod claimed;
mod common;
mod cost;
mod counters;
mod crash;
mod faults;
mod kernels;
mod ledgers;
mod left_behind;
mod levels;
mod limits;
mod machines;
mod others;
mod plans;
mod random;
mod replaced;
mod sealed;
mod shown;
mod staying;
mod threads;
mod withheld;
