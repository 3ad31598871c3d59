//! `fairways-lab report`: results of simulations as sections of an HTML page. docs/report.md
//! describes it.

mod chip;
mod paper;
mod policies;
mod profile;
mod recognise;
mod run;
mod services;
mod simulate;

use fairways_experiments::blame::memory_latency_of;
use fairways_page::Recogniser;

/// Recognises the results of simulations.
pub const RECOGNISER: Recogniser = Recogniser {
    expected: recognise::EXPECTED,
    latency: memory_latency_of,
    other: recognise::section,
};
