//! Mixes of programs under several policies, compared on the model.

pub mod csv;
pub mod drawing;
pub mod json;
pub mod table;

use fairways_core::Ways;
use fairways_experiments::{Comparison, LiveComparison};
use fairways_profiles::{Mix, ProgramCatalog};

/// Mixes under several policies.
#[derive(Debug)]
pub struct ComparedMixes<'a> {
    /// The programs of all mixes.
    pub programs: &'a ProgramCatalog,
    /// The ways of the cache, or of each of several.
    pub ways: &'a [Ways],
    /// The names of the policies.
    pub policies: &'a [&'static str],
    /// How each mix fares.
    pub results: Results<'a>,
    /// Whether the plans that are scored are those on which policies settled over time.
    pub is_settled: bool,
}

/// Every mix, compared.
#[derive(Debug)]
pub enum Results<'a> {
    /// By the model's score of the plans.
    Scored(Vec<(&'a Mix, Comparison)>),
    /// By the programs' speed over time.
    Live(Vec<(&'a Mix, LiveComparison)>),
}
