//! Hosts whose policies schedule threads, on CPUs that are made up: who runs there when follows from what is asked, to the nanosecond.

#![allow(clippy::unwrap_used)]

mod bench;
mod cpus;
mod policies;
mod threads;
