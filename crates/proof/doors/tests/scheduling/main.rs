//! `fairways run` under policies that schedule, on this machine's own kernel: threads that spin,
//! and profiles in place of counters. Where fairways is built with `sched-ext`, this program also
//! boots a kernel that has it, and runs there in it ([`in_lab`]).

#![allow(clippy::unwrap_used)]

mod cache_fair;
mod casc;
mod chip;
mod daemon;
mod doctor;
#[cfg(feature = "sched-ext")]
mod in_lab;
mod journal;
mod left;
mod profiles;
mod threads;
