//! Hosts whose policies schedule threads, on CPUs that are made up: which thread runs where, and
//! when, follows from the requests, to the nanosecond.

#![allow(clippy::unwrap_used)]

mod bench;
mod cpus;
mod policies;
mod threads;
