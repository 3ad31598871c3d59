//! The plan by the rules alone, of programs whose profiles are known: for a policy that begins with
//! it.

use alloc::vec::Vec;

use fairways_core::{Llc, Partition};

use super::clustering::Clustering;
use super::monitor::Learners;
use super::sets::Sets;
use super::{Parameters, profile_curves};
use crate::announce::{Announced, Announcer};
use crate::program::RunningProgram;

/// What LFOC+ computes with; reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    sets: Sets,
    clustering: Clustering,
    learners: Learners,
    announced: Vec<Announced>,
}

impl Rules {
    /// Fills the partition as LFOC+ clusters these programs.
    pub(crate) fn plan(
        &mut self,
        llc: &Llc,
        programs: &[RunningProgram],
        partition: &mut Partition,
    ) {
        let p = Parameters::plus();
        partition.clear();
        self.sets.clear();
        for program in programs {
            let known = program.profile.as_deref().map(|profile| profile_curves(&p, profile));
            self.sets.learn(&p, llc, program.app, known);
        }
        self.announced.clear();
        self.announced.resize(programs.len(), Announced::default());
        let mut act = |_: fairways_core::Action<'_>| {};
        let mut announcer = Announcer::new(programs, &mut self.announced, &mut act);
        let all = (programs, &self.sets, &self.learners);
        self.clustering.cluster(&p, llc, all, partition, &mut announcer);
    }
}
