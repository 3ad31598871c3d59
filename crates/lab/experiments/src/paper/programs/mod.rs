//! The programs of CASC's and Cache-fair's experiments: models of the papers' benchmarks, or real
//! programs.

mod counterparts;
mod resized;

use std::sync::{Arc, LazyLock};

use fairways_chip::program::named;
use fairways_chip::{Geometry, Job, Phase, SimulatedProgram};
use fairways_core::Time;
use fairways_profiles::ProfileTable;
use fairways_profiles::corpus::CorpusMachine;

use super::ground::corpus_table;
use super::{Findings, Ground};
use counterparts::Counterpart;

/// The corpus' profiles, with 48 KB to 1.5 MB of L2.
static TABLE: LazyLock<&'static ProfileTable> =
    LazyLock::new(|| corpus_table(CorpusMachine::Small));

static COUNTERPARTS: LazyLock<Vec<Counterpart>> = LazyLock::new(|| {
    counterparts::choose(
        &TABLE,
        fairways_profiles::corpus::counterpart,
        fairways_profiles::corpus::is_ours,
    )
});

/// A program of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BenchProgram {
    /// The model of this name, such as art (art-like, [`named`]).
    Model(&'static str),
    /// The real program with this index in the corpus' profiles.
    Real(usize),
}

impl BenchProgram {
    /// The program for a paper's benchmark on a ground.
    pub(super) fn of_benchmark(name: &'static str, ground: Ground) -> Self {
        let counterpart = match ground {
            Ground::Models => None,
            Ground::Corpus => COUNTERPARTS.iter().find(|found| found.benchmark == name),
        };
        counterpart.and_then(|found| found.program).map_or(Self::Model(name), Self::Real)
    }

    /// All real programs.
    pub(super) fn every_real() -> impl Iterator<Item = Self> {
        (0..TABLE.names().len()).map(Self::Real)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Model(name) => name,
            Self::Real(program) => &TABLE.names()[program],
        }
    }

    /// A job of it on a chip, which starts at this time.
    pub(super) fn job(self, chip: &Geometry, at: Time) -> Job {
        self.overlapping(chip, at, 1.0)
    }

    /// The same on a core that can have this many of its misses under way at once.
    pub(super) fn overlapping(self, chip: &Geometry, at: Time, overlap: f64) -> Job {
        let program = match self {
            Self::Model(name) => named(&format!("{name}-like"))
                .map(|program| SimulatedProgram { overlap, ..program }),
            Self::Real(program) => resized::simulated(&TABLE, program, chip, overlap),
        };
        let program = program.expect("a program of the experiments");
        let phase = Phase { program: Some(Arc::new(program)), length: None };
        Job { phases: vec![phase], at, ..Job::default() }
    }

    /// Stores of a real program per 1000 instructions that hit its L1; of a model none, because
    /// they are among its references.
    pub(super) fn stores_per_kilo(self) -> f64 {
        match self {
            Self::Model(_) => 0.0,
            Self::Real(program) => resized::stores_per_kilo(&TABLE, program),
        }
    }

    /// Misses of a real program per 1000 cycles by itself on a chip.
    pub(super) fn misses_per_kilocycle(self, chip: &Geometry) -> Option<f64> {
        match self {
            Self::Model(_) => None,
            Self::Real(program) => Some(resized::misses_per_kilocycle(&TABLE, program, chip)),
        }
    }
}

/// Adds the program that replaces each of these benchmarks.
pub(super) fn add_counterparts(benchmarks: &[&'static str], findings: &mut Findings) {
    for &name in benchmarks {
        let text = match BenchProgram::of_benchmark(name, Ground::Corpus) {
            BenchProgram::Model(_) => "its model".to_owned(),
            real @ BenchProgram::Real(_) => real.name().to_owned(),
        };
        findings.add_text_beside("Real programs", &format!("for {name}"), text);
    }
}

#[cfg(test)]
mod tests {
    use fairways_chip::preset::preset;

    use super::*;

    #[test]
    fn every_profiled_program_can_run_and_benchmarks_have_theirs() {
        let chip = preset("t1").expect("a preset");
        for program in BenchProgram::every_real() {
            assert_eq!(program.job(&chip, Time::ZERO).phases.len(), 1);
        }
        for (benchmark, expected) in
            [("gcc", "cc1"), ("gzip", "gzip"), ("mcf", "lemon-mcf"), ("berkeley-db", "sqlite3")]
        {
            let [model, real] =
                Ground::ALL.map(|ground| BenchProgram::of_benchmark(benchmark, ground));
            assert_eq!((model, real.name()), (BenchProgram::Model(benchmark), expected));
        }
    }
}
