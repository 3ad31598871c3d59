//! Services: programs that answer requests.
//!
//! A request arrives according to the [`RequestLoad`], waits until earlier requests are answered,
//! and is answered once the service has run its instructions, whose addresses are the program's.
//! How long that takes depends on hits and misses. Its latency is the time from arrival to answer.
//! Between requests the core is idle, and counts no cycles.
//!
//! A service has one thread. The arrivals and sizes of requests are drawn independently of
//! everything else: every policy sees the same requests, at the same times where the load is open.

mod arrivals;
mod load;
mod request;
mod serving;
mod text;

pub use hdrhistogram::Histogram;
pub use load::{RequestLoad, Stage};
pub use request::{RequestKind, RequestSizes, Requests};
pub use text::{LOADS, LoadError, parse_loads};

pub(crate) use serving::{RunningService, histogram};
pub(crate) use text::time_of;
