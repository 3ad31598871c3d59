//! Who may fill which ways.

use fairways_core::WayMask;
use fairways_machine_kit::PlanInForce;

use crate::app::App;
use crate::cache::Fill;

/// What a program may fill, and what its lines are counted as: a CLOSID's mask and an RMID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The ways that it may fill. A cache has to be able to: an empty mask is taken for way 0.
    pub mask: WayMask,
    /// Under what the lines that it brings in are counted, until they are evicted.
    pub mark: u16,
}

/// Who may fill which ways: a job's classes come before the partition, and that before the CPUs'
/// masks.
#[derive(Clone, Debug)]
pub(crate) struct Fills {
    pub(crate) in_force: PlanInForce,
    /// What each job's program may fill, and under which mark, by the CPU that it is on; none: the
    /// partition says.
    pub(crate) classes: Vec<Vec<Class>>,
    /// The ways that programs without a place in the partition may fill, by CPU.
    pub(crate) by_cpu: Vec<WayMask>,
    pub(crate) all: WayMask,
}

impl Fills {
    /// Everybody may fill all.
    pub(crate) fn new(all: WayMask, jobs: usize) -> Self {
        let classes = vec![Vec::new(); jobs];
        Self { in_force: PlanInForce::default(), classes, by_cpu: Vec::new(), all }
    }

    /// Lets a program fill what it may, on the CPU that it is on now.
    pub(crate) fn allow(&self, app: &mut App) {
        let on_cpu = |cpu: usize| self.classes[app.job].get(cpu).copied();
        let class = app.cpu.and_then(on_cpu);
        let mask = class
            .map(|class| class.mask)
            .or_else(|| self.in_force.partition.mask_of(app.id))
            .or_else(|| self.by_cpu.get(app.cpu?).copied());
        let mark = class.map_or(0, |class| class.mark);
        app.runner.fill = Fill::new(mask.unwrap_or(self.all)).marked(mark);
    }
}
