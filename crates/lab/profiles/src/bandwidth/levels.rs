//! Levels of memory bandwidth: the most that a cluster's programs may use together.
//!
//! A level is a percent of what memory can move, and a whole cluster's, as the maximum of Arm's
//! MPAM is (Linux `Documentation/filesystems/resctrl.rst`, "Memory bandwidth Allocation"; a chip
//! can have the same lever). Programs that would use more are delayed: each has a share in
//! proportion to its demand. A program runs at the lower of two rates, as behind a gap between
//! requests: that at which its limit lets it move its bytes, and that which contention leaves it.
//! So a limit below which contention keeps a program anyway changes nothing. A limit that a program
//! feels makes it slower, and no other program.

use fairways_core::{
    AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, LimitScope, Partition, Placement,
};

use super::{Demand, MemoryBandwidth};

/// The level that is no limit, in percent.
const NO_LIMIT: u32 = 100;

impl MemoryBandwidth {
    /// The lever of a machine with this memory.
    #[must_use]
    pub fn lever(self) -> Option<BandwidthLever> {
        let (step, most) = (BandwidthLevel::new(1)?, BandwidthLevel::new(NO_LIMIT)?);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a bandwidth is positive; the cast saturates"
        )]
        let capacity_mbps = Some(self.limit_mbps as u32);
        let (unit, scope) = (BandwidthUnit::Percent, LimitScope::Class);
        Some(BandwidthLever { unit, least: step, step, most, scope, capacity_mbps })
    }

    /// The part of its demand that each program of a cluster may use at a level, if together they
    /// demand `cluster_mbps` MB/s.
    #[must_use]
    pub fn allowed(self, level: BandwidthLevel, cluster_mbps: f64) -> f64 {
        let most = self.limit_mbps * f64::from(level.get()) / f64::from(NO_LIMIT);
        let is_felt = level.get() < NO_LIMIT && cluster_mbps > most;
        if is_felt { most / cluster_mbps } else { 1.0 }
    }

    /// Limits the demands of `apps`, in their order, by the levels of a plan. An app that the plan
    /// does not place has no limit.
    pub fn limit(
        self,
        plan: &Partition,
        apps: impl Iterator<Item = AppId> + Clone,
        demands: &mut [Demand],
    ) {
        for (cluster, resources) in (0..).zip(plan.clusters()) {
            let Some(level) = resources.bandwidth else { continue };
            let members = apps.clone().zip(0..).filter_map(|(app, index): (_, usize)| {
                plan.placements().contains(&Placement { app, cluster }).then_some(index)
            });
            let together = members.clone().map(|index| demands[index].mbps).sum();
            let allowed = self.allowed(level, together);
            members.for_each(|index| demands[index].allowed = allowed);
        }
    }
}

impl Demand {
    /// How many times slower it runs, if contention alone slowed it down by `growth`.
    pub(super) fn slowed(&self, growth: f64) -> f64 {
        if self.allowed < 1.0 { growth.max(1.0 / self.allowed) } else { growth }
    }

    /// What it uses of memory, if it demands `share` and contention alone left it `used`.
    pub(super) fn capped(&self, share: f64, used: f64) -> f64 {
        if self.allowed < 1.0 { used.min(share * self.allowed) } else { used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BandwidthModel;

    /// Four programs, each alone in a cluster of a plan, with the limits that `level` gives them.
    fn limited(
        memory: MemoryBandwidth,
        mbps: [f64; 4],
        level: impl Fn(usize) -> Option<u32>,
    ) -> [f64; 4] {
        let mut demands =
            mbps.map(|mbps| Demand { mbps, stalls: 0.5, memory_stalls: 0.25, allowed: 1.0 });
        for (index, demand) in demands.iter_mut().enumerate() {
            if let Some(level) = level(index).and_then(BandwidthLevel::new) {
                demand.allowed = memory.allowed(level, demand.mbps);
            }
        }
        let mut slowdowns = [1.0; 4];
        memory.slow_down(&demands, &mut slowdowns).unwrap();
        slowdowns
    }

    #[test]
    fn a_limit_slows_its_own_program_and_no_other() {
        let (mut felt, mut unfelt, mut state) = (0, 0, 1_u64);
        for case in 0..2000 {
            let mbps = [(); 4].map(|()| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as f64 % 400.0
            });
            for model in [BandwidthModel::Simple, BandwidthModel::Stalls] {
                let memory = MemoryBandwidth::new(600.0, model).unwrap();
                let level = 1 + case % 100;
                let before = limited(memory, mbps, |of| (of == 1).then_some(40));
                let after = limited(memory, mbps, |of| [Some(level), Some(40), None, None][of]);
                let most = 600.0 * f64::from(level) / 100.0;
                assert!(mbps[0] / after[0] <= most * (1.0 + 1e-12) || level == 100);
                assert!(after[0] >= before[0] * (1.0 - 1e-9), "{model:?} {mbps:?} at {level}");
                for other in 1..4 {
                    assert!(after[other] <= before[other] * (1.0 + 1e-9), "{model:?} {mbps:?}");
                }
                if mbps[0] / before[0] > most {
                    felt += 1;
                } else {
                    let mut pairs = before.into_iter().zip(after);
                    assert!(pairs.all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{model:?} {mbps:?}");
                    unfelt += 1;
                }
            }
        }
        assert!(felt > 500 && unfelt > 500, "{felt} {unfelt}");
    }

    /// Programs of a cluster share its limit in proportion to their demands; others have none.
    #[test]
    fn the_programs_of_a_cluster_share_its_limit() {
        let memory = MemoryBandwidth::new(1000.0, BandwidthModel::Simple).unwrap();
        let mut plan = Partition::default();
        for level in [Some(30), None, Some(100)] {
            let bandwidth = level.and_then(BandwidthLevel::new);
            plan.add(fairways_core::Resources {
                mask: fairways_core::WayMask::span(0, 1),
                bandwidth,
            });
        }
        for (app, cluster) in [(0, 0), (1, 1), (2, 0), (3, 2)] {
            plan.place(AppId(app), cluster);
        }
        let mut demands = [100.0, 900.0, 500.0, 2000.0, 700.0].map(|mbps| Demand {
            mbps,
            stalls: 0.0,
            memory_stalls: 0.0,
            allowed: 1.0,
        });
        memory.limit(&plan, (0..5).map(AppId), &mut demands);
        assert_eq!(demands.map(|demand| demand.allowed), [0.5, 1.0, 0.5, 1.0, 1.0]);
    }
}
