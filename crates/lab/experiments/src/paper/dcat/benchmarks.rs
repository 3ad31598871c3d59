//! Table 3's benchmarks, and the profiles that stand for them.

use fairways_profiles::ProfileTable;
use fairways_profiles::corpus::counterpart;

use super::claims;
use crate::paper::{ClaimName, Finding};

/// The paper's benchmarks: Table 3's claim, and the profile that stands for each. There is one
/// profile for the inputs of gcc.
pub(super) const BENCHMARKS: [(ClaimName, &str); 20] = [
    (claims::MCF, "mcf06"),
    (claims::BZIP2, "bzip206"),
    (claims::SPHINX3, "sphinx306"),
    (claims::SOPLEX, "soplex06"),
    (claims::LBM, "lbm06"),
    (claims::BWAVES, "bwaves06"),
    (claims::GAMESS, "gamess06"),
    (claims::MILC, "milc06"),
    (claims::ZEUSMP, "zeusmp06"),
    (claims::GROMACS, "gromacs06"),
    (claims::CACTUS_ADM, "cactusADM06"),
    (claims::LESLIE3D, "leslie3d06"),
    (claims::OMNETPP, "omnetpp06"),
    (claims::LIBQUANTUM, "libquantum06"),
    (claims::GEMS_FDTD, "GemsFDTD06"),
    (claims::XALANCBMK, "xalancbmk06"),
    (claims::GCC_166, "gcc06"),
    (claims::GCC_G23, "gcc06"),
    (claims::GCC_SCILAB, "gcc06"),
    (claims::ASTAR, "astar06"),
];

/// A row and its profile, given by the index of the table and of the program in it.
#[derive(Clone, Debug)]
pub(super) struct SpecRow {
    pub(super) name: String,
    /// Table 3's claim; `None` if it is no benchmark of the paper.
    pub(super) ceiling: Option<ClaimName>,
    pub(super) profile: (usize, usize),
}

/// The programs of Figure 17.
#[derive(Clone, Debug)]
pub(super) struct SpecPrograms<'a> {
    pub(super) tables: Vec<&'a ProfileTable>,
    pub(super) rows: Vec<SpecRow>,
}

impl<'a> SpecPrograms<'a> {
    /// The benchmarks that a table has; other programs if it does not have the first.
    pub(super) fn of(table: &'a ProfileTable) -> Self {
        let is_measured = table.find(BENCHMARKS[0].1).is_some();
        let rows = if is_measured {
            BENCHMARKS
                .iter()
                .filter_map(|&(ceiling, profile)| Some(benchmark(ceiling, 0, table.find(profile)?)))
                .collect()
        } else {
            let names = table.names().iter().take(BENCHMARKS.len());
            names
                .zip(0..)
                .map(|(name, index)| SpecRow {
                    name: name.clone(),
                    ceiling: None,
                    profile: (0, index),
                })
                .collect()
        };
        Self { tables: vec![table], rows }
    }

    /// The benchmarks that live on, from the corpus, and the other ones that `measured` has.
    pub(super) fn on_corpus(corpus: &'a ProfileTable, measured: &'a ProfileTable) -> Self {
        let rows = BENCHMARKS.iter().filter_map(|&(ceiling, profile)| {
            match living(profile).and_then(|own| corpus.find(own)) {
                Some(index) => Some(benchmark(ceiling, 0, index)),
                None => Some(benchmark(ceiling, 1, measured.find(profile)?)),
            }
        });
        Self { rows: rows.collect(), tables: vec![corpus, measured] }
    }

    /// Whether a value involves a program of the corpus: a row of its own, or a mean.
    pub(super) fn has_part_in(&self, found: &Finding) -> bool {
        match (found.item.as_str(), self.row_of(&found.case)) {
            ("Table 3" | "Figure 17", Some(row)) => row.lives_on(),
            ("Figure 17", None) => self.rows.iter().any(SpecRow::lives_on),
            _ => false,
        }
    }

    /// Whether a value also involves other programs: a mean may.
    pub(super) fn is_partial(&self, found: &Finding) -> bool {
        self.row_of(&found.case).is_none() && !self.rows.iter().all(SpecRow::lives_on)
    }

    /// The row of a case, which begins with the benchmark's name.
    fn row_of(&self, case: &str) -> Option<&SpecRow> {
        let benchmark = name_in(case);
        self.rows.iter().find(|row| row.name == benchmark)
    }
}

impl SpecRow {
    /// Whether its program is the corpus'.
    fn lives_on(&self) -> bool {
        self.profile.0 == 0
    }
}

/// The row of a benchmark of Table 3.
fn benchmark(ceiling: ClaimName, table: usize, index: usize) -> SpecRow {
    let name = name_in(ceiling.case).to_owned();
    SpecRow { name, ceiling: Some(ceiling), profile: (table, index) }
}

/// The benchmark's name, with which a case begins.
fn name_in(case: &str) -> &str {
    case.split(',').next().unwrap_or_default()
}

/// The living counterpart of a profile of SPEC CPU 2006, such as `mcf06`.
fn living(profile: &str) -> Option<&'static str> {
    counterpart(profile.strip_suffix("06")?)
}

#[cfg(test)]
mod tests {
    use fairways_profiles::corpus::CorpusMachine;

    use super::*;
    use crate::paper::Findings;
    use crate::paper::ground::corpus_table;

    /// A benchmark that lives on is a row with its counterpart's profile; gcc's inputs share one.
    #[test]
    fn the_benchmarks_that_live_on_are_rows() {
        let corpus = corpus_table(CorpusMachine::Broadwell);
        let programs = SpecPrograms::on_corpus(corpus, fairways_profiles::embedded());
        let program = |start: &str| {
            let row = programs.rows.iter().find(|row| row.name == start)?;
            Some(corpus.names()[row.profile.1].as_str())
        };
        let found = ["mcf", "bzip2", "gcc 166", "gcc scilab", "omnetpp"].map(program);
        assert_eq!(found, [Some("lemon-mcf"), Some("bzip2"), Some("cc1"), Some("cc1"), None]);
    }

    /// A benchmark that does not live on has no value; a mean that has one is partial.
    #[test]
    fn means_of_other_programs_too_are_partial() {
        let corpus = corpus_table(CorpusMachine::Broadwell);
        let mut programs = SpecPrograms::on_corpus(corpus, fairways_profiles::embedded());
        programs.rows.push(benchmark(claims::OMNETPP, 1, 0));
        let mut findings = Findings::default();
        findings.add(claims::MCF, 4.0);
        findings.add_beside("Figure 17", "mcf, dCat over static", "percent", Some(4.0));
        findings.add(claims::MEAN_OVER_STATIC, 4.0);
        findings.add(claims::OMNETPP, 4.0);
        findings.add(claims::SPEC_BASELINE, 4.0);
        findings.0.retain(|found| programs.has_part_in(found));
        findings.mark_partial(|found| programs.is_partial(found));
        let partial: Vec<bool> = findings.0.iter().map(|found| found.is_partial).collect();
        assert_eq!(partial, [false, false, true]);
    }
}
