//! The programs that a mix can name.

use std::collections::HashMap;

use fairways_core::Profile;

use crate::Mix;
use crate::average::average;
use crate::phased::{PhasedProgram, ProgramPhase};
use crate::table::ProfileTable;

/// The programs that a mix can name: a table's programs, and phased programs made of them.
///
/// The table's programs come first, each as one phase to the end of the run; the phased programs
/// follow.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramCatalog {
    table: ProfileTable,
    /// The table's programs, then the phased ones.
    programs: Vec<PhasedProgram>,
    by_name: HashMap<String, usize>,
}

impl ProgramCatalog {
    /// The programs of `table`, and after them `phased` in the same order.
    ///
    /// # Panics
    /// If two programs have the same name, or a phased program breaks the rules of [`ProgramPhase`]
    /// and [`PhasedProgram`]; [`read_phased`](crate::read_phased) returns only valid ones.
    #[must_use]
    pub fn new(table: ProfileTable, phased: Vec<PhasedProgram>) -> Self {
        for PhasedProgram { name, phases } in &phased {
            assert!(!phases.is_empty(), "{name:?} has no phase");
            assert!(
                phases.iter().all(|phase| phase.program < table.names().len()),
                "{name:?} has a phase that the table has not"
            );
            assert!(
                phases.iter().all(|phase| phase.instructions != Some(0)),
                "{name:?} has an empty phase"
            );
            let before = &phases[..phases.len() - 1];
            let ends = before.iter().any(|phase| phase.instructions.is_none());
            assert!(!ends, "{name:?} has a phase after the end of the run");
        }
        let constant = table.names().iter().enumerate().map(|(program, name)| PhasedProgram {
            name: name.clone(),
            phases: vec![ProgramPhase { program, instructions: None }],
        });
        let programs: Vec<PhasedProgram> = constant.chain(phased).collect();
        let by_name: HashMap<String, usize> =
            programs.iter().map(|program| program.name.clone()).zip(0..).collect();
        assert!(by_name.len() == programs.len(), "two programs have one name");
        Self { table, programs, by_name }
    }

    /// The table that the phases are of.
    #[must_use]
    pub fn table(&self) -> &ProfileTable {
        &self.table
    }

    /// The number of programs, including the table's.
    #[expect(clippy::len_without_is_empty, reason = "a table has at least one program")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// The name of a program.
    #[must_use]
    pub fn name(&self, index: usize) -> &str {
        &self.programs[index].name
    }

    /// The names of a mix's programs.
    #[must_use]
    pub fn names_of(&self, mix: &Mix) -> Vec<&str> {
        mix.programs.iter().map(|&program| self.name(program)).collect()
    }

    /// The index of the program with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The phases of a program.
    #[must_use]
    pub fn phases(&self, index: usize) -> &[ProgramPhase] {
        &self.programs[index].phases
    }

    /// The profile that a policy gets of a program beforehand: averages over a run of
    /// `instructions` (0 counts as 1) alone with each number of ways; "the average value of various
    /// performance metrics gathered offline for different cache sizes" (LFOC §5.1).
    ///
    /// IPC is instructions over cycles; misses per 1000 instructions are weighted by instructions,
    /// and rates per cycle or per second by cycles.
    #[must_use]
    pub fn profile(&self, index: usize, instructions: u64) -> Profile {
        let phases = self.phases(index);
        if let [ProgramPhase { program, .. }] = *phases {
            return self.table.profile(program);
        }
        average(&self.table, phases, instructions.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded;

    fn phased(phases: &[(usize, Option<u64>)]) -> PhasedProgram {
        PhasedProgram {
            name: "phased".into(),
            phases: phases
                .iter()
                .map(|&(program, instructions)| ProgramPhase { program, instructions })
                .collect(),
        }
    }

    #[test]
    fn the_programs_of_the_table_come_first() {
        let table = embedded();
        let programs = ProgramCatalog::new(table.clone(), vec![phased(&[(1, Some(1)), (0, None)])]);
        assert_eq!((programs.len(), programs.name(0), programs.name(30)), (31, "triad", "phased"));
        let found = ["triad", "phased", "other"].map(|name| programs.find(name));
        assert_eq!(found, [Some(0), Some(30), None]);
        assert_eq!(programs.phases(1), [ProgramPhase { program: 1, instructions: None }]);
        assert_eq!(programs.profile(1, 5), table.profile(1));
        // A run that ends in the first phase, or before it begins.
        assert_eq!(programs.profile(30, 1), table.profile(1));
        assert_eq!(programs.profile(30, 0), table.profile(1));
    }

    #[test]
    fn what_no_reader_returns_is_refused() {
        let bad = [
            phased(&[]),
            phased(&[(30, None)]),
            phased(&[(0, Some(0)), (1, None)]),
            phased(&[(0, None), (1, Some(1))]),
            PhasedProgram { name: "triad".into(), ..phased(&[(0, None)]) },
        ];
        for phased in bad {
            let shown = format!("{phased:?}");
            let new =
                std::panic::catch_unwind(|| ProgramCatalog::new(embedded().clone(), vec![phased]));
            assert!(new.is_err(), "{shown}");
        }
    }
}
