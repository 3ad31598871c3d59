//! A domain, as its policy knows it.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Cpus, Event, Llc, Partition, PlanId, Time};
use fairways_machine_kit::{self as machine_kit, Alarm};
use fairways_resctrl::language::CpuSet;

use super::windows::Window;
use fairways_resctrl_client as actuate;

/// A plan that could not be carried out is asked for again no later.
const LONGEST: Duration = Duration::from_secs(60);

/// Something that happens now, and is still to be told.
#[expect(clippy::large_enum_variant, reason = "nearly all that is due are events")]
#[derive(Clone, Debug)]
pub(super) enum Due {
    Event(Event),
    Start(AppId),
    Exit(AppId),
}

impl From<Event> for Due {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

pub(super) struct Domain {
    pub(super) llc: Llc,
    pub(super) way_bytes: u64,
    /// Which ways of the cache are offered.
    pub(super) ways: Vec<u32>,
    /// The CPUs as its policy numbers them, where it is told of them.
    pub(super) cpus: Vec<u32>,
    /// How long turns are, likewise.
    quantum: Option<Duration>,
    pub(super) due: machine_kit::EventQueue<Due>,
    /// The programs that the policy was told of, in the order in which they started.
    pub(super) told: Vec<AppId>,
    pub(super) windows: BTreeMap<AppId, Window>,
    pub(super) alarm: Alarm,
    /// The plan in force.
    pub(super) plan: Option<PlanId>,
    /// Since when, which is a little after the event on which it was made.
    pub(super) planned: Time,
    /// What it says; without a cluster before the first, and after the cache has changed.
    pub(super) partition: Partition,
    /// What it has come to, as its policy was told.
    pub(super) actual: Partition,
    /// How many plans failed since the last that did not, and when the policy is asked for another one.
    failed: u32,
    again: Option<Time>,
    /// Whether its last CPU went off line, or others took all of it: nothing more happens here once its policy was told that everybody
    /// has left.
    pub(super) is_gone: bool,
}

impl Domain {
    pub(super) fn new(of: &actuate::Domain) -> Self {
        let llc = of.llc;
        Self {
            llc,
            way_bytes: of.way_bytes,
            ways: of.ways.clone(),
            cpus: Vec::new(),
            quantum: None,
            due: [Event::Machine(llc.into()).into()].into_iter().collect(),
            told: Vec::new(),
            windows: BTreeMap::new(),
            alarm: Alarm::default(),
            plan: None,
            planned: Time::ZERO,
            partition: Partition::default(),
            actual: Partition::default(),
            failed: 0,
            again: None,
            is_gone: false,
        }
    }

    /// A plan is in force.
    pub(super) fn holds(&mut self) {
        (self.failed, self.again) = (0, None);
    }

    /// A plan could not be carried out, whatever it says: another is asked for in a second, and later each time, as policies that know
    /// nothing of what fails would make none.
    pub(super) fn fails(&mut self, now: Time) {
        let wait = Duration::from_secs(1 << self.failed.min(6));
        (self.failed, self.again) = (self.failed + 1, Some(now.after(wait.min(LONGEST))));
    }

    /// Asks for a plan again, if it is time.
    pub(super) fn ask_again(&mut self, now: Time) {
        if self.again.take_if(|at| *at <= now).is_some() {
            self.tell(Event::Machine(self.llc.into()));
        }
    }

    /// Its policy is told of these CPUs, on which turns are so long, if it was not.
    pub(super) fn schedule(&mut self, cpus: &CpuSet, quantum: Duration) {
        let cpus: Vec<u32> = cpus.iter().collect();
        let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        let now = Cpus { count, quantum };
        let is_told = self.cpus.len() == cpus.len() && self.quantum == Some(quantum);
        // Where as many are there as before, its numbers mean others now, and it need not know.
        self.cpus = cpus;
        self.quantum = Some(quantum);
        if !is_told {
            self.tell(Event::Cpus(now));
        }
    }

    /// Nothing of it is offered any longer. Its policy, which is asked again when it returns, is told that everybody has left.
    pub(super) fn leave(&mut self) {
        self.is_gone = true;
        self.windows.clear();
        self.alarm.clear();
        self.again = None;
        self.partition.clear();
        self.actual.clear();
        self.due = self.told.drain(..).map(|app| Due::Event(Event::Exited { app })).collect();
    }

    /// Tells of something that happens now.
    pub(super) fn tell(&mut self, event: Event) {
        self.due.push(event.into());
    }

    /// Tells what the plan in force has come to.
    pub(super) fn applied(&mut self, actual: Partition) {
        let Some(plan) = self.plan else { return };
        self.actual.clone_from(&actual);
        self.due.push_answer(Event::Applied { plan, actual });
    }
}
