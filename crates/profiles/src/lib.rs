//! Profiles of programs measured alone, and what they say of a mix that shares a cache.
//!
//! A [`Table`] holds, for every program and number of ways, what counters showed when it ran
//! alone with those ways. [`Scorer`] says how a mix of them would fare under any partition: the
//! published model of the PBBCache simulator, which LFOC §3 rests on, extended to masks that
//! overlap. [`Metrics`] sums that up. [`Programs`] are a table's and those that change what they do
//! while they run. Nothing here knows a policy.
//!
//! ```
//! use fairways_core::WayMask;
//! use fairways_profiles::{Metrics, Scorer, embedded};
//!
//! let table = embedded();
//! let mix = ["triad", "hash-join"].map(|name| table.find(name).expect("an embedded program"));
//! let mut scorer = Scorer::new(table, &mix, table.ways(), None);
//! let shared = Metrics::of(scorer.score(&[WayMask::full(table.ways()); 2])?);
//! let apart = Metrics::of(scorer.score(&[WayMask::span(0, 1), WayMask::span(1, 19)])?);
//! assert!(apart.unfairness < shared.unfairness);
//! # Ok::<(), fairways_profiles::DemandError>(())
//! ```

mod average;
mod bandwidth;
mod embedded;
mod error;
pub mod generate;
mod metrics;
mod mixes;
mod phased;
mod program;
mod programs;
mod read;
mod read_phased;
mod records;
mod score;
mod series;
mod table;
mod write;

pub use bandwidth::{Bandwidth, BandwidthModel, Demand, DemandError};
pub use embedded::{EMBEDDED_CSV, embedded, embedded_programs};
pub use error::InputError;
pub use metrics::Metrics;
pub use mixes::{Mix, read_mixes};
pub use phased::{Phase, Phased};
pub use program::{Program, Rates, contend, divide};
pub use programs::Programs;
pub use read::read_table;
pub use read_phased::read_phased;
pub use score::Scorer;
pub use table::{Metric, Table};
pub use write::write_table;
