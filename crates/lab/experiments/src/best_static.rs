//! `optimum`: the fairest partition, kept unchanged; the Best-Static of LFOC §5.1.

use fairways_core::{Action, AppId, BandwidthLevel, Event, Llc, Partition, PlanId, Policy, Time};
use fairways_optimum::{Goal, Impossible, Problem, SharingKind, solve};
use fairways_profiles::{MemoryBandwidth, ProfileTable};

/// The name by which it is compared with policies.
pub const OPTIMUM: &str = "optimum";

/// A policy that knows the programs and their profiles before they start.
#[derive(Clone, Debug)]
pub struct BestStatic {
    /// The partition; app `i` stands for the mix's program `i`.
    best: Partition,
    /// The current app of each program.
    apps: Vec<Option<AppId>>,
    plan: PlanId,
}

impl BestStatic {
    /// The fairest clustering of these programs of `table`, on this cache and with this memory, to
    /// whose `levels` clusters may be limited.
    ///
    /// # Errors
    /// If it can't be found: [`Impossible`].
    pub fn new(
        table: &ProfileTable,
        mix: &[usize],
        llc: Llc,
        bandwidth: Option<MemoryBandwidth>,
        levels: &[BandwidthLevel],
    ) -> Result<Self, Impossible> {
        let (kind, goal) = (SharingKind::Clustering, Goal::Unfairness);
        let problem = Problem { bandwidth, levels, ..Problem::new(table, mix, llc, kind, goal) };
        let best = solve(&problem, None, |_, _| ())?.plans.swap_remove(0);
        Ok(Self { best, apps: vec![None; mix.len()], plan: PlanId::default() })
    }
}

impl Policy for BestStatic {
    fn name(&self) -> &'static str {
        OPTIMUM
    }

    /// Programs start in the order of the mix; one that starts later replaces one that has ended.
    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Started { app, .. } => {
                if let Some(place) = self.apps.iter_mut().find(|place| place.is_none()) {
                    *place = Some(*app);
                }
            }
            Event::Exited { app } => {
                for place in &mut self.apps {
                    place.take_if(|other| other == app);
                }
                return;
            }
            _ => return,
        }
        let Some(apps) = self.apps.iter().copied().collect::<Option<Vec<AppId>>>() else { return };
        let mut partition = Partition::default();
        for &resources in self.best.clusters() {
            partition.add(resources);
        }
        for place in self.best.placements() {
            partition.place(apps[place.app.0 as usize], place.cluster);
        }
        let reason = "the least unfairness there is";
        act(Action::Partition {
            plan: self.plan,
            partition: (&partition).into(),
            reason: reason.into(),
        });
        self.plan = self.plan.next();
    }
}
