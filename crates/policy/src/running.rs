//! What every policy keeps: the machine, the programs that run, and the plan it made last.

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Event, Levers, Llc, Partition, PlanId, WayMask};

use crate::program::Program;
use crate::telling::{Teller, Told};

/// The programs that run, in the order in which they started, and the last plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    llc: Option<Llc>,
    programs: Vec<Program>,
    /// By program: what was told of it.
    told: Vec<Told>,
    plan: PlanId,
    partition: Partition,
    /// What it has come to, where that is not what it says.
    actual: Option<Partition>,
}

/// What an event changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The cache is another one.
    Machine,
    /// The program at the end of the list is new.
    Started,
    /// The owner of a program wishes something else.
    Wished {
        /// Whether ways are promised to it that were not, or no longer.
        promise: bool,
    },
    /// This program is gone.
    Exited(AppId),
}

impl Running {
    /// Takes an event in; `None` if it changed nothing that a plan depends on.
    ///
    /// A refused plan leaves the one before it in force, and the same programs would give the
    /// same plan again, so a refusal calls for none.
    pub(crate) fn take(&mut self, event: &Event) -> Option<Change> {
        match event {
            Event::Machine(Levers { llc, .. }) => {
                self.llc = Some(*llc);
                Some(Change::Machine)
            }
            // A journal that was tampered with may say so; a machine does not.
            Event::Started { app, .. } if self.programs.iter().any(|p| p.app == *app) => None,
            Event::Started { app, wish, profile } => {
                let profile = profile.clone();
                self.programs.push(Program { app: *app, wish: *wish, profile });
                self.told.push(Told::default());
                Some(Change::Started)
            }
            Event::Wished { app, wish } => {
                let program = self.programs.iter_mut().find(|program| program.app == *app)?;
                let before = core::mem::replace(&mut program.wish, *wish);
                let promise = before.baseline_ways != wish.baseline_ways;
                (before != *wish).then_some(Change::Wished { promise })
            }
            Event::Exited { app } => {
                let index = self.programs.iter().position(|program| program.app == *app)?;
                self.programs.remove(index);
                self.told.remove(index);
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

    /// Takes an event in; whether others run now, or on another cache, whatever is wished of them.
    pub(crate) fn take_others(&mut self, event: &Event) -> bool {
        self.take(event).is_some_and(|change| !matches!(change, Change::Wished { .. }))
    }

    /// The same, or whether ways are promised otherwise.
    pub(crate) fn take_promises(&mut self, event: &Event) -> Option<Change> {
        self.take(event).filter(|change| *change != Change::Wished { promise: false })
    }

    /// The cache, once the machine has told it.
    pub(crate) const fn llc(&self) -> Option<Llc> {
        self.llc
    }

    /// The programs that run.
    pub(crate) fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Tells of the programs that run, and of nobody else.
    pub(crate) fn teller<'a>(&'a mut self, act: &'a mut dyn FnMut(Action<'_>)) -> Teller<'a> {
        Teller::new(&self.programs, &mut self.told, act)
    }

    /// Makes a plan with `decide`, which fills an empty partition, tells what decided, and returns the reason,
    /// and acts on it; returns the plan. Before the machine is known, and before the first program
    /// came, there is nothing to plan.
    pub(crate) fn plan(
        &mut self,
        act: &mut dyn FnMut(Action<'_>),
        decide: impl FnOnce(&Llc, &[Program], &mut Partition, &mut Teller<'_>) -> &'static str,
    ) -> Option<PlanId> {
        let llc = self.llc?;
        let nothing_planned = self.partition.placements().is_empty();
        if self.programs.is_empty() && nothing_planned {
            return None;
        }
        self.partition.clear();
        self.actual = None;
        let reason = if self.programs.is_empty() {
            "no program runs"
        } else {
            let mut teller = Teller::new(&self.programs, &mut self.told, act);
            decide(&llc, &self.programs, &mut self.partition, &mut teller)
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

    /// Takes in what a plan has come to; of one that is not the last there is nothing to know.
    pub(crate) fn applied(&mut self, plan: PlanId, actual: &Partition) {
        if plan.next() == self.plan {
            let is_as_planned = *actual == self.partition || actual.agrees_with(&self.partition);
            self.actual = (!is_as_planned).then(|| actual.clone());
        }
    }

    /// The ways that a program really has, where they are not those that were planned for it.
    pub(crate) fn other_ways(&self, app: AppId) -> Option<u32> {
        let actual = self.actual.as_ref()?.mask_of(app)?.count();
        (self.partition.mask_of(app).map(WayMask::count) != Some(actual)).then_some(actual)
    }

    /// The ways that a program may fill; what the machine has not told is as planned.
    pub(crate) fn mask_of(&self, app: AppId) -> Option<WayMask> {
        let told = self.actual.as_ref().and_then(|actual| actual.mask_of(app));
        told.or_else(|| self.partition.mask_of(app))
    }

    /// Whether the machine has let somebody else into the ways of a program that was to have them
    /// alone.
    pub(crate) fn is_joined(&self, app: AppId) -> bool {
        let Some(actual) = &self.actual else { return false };
        let Some(own) = actual.mask_of(app) else { return true };
        let shares = |other: AppId| {
            let mask = actual.mask_of(other).unwrap_or_default();
            other != app && mask.bits() & own.bits() != 0
        };
        actual.placements().iter().any(|place| shares(place.app))
    }
}

/// One cluster of everybody with every way.
pub(crate) fn everybody(llc: &Llc, programs: &[Program], partition: &mut Partition) {
    let cluster = partition.add_cluster(WayMask::full(llc.ways));
    for program in programs {
        partition.place(program.app, cluster);
    }
}
