//! Profiles of programs measured alone, and predictions for mixes that share a cache.
//!
//! A [`ProfileTable`] has, for every program and number of ways, the counters of a run alone with
//! those ways. [`Scorer`] predicts the slowdowns of a mix under any partition: the published model
//! of the PBBCache simulator, which LFOC §3 rests on, extended to masks that overlap.
//! [`FairnessMetrics`] summarises the slowdowns. A [`ProgramCatalog`] has a table's programs and
//! programs of several phases. Nothing here depends on a policy.
//!
//! ```
//! use fairways_core::WayMask;
//! use fairways_profiles::{FairnessMetrics, Scorer, embedded};
//!
//! let table = embedded();
//! let mix = ["triad", "hash-join"].map(|name| table.find(name).expect("an embedded program"));
//! let mut scorer = Scorer::new(table, &mix, table.ways(), None);
//! let shared = scorer.score(&[WayMask::full(table.ways()); 2])?;
//! let shared = FairnessMetrics::from_slowdowns(shared);
//! let apart = scorer.score(&[WayMask::span(0, 1), WayMask::span(1, 19)])?;
//! let apart = FairnessMetrics::from_slowdowns(apart);
//! assert!(apart.unfairness < shared.unfairness);
//! # Ok::<(), fairways_profiles::DemandError>(())
//! ```

mod average;
mod bandwidth;
pub mod corpus;
mod embedded;
mod error;
pub mod generate;
mod measured_run;
mod metrics;
mod mixes;
mod phased;
mod placed;
mod program;
mod programs;
mod read;
mod read_phased;
mod records;
mod score;
mod series;
mod sizes;
mod stream;
mod table;
mod write;

pub use bandwidth::{BandwidthModel, Demand, DemandError, MemoryBandwidth};
pub use embedded::{EMBEDDED_CSV, embedded, embedded_programs};
pub use error::InputError;
pub use measured_run::{MeasuredRun, hexadecimal};
pub use metrics::FairnessMetrics;
pub use mixes::{Mix, read_mixes};
pub use phased::{PhasedProgram, ProgramPhase};
pub use placed::PlacedScorer;
pub use program::{ProfiledProgram, ProgramRates, divide};
pub use programs::ProgramCatalog;
pub use read::{read_table, read_table_to_score};
pub use read_phased::read_phased;
pub use records::{NAME_RULE, is_name};
pub use score::Scorer;
pub use sizes::between_ways;
pub use stream::{
    MOST_STREAM_LINES, OverlapEstimate, RecordedStream, StreamBlock, StreamBlockContent,
    StreamError, StreamEvent, StreamEventKind, StreamManifest, StreamTotals, StreamWriter,
};
pub use table::{ProfileMetric, ProfileTable};
pub use write::write_table;
