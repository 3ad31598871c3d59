//! The real Linux machine: a host's programs, whose shares of its last-level caches are set through
//! resctrl.
//!
//! - [`fairways_resctrl_client`]: the client of resctrl. It plans around what exists already, and
//!   records every change before making it, so that it can be undone.
//! - [`fairways_programs`]: which programs to manage, and their arrivals, threads and exits.
//! - [`fairways_perf`]: the counters of programs, from perf or another source.
//! - [`fairways_latency`]: the latencies of services.
//! - [`clock`]: the host's time, or an emulator's.
//! - [`emulated`]: an emulator's counters and services, and the connection to it.
//! - [`fairways_turns`]: where threads run, and for how long.
//! - [`machine`]: all of it as policies see it, a domain at a time.

pub mod clock;
pub mod emulated;
pub mod machine;
