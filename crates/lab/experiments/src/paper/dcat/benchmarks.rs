//! Table 3's benchmarks, and the profiles that stand for them.

use fairways_corpus::counterpart;
use fairways_profiles::ProfileTable;

use crate::paper::Finding;

/// The paper's benchmarks: Table 3's name, and the profile that stands for each. There is one
/// profile for the inputs of gcc.
pub(super) const BENCHMARKS: [(&str, &str); 20] = [
    ("mcf, ceiling of ways (both)", "mcf06"),
    ("bzip2, ceiling of ways (interference)", "bzip206"),
    ("sphinx3, ceiling of ways (capacity)", "sphinx306"),
    ("soplex, ceiling of ways (both)", "soplex06"),
    ("lbm, ceiling of ways (capacity)", "lbm06"),
    ("bwaves, ceiling of ways (both)", "bwaves06"),
    ("gamess, ceiling of ways (capacity)", "gamess06"),
    ("milc, ceiling of ways (capacity)", "milc06"),
    ("zeusmp, ceiling of ways (capacity)", "zeusmp06"),
    ("gromacs, ceiling of ways (interference)", "gromacs06"),
    ("cactusADM, ceiling of ways (capacity)", "cactusADM06"),
    ("leslie3d, ceiling of ways (both)", "leslie3d06"),
    ("omnetpp, ceiling of ways (capacity)", "omnetpp06"),
    ("libquantum, ceiling of ways (capacity)", "libquantum06"),
    ("GemsFDTD, ceiling of ways (both)", "GemsFDTD06"),
    ("xalancbmk, ceiling of ways (both)", "xalancbmk06"),
    ("gcc 166, ceiling of ways (both)", "gcc06"),
    ("gcc g23, ceiling of ways (both)", "gcc06"),
    ("gcc scilab, ceiling of ways (interference)", "gcc06"),
    ("astar biglake2048, ceiling of ways (both)", "astar06"),
];

/// A row, and its profile: the table's place, and the program's in it.
#[derive(Clone, Debug)]
pub(super) struct SpecRow {
    pub(super) name: String,
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
                .filter_map(|&(name, profile)| row(name, 0, table.find(profile)?))
                .collect()
        } else {
            let names = table.names().iter().take(BENCHMARKS.len());
            names.zip(0..).filter_map(|(name, index)| row(name, 0, index)).collect()
        };
        Self { tables: vec![table], rows }
    }

    /// The benchmarks that live on, from the corpus, and those others that `measured` has.
    pub(super) fn on_corpus(corpus: &'a ProfileTable, measured: &'a ProfileTable) -> Self {
        let rows = BENCHMARKS.iter().filter_map(|&(name, profile)| {
            match living(profile).and_then(|own| corpus.find(own)) {
                Some(index) => row(name, 0, index),
                None => row(name, 1, measured.find(profile)?),
            }
        });
        Self { rows: rows.collect(), tables: vec![corpus, measured] }
    }

    /// Whether a program of the corpus has a part in a value: a row of its own, or a mean.
    pub(super) fn has_part_in(&self, found: &Finding) -> bool {
        match (found.item.as_str(), self.row_of(&found.case)) {
            ("Table 3" | "Figure 17", Some(row)) => row.lives_on(),
            ("Figure 17", None) => self.rows.iter().any(SpecRow::lives_on),
            _ => false,
        }
    }

    /// Whether other programs have a part in it too: a mean's.
    pub(super) fn is_partial(&self, found: &Finding) -> bool {
        self.row_of(&found.case).is_none() && !self.rows.iter().all(SpecRow::lives_on)
    }

    /// The row of a case, which begins with the benchmark's name.
    fn row_of(&self, case: &str) -> Option<&SpecRow> {
        let benchmark = case.split(',').next();
        self.rows.iter().find(|row| row.name.split(',').next() == benchmark)
    }
}

impl SpecRow {
    /// Whether its program is the corpus'.
    fn lives_on(&self) -> bool {
        self.profile.0 == 0
    }
}

fn row(name: &str, table: usize, index: usize) -> Option<SpecRow> {
    Some(SpecRow { name: name.to_owned(), profile: (table, index) })
}

/// The living counterpart of a profile of SPEC CPU 2006, such as `mcf06`.
fn living(profile: &str) -> Option<&'static str> {
    counterpart(profile.strip_suffix("06")?)
}

#[cfg(test)]
mod tests {
    use fairways_corpus::CorpusMachine;

    use super::*;
    use crate::paper::Findings;
    use crate::paper::ground::corpus_table;

    /// A benchmark that lives on is a row with its counterpart's profile; gcc's inputs share one.
    #[test]
    fn the_benchmarks_that_live_on_are_rows() {
        let corpus = corpus_table(CorpusMachine::Broadwell);
        let programs = SpecPrograms::on_corpus(corpus, fairways_profiles::embedded());
        let program = |start: &str| {
            let row = programs.rows.iter().find(|row| row.name.starts_with(start))?;
            Some(corpus.names()[row.profile.1].as_str())
        };
        let found = ["mcf,", "bzip2,", "gcc 166,", "gcc scilab,", "omnetpp,"].map(program);
        assert_eq!(found, [Some("lemon-mcf"), Some("bzip2"), Some("cc1"), Some("cc1"), None]);
    }

    /// A benchmark that does not live on has no value; a mean that has one is partial.
    #[test]
    fn means_of_other_programs_too_are_partial() {
        let corpus = corpus_table(CorpusMachine::Broadwell);
        let mut programs = SpecPrograms::on_corpus(corpus, fairways_profiles::embedded());
        programs.rows.extend(row("omnetpp, ceiling of ways (capacity)", 1, 0));
        let mut findings = Findings::default();
        findings.add("Table 3", "mcf, ceiling of ways (both)", 4.0);
        findings.add("Figure 17", "mcf, dCat over static", 4.0);
        findings.add("Figure 17", "geometric mean over static", 4.0);
        findings.add("Table 3", "omnetpp, ceiling of ways (capacity)", 4.0);
        findings.add("§5.2", "SPEC and server experiments: baseline", 4.0);
        findings.0.retain(|found| programs.has_part_in(found));
        findings.mark_partial(|found| programs.is_partial(found));
        let partial: Vec<bool> = findings.0.iter().map(|found| found.is_partial).collect();
        assert_eq!(partial, [false, false, true]);
    }
}
