//! Which promises of ways can be kept at once (dCat §3.1), and what they require of a plan.
//!
//! A program with `baseline_ways` must not be slower, beyond a tolerance, than alone with that many
//! ways. It is fast enough with at least these ways to itself. It may also share ways, if its
//! curves say that it is fast enough then.

use alloc::vec::Vec;

use fairways_core::{AppId, Llc};

use crate::locpart::Party;
use crate::program::RunningProgram;

/// The promises that are kept, with their ways. If there are too many, those of the programs that
/// started first are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptPromises(Vec<(AppId, u32)>);

impl KeptPromises {
    /// Finds which promises can be kept at once. Each service has some ways in any case.
    pub(crate) fn admit(&mut self, llc: &Llc, programs: &[RunningProgram], services: &[Party]) {
        // The other programs need ways and a cluster, unless all have promises.
        let (mut ways, mut clusters) = (llc.ways.get(), llc.max_clusters());
        if !self.fill(llc, (programs, services), ways, clusters) {
            ways -= llc.min_ways().min(ways);
            clusters -= 1;
            self.fill(llc, (programs, services), ways, clusters);
        }
    }

    /// Keeps promises while ways and clusters are left; returns whether all programs have one.
    fn fill(
        &mut self,
        llc: &Llc,
        (programs, services): (&[RunningProgram], &[Party]),
        ways: u32,
        clusters: u32,
    ) -> bool {
        self.0.clear();
        let count = services.iter().filter(|party| party.occupant.is_some()).count();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let reserved = count.saturating_mul(llc.min_ways());
        let (mut ways, mut clusters) =
            (ways.saturating_sub(reserved), clusters.saturating_sub(count));
        for program in programs {
            let Some(promised) = program.wish.baseline_ways else { continue };
            let promised = promised.max(llc.min_ways());
            if fewest_of(services, program.app).is_none() && promised <= ways && clusters > 0 {
                (ways, clusters) = (ways - promised, clusters - 1);
                self.0.push((program.app, promised));
            }
        }
        for program in programs {
            let Some(fewest) = fewest_of(services, program.app) else { continue };
            let fewest = fewest.max(program.wish.baseline_ways.unwrap_or(0));
            let fewest = fewest.clamp(llc.min_ways(), llc.min_ways() + ways);
            ways -= fewest - llc.min_ways();
            self.0.push((program.app, fewest));
        }
        self.0.len() == programs.len()
    }

    /// The promises that are kept.
    pub(crate) fn all(&self) -> impl Iterator<Item = (AppId, u32)> {
        self.0.iter().copied()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ways that are promised to a program, if the promise is kept.
    pub(crate) fn ways_of(&self, app: AppId) -> Option<u32> {
        self.0.iter().find(|(other, _)| *other == app).map(|&(_, ways)| ways)
    }

    /// The ways that are promised to each program except this one.
    pub(crate) fn ways_of_others(&self, app: AppId) -> impl Iterator<Item = (AppId, u32)> {
        self.0.iter().copied().filter(move |(other, _)| *other != app)
    }
}

/// The fewest ways of a service.
fn fewest_of(services: &[Party], app: AppId) -> Option<u32> {
    services.iter().find(|party| party.occupant == Some(app)).map(|party| party.ways)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use fairways_core::Ways;

    use super::*;
    use crate::fairways::tests::programs_with_promises;

    fn kept(promised: &[Option<u32>], clos: u32) -> Vec<Option<u32>> {
        let programs = programs_with_promises(promised);
        let mut promises = KeptPromises::default();
        promises.admit(&Llc { clos, ..Llc::with_ways(Ways::new(8).unwrap()) }, &programs, &[]);
        programs.iter().map(|program| promises.ways_of(program.app)).collect()
    }

    #[test]
    fn the_first_promises_are_kept_as_far_as_there_are_ways_and_classes() {
        assert_eq!(kept(&[Some(5), Some(3)], 16), [Some(5), Some(3)]);
        // A way is left for the third.
        assert_eq!(kept(&[Some(5), Some(3), None], 16), [Some(5), None, None]);
        assert_eq!(kept(&[Some(5), Some(3), Some(2)], 16), [Some(5), None, Some(2)]);
        assert_eq!(kept(&[Some(2), Some(2), None], 2), [Some(2), None, None]);
        assert_eq!(kept(&[Some(2), None], 1), [None, None]);
        assert_eq!(kept(&[Some(9)], 16), [None]);
    }
}
