//! Services: programs that answer requests.
//!
//! A request comes when the [`Load`] says so, waits until those that came before it are answered, and is answered
//! once the service has run its instructions, whose addresses are the program's. How long that takes is up to what they
//! find in the caches; from its coming to its answer is its latency. In between the core is idle, and counts no cycles.
//!
//! A service has one thread. When requests come and how many instructions they take is drawn apart from
//! everything else: under every policy the same requests come, and at the same times where the load is open.

mod arrivals;
mod load;
mod request;
mod serving;
mod text;

pub use hdrhistogram::Histogram;
pub use load::{Load, Stage};
pub use request::{Kind, Requests, Sizes};
pub use text::{LOADS, LoadError, parse_loads};

pub(crate) use serving::{Serving, histogram};
