//! A domain, as its policy sees it.

use std::time::Duration;

use fairways_core::machine::{Alarm, EventQueue};
use fairways_core::{
    AppId, BandwidthLever, CpuSet, Cpus, Event, Levers, Llc, Partition, PartitionError,
};
use fairways_resctrl_client as client;

use super::plan::PlanInForce;

/// Something that happens now and is not reported yet.
#[expect(clippy::large_enum_variant, reason = "nearly all that is due are events")]
#[derive(Clone, Debug)]
pub(super) enum Pending {
    Event(Event),
    Start(AppId),
    Exit(AppId),
}

impl From<Event> for Pending {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

pub(super) struct Domain {
    pub(super) llc: Llc,
    /// How memory bandwidth can be limited, if it can.
    bandwidth: Option<BandwidthLever>,
    pub(super) way_bytes: u64,
    /// The NUMA node, if the domain is a node and not a cache.
    node: Option<u32>,
    /// The ways of the cache that are offered to the policy.
    pub(super) ways: Vec<u32>,
    /// The CPUs as the policy numbers them, if CPUs are reported to it.
    pub(super) cpus: Vec<u32>,
    /// The length of turns, if CPUs are reported.
    quantum: Option<Duration>,
    pub(super) due: EventQueue<Pending>,
    /// The programs that the policy knows, in the order in which they started.
    pub(super) running: Vec<AppId>,
    pub(super) alarm: Alarm,
    pub(super) plan: PlanInForce,
    /// Whether its last CPU went off line, or others took all of it. Once its policy knows that all
    /// programs have left, nothing more happens in it.
    pub(super) is_gone: bool,
}

impl Domain {
    pub(super) fn new(found: &client::Domain) -> Self {
        Self {
            llc: found.llc,
            bandwidth: found.bandwidth,
            way_bytes: found.way_bytes,
            node: found.node,
            ways: found.ways.clone(),
            cpus: Vec::new(),
            quantum: None,
            due: [Event::Machine(found.levers()).into()].into_iter().collect(),
            running: Vec::new(),
            alarm: Alarm::default(),
            plan: PlanInForce::default(),
            is_gone: false,
        }
    }

    /// Updates what the cache offers; reports it if it has changed.
    pub(super) fn offer(&mut self, found: &client::Domain) {
        self.way_bytes = found.way_bytes;
        if (self.levers(), &self.ways, self.node) != (found.levers(), &found.ways, found.node) {
            // Masks now mean other ways, even if their number is the same; planned levels may no
            // longer exist.
            self.plan.clear();
            self.plan.cancel_retry();
            self.node = found.node;
            (self.llc, self.bandwidth) = (found.llc, found.bandwidth);
            self.ways.clone_from(&found.ways);
            self.report_levers();
        }
    }

    /// The levers that its policy can set.
    pub(super) const fn levers(&self) -> Levers {
        Levers { llc: self.llc, bandwidth: self.bandwidth }
    }

    /// Reports the levers to its policy, which then plans again.
    pub(super) fn report_levers(&mut self) {
        self.report(Event::Machine(self.levers()));
    }

    /// Updates the CPUs and the length of turns; reports them if they have changed.
    pub(super) fn schedule(&mut self, cpus: &CpuSet, quantum: Duration) {
        let cpus: Vec<u32> = cpus.iter().collect();
        let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        let is_known = self.cpus.len() == cpus.len() && self.quantum == Some(quantum);
        // If their number is the same, only the meaning of the policy's numbers changes, and the
        // policy need not be notified.
        self.cpus = cpus;
        self.quantum = Some(quantum);
        if !is_known {
            self.report(Event::Cpus(Cpus { count, quantum }));
        }
    }

    /// Handles the domain's loss: nothing of it is offered any longer. Its policy is notified that
    /// all programs have left; it is called again if the domain returns.
    pub(super) fn leave(&mut self) {
        self.is_gone = true;
        self.alarm.clear();
        self.plan.cancel_retry();
        self.plan.clear();
        let exits = self.running.drain(..).map(|app| Event::Exited { app }.into());
        self.due = exits.collect();
    }

    /// Whether a plan is legal here.
    pub(super) fn check(&self, partition: &Partition) -> Result<(), PartitionError> {
        partition.check_levers(self.levers(), self.running.iter().copied())
    }

    /// Reports something that happens now.
    pub(super) fn report(&mut self, event: Event) {
        self.due.push(event.into());
    }

    /// Reports the partition in force.
    pub(super) fn applied(&mut self, actual: Partition) {
        let Some(plan) = self.plan.id else { return };
        self.plan.actual.clone_from(&actual);
        self.due.push_answer(Event::Applied { plan, actual });
    }
}

/// The domains that these CPUs touch; all domains if there are no CPUs.
pub(super) fn touched(domains: &[client::Domain], cpus: &CpuSet) -> Vec<u32> {
    let mut touched: Vec<u32> = cpus
        .iter()
        .filter_map(|cpu| domains.iter().find(|domain| domain.cpus.contains(cpu)))
        .map(|domain| domain.id)
        .collect();
    touched.sort_unstable();
    touched.dedup();
    if touched.is_empty() {
        touched = domains.iter().map(|domain| domain.id).collect();
    }
    touched
}
