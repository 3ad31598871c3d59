//! The corpus' programs in place of the models.

use std::collections::HashMap;
use std::iter::Cycle;
use std::sync::LazyLock;
use std::vec::IntoIter;

use fairways_core::Ways;
use fairways_profiles::corpus::CorpusMachine;
use fairways_profiles::{
    PhasedProgram, ProfileTable, ProgramCatalog, ProgramPhase, embedded_programs,
};

use super::WAYS;
use crate::best::CLASSES;
use crate::draw::classes;
use crate::paper::ground::corpus_table;

/// The programs as they were measured behind the caches of the paper's machine, and phased programs
/// made of them.
#[must_use]
pub fn corpus_programs() -> &'static ProgramCatalog {
    static PROGRAMS: LazyLock<ProgramCatalog> = LazyLock::new(|| {
        let table = corpus_table(CorpusMachine::Skylake);
        ProgramCatalog::new(table.clone(), phased(table, embedded_programs()))
    });
    &PROGRAMS
}

/// The phased programs of the models, with another program of the same class in each phase: the
/// next one in the table's order. The corpus has no phases of its own, because it measures one
/// slice of each program. A phased program is left out if the table lacks a class.
fn phased(table: &ProfileTable, models: &ProgramCatalog) -> Vec<PhasedProgram> {
    let ways = Ways::new(WAYS).expect("a cache has ways");
    let own = classes(table, ways);
    let of_models = classes(models.table(), ways);
    let mut next: HashMap<&str, Cycle<IntoIter<usize>>> = HashMap::new();
    for class in CLASSES {
        let programs = (0..own.len()).filter(|&program| own[program] == class);
        next.insert(class.name(), programs.collect::<Vec<usize>>().into_iter().cycle());
    }
    let phased = (of_models.len()..models.len()).filter_map(|index| {
        let phases = models.phases(index).iter().map(|phase| {
            let program = next.get_mut(of_models[phase.program].name())?.next()?;
            Some(ProgramPhase { program, ..*phase })
        });
        Some(PhasedProgram {
            name: models.name(index).to_owned(),
            phases: phases.collect::<Option<_>>()?,
        })
    });
    phased.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every phase has the class and the length of the model's, with a program of the corpus.
    #[test]
    fn phases_are_those_of_the_models_class_by_class() {
        let (programs, models) = (corpus_programs(), embedded_programs());
        let ways = Ways::new(WAYS).expect("ways");
        let [own, of_models] = [programs, models].map(|all| classes(all.table(), ways));
        let count = programs.len() - own.len();
        assert_eq!(count, models.len() - of_models.len());
        for place in 0..count {
            let phases = programs.phases(own.len() + place);
            let expected = models.phases(of_models.len() + place);
            assert_eq!(phases.len(), expected.len());
            for (phase, model) in phases.iter().zip(expected) {
                assert_eq!(phase.instructions, model.instructions);
                assert_eq!(own[phase.program], of_models[model.program]);
            }
        }
    }
}
