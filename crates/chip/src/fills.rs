//! Which programs may fill which ways.

use fairways_core::WayMask;
use fairways_machine_kit::PlanInForce;

use crate::cache::FillMask;
use crate::running_program::RunningProgram;

/// The ways that a program may fill, and the mark of its lines: like a CLOSID's mask and an RMID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillClass {
    /// The ways that it may fill. An empty mask counts as way 0.
    pub mask: WayMask,
    /// The mark under which its lines are counted until they are evicted.
    pub mark: u16,
}

/// The rules for filling ways: a job's classes come before the partition, and the partition before
/// the CPUs' masks.
#[derive(Clone, Debug)]
pub(crate) struct FillRules {
    pub(crate) in_force: PlanInForce,
    /// By job: its classes, by the CPU that its program is on; none: the partition decides.
    pub(crate) classes: Vec<Vec<FillClass>>,
    /// The ways that programs outside the partition may fill, by CPU.
    pub(crate) by_cpu: Vec<WayMask>,
    pub(crate) all: WayMask,
}

impl FillRules {
    /// All programs may fill all ways.
    pub(crate) fn new(all: WayMask, jobs: usize) -> Self {
        let classes = vec![Vec::new(); jobs];
        Self { in_force: PlanInForce::default(), classes, by_cpu: Vec::new(), all }
    }

    /// Sets the ways that a program may fill on its current CPU.
    pub(crate) fn allow(&self, app: &mut RunningProgram) {
        let class = app.cpu.and_then(|cpu| self.classes[app.job].get(cpu).copied());
        let mask = class
            .map(|class| class.mask)
            .or_else(|| self.in_force.partition.mask_of(app.id))
            .or_else(|| self.by_cpu.get(app.cpu?).copied());
        let mark = class.map_or(0, |class| class.mark);
        app.runner.fill = FillMask::new(mask.unwrap_or(self.all)).marked(mark);
    }
}
