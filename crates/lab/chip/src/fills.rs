//! Which programs may fill which ways, and move how much.

use fairways_core::machine::PlanInForce;
use fairways_core::{AppId, WayMask};

use crate::cache::FillMask;
use crate::geometry::Geometry;
use crate::running_program::RunningProgram;
use crate::throttle::BandwidthLimit;

/// The ways that a program may fill, its limit of memory bandwidth, and the mark of its lines: like
/// a CLOSID's mask and limit, and an RMID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillClass {
    /// The ways that it may fill. An empty mask counts as way 0.
    pub mask: WayMask,
    /// The mark under which its lines are counted until they are evicted.
    pub mark: u16,
    /// The limit of its memory bandwidth, if it has one.
    pub limit: Option<BandwidthLimit>,
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
    /// The chip that they are the rules of.
    chip: Geometry,
}

impl FillRules {
    /// All programs may fill all ways.
    pub(crate) fn new(chip: Geometry, jobs: usize) -> Self {
        let classes = vec![Vec::new(); jobs];
        Self { in_force: PlanInForce::default(), classes, by_cpu: Vec::new(), chip }
    }

    /// Sets the ways that a program may fill on its current CPU, and its limit.
    pub(crate) fn allow(&self, app: &mut RunningProgram) {
        let class = app.cpu.and_then(|cpu| self.classes[app.job].get(cpu).copied());
        let mask = class
            .map(|class| class.mask)
            .or_else(|| self.in_force.partition.mask_of(app.id))
            .or_else(|| self.by_cpu.get(app.cpu?).copied());
        let mark = class.map_or(0, |class| class.mark);
        let mask = mask.unwrap_or(WayMask::full(self.chip.llc.ways));
        app.runner.fill = FillMask::new(mask).marked(mark);
        app.runner.limit = match class {
            Some(class) => class.limit,
            None => self.planned_limit(app.id),
        };
    }

    /// The limit of a program's cluster; its programs are a class.
    fn planned_limit(&self, app: AppId) -> Option<BandwidthLimit> {
        let partition = &self.in_force.partition;
        let level = partition.resources_of(app)?.bandwidth?;
        let most = self.chip.levers().bandwidth?.most;
        let cluster = partition.placements().iter().find(|place| place.app == app)?.cluster;
        let limit = BandwidthLimit { class: u16::try_from(cluster).ok()?, value: level.get() };
        (level < most).then_some(limit)
    }
}
