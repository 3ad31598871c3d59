//! State that every policy keeps: the machine, the programs that run, and its last plan.

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Event, Levers, Llc, Partition, PlanId, WayMask};

use crate::announce::{Announced, Announcer};
use crate::program::RunningProgram;

/// The programs that run, in the order in which they started, and the last plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningPrograms {
    levers: Option<Levers>,
    programs: Vec<RunningProgram>,
    /// By program: what was announced about it.
    announced: Vec<Announced>,
    plan: PlanId,
    partition: Partition,
    /// What the machine put in force, if that differs from the plan.
    actual: Option<Partition>,
}

/// What an event changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The cache is another one.
    Machine,
    /// The program at the end of the list is new.
    Started,
    /// A program's owner changed a request.
    Wish {
        /// Whether the number of ways promised to it has changed.
        is_promise: bool,
    },
    /// This program is gone.
    Exited(AppId),
}

impl RunningPrograms {
    /// Handles an event; `None` if it changed nothing that a plan depends on.
    ///
    /// A refused plan leaves the one before it in force. As the same programs would lead to the
    /// same plan again, a refusal does not cause a new plan.
    pub(crate) fn update(&mut self, event: &Event) -> Option<Change> {
        match event {
            Event::Machine(levers) => {
                self.levers = Some(*levers);
                Some(Change::Machine)
            }
            // A damaged journal may report a program twice; a machine does not.
            Event::Started { app, .. } if self.programs.iter().any(|p| p.app == *app) => None,
            Event::Started { app, wish, profile } => {
                let profile = profile.clone();
                self.programs.push(RunningProgram { app: *app, wish: *wish, profile });
                self.announced.push(Announced::default());
                Some(Change::Started)
            }
            Event::Wished { app, wish } => {
                let program = self.programs.iter_mut().find(|program| program.app == *app)?;
                let before = core::mem::replace(&mut program.wish, *wish);
                let is_promise = before.baseline_ways != wish.baseline_ways;
                (before != *wish).then_some(Change::Wish { is_promise })
            }
            Event::Exited { app } => {
                let index = self.programs.iter().position(|program| program.app == *app)?;
                self.programs.remove(index);
                self.announced.remove(index);
                Some(Change::Exited(*app))
            }
            Event::Cpus(_)
            | Event::Sampled(_)
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_)
            | Event::Woke
            | Event::Refused { .. } => None,
            Event::Applied { plan, actual } => {
                self.applied(*plan, actual);
                None
            }
        }
    }

    /// Handles an event. Returns whether the running programs or the cache changed; requests of
    /// owners are ignored.
    pub(crate) fn update_programs(&mut self, event: &Event) -> bool {
        self.update(event).is_some_and(|change| !matches!(change, Change::Wish { .. }))
    }

    /// Handles an event like [`Self::update_programs`], but takes promised ways into account.
    pub(crate) fn update_promises(&mut self, event: &Event) -> Option<Change> {
        self.update(event).filter(|change| *change != Change::Wish { is_promise: false })
    }

    /// The cache, once the machine has reported it.
    pub(crate) fn llc(&self) -> Option<Llc> {
        self.levers.map(|levers| levers.llc)
    }

    /// What the machine lets a policy set, once it has reported it.
    pub(crate) const fn levers(&self) -> Option<Levers> {
        self.levers
    }

    /// Drops the profile of a program that behaves differently.
    pub(crate) fn drop_profile(&mut self, app: AppId) {
        self.programs.iter_mut().filter(|one| one.app == app).for_each(|one| one.profile = None);
    }

    /// The programs that run.
    pub(crate) fn programs(&self) -> &[RunningProgram] {
        &self.programs
    }

    /// An announcer for the programs that run.
    pub(crate) fn announcer<'a>(&'a mut self, act: &'a mut dyn FnMut(Action<'_>)) -> Announcer<'a> {
        Announcer::new(&self.programs, &mut self.announced, act)
    }

    /// Makes a plan and acts on it; returns the plan. `decide` fills an empty partition, announces
    /// what led to it, and returns the reason. `None` before the machine is known, or before the
    /// first program started.
    pub(crate) fn plan(
        &mut self,
        act: &mut dyn FnMut(Action<'_>),
        decide: impl FnOnce(&Llc, &[RunningProgram], &mut Partition, &mut Announcer<'_>) -> &'static str,
    ) -> Option<PlanId> {
        self.change_plan(act, |llc, programs, partition, announcer| {
            partition.clear();
            decide(llc, programs, partition, announcer)
        })
    }

    /// Like [`Self::plan`], but `decide` gets the last planned partition, and changes it.
    pub(crate) fn change_plan(
        &mut self,
        act: &mut dyn FnMut(Action<'_>),
        decide: impl FnOnce(&Llc, &[RunningProgram], &mut Partition, &mut Announcer<'_>) -> &'static str,
    ) -> Option<PlanId> {
        let llc = self.llc()?;
        let nothing_planned = self.partition.placements().is_empty();
        if self.programs.is_empty() && nothing_planned {
            return None;
        }
        self.actual = None;
        let reason = if self.programs.is_empty() {
            self.partition.clear();
            "no program runs"
        } else {
            let mut announcer = Announcer::new(&self.programs, &mut self.announced, act);
            decide(&llc, &self.programs, &mut self.partition, &mut announcer)
        };
        let plan = self.plan;
        act(Action::Partition { plan, partition: (&self.partition).into(), reason: reason.into() });
        self.plan = plan.next();
        Some(plan)
    }

    /// The partition that was planned last.
    pub(crate) const fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Records what the machine put in force of a plan. Only the last plan matters.
    pub(crate) fn applied(&mut self, plan: PlanId, actual: &Partition) {
        if plan.next() == self.plan {
            let is_as_planned = *actual == self.partition || actual.agrees_with(&self.partition);
            self.actual = (!is_as_planned).then(|| actual.clone());
        }
    }

    /// The number of ways that a program really has, if it differs from the plan.
    pub(crate) fn deviating_ways(&self, app: AppId) -> Option<u32> {
        let actual = self.actual.as_ref()?.mask_of(app)?.count();
        (self.partition.mask_of(app).map(WayMask::count) != Some(actual)).then_some(actual)
    }

    /// The ways that a program may fill, as planned or as the machine reported.
    pub(crate) fn mask_of(&self, app: AppId) -> Option<WayMask> {
        let actual = self.actual.as_ref().and_then(|actual| actual.mask_of(app));
        actual.or_else(|| self.partition.mask_of(app))
    }

    /// Whether the machine lets other programs fill ways that were planned for this program alone.
    pub(crate) fn shares_its_ways(&self, app: AppId) -> bool {
        let Some(actual) = &self.actual else { return false };
        let Some(own) = actual.mask_of(app) else { return true };
        actual.placements().iter().any(|place| {
            let mask = actual.mask_of(place.app).unwrap_or_default();
            place.app != app && mask.overlaps(own)
        })
    }
}

/// Puts all programs into one cluster with every way.
pub(crate) fn leave_unpartitioned(
    llc: &Llc,
    programs: &[RunningProgram],
    partition: &mut Partition,
) {
    let cluster = partition.add_cluster(WayMask::full(llc.ways));
    for program in programs {
        partition.place(program.app, cluster);
    }
}
