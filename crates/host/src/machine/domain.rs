//! A domain, as its policy knows it.

use std::collections::{BTreeMap, VecDeque};

use fairways_core::{AppId, Event, Llc, Partition, PlanId, Time};

use super::windows::Window;
use crate::actuate;

/// Something that happens now, and is still to be told.
#[derive(Clone, Debug)]
pub(super) enum Due {
    Event(Event),
    Start(AppId),
    Exit(AppId),
}

pub(super) struct Domain {
    pub(super) llc: Llc,
    pub(super) way_bytes: u64,
    /// Which ways of the cache are offered.
    pub(super) ways: Vec<u32>,
    pub(super) due: VecDeque<Due>,
    /// The programs that the policy was told of, in the order in which they started.
    pub(super) told: Vec<AppId>,
    pub(super) windows: BTreeMap<AppId, Window>,
    pub(super) alarm: Option<Time>,
    /// The plan in force.
    pub(super) plan: Option<PlanId>,
    /// What it says; without a cluster before the first, and after the cache has changed.
    pub(super) partition: Partition,
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
            due: [Due::Event(Event::Machine(llc))].into(),
            told: Vec::new(),
            windows: BTreeMap::new(),
            alarm: None,
            plan: None,
            partition: Partition::default(),
            is_gone: false,
        }
    }

    /// Nothing of it is offered any longer. Its policy, which is asked again when it returns, is told that everybody has left.
    pub(super) fn leave(&mut self) {
        self.is_gone = true;
        self.windows.clear();
        self.alarm = None;
        self.partition.clear();
        self.due = self.told.drain(..).map(|app| Due::Event(Event::Exited { app })).collect();
    }

    /// Tells of something that happens now.
    pub(super) fn tell(&mut self, event: Event) {
        self.due.push_back(Due::Event(event));
    }

    /// What became of a plan is told before anything else, save what became of those before it.
    pub(super) fn refuse(&mut self, refused: Event) {
        let is_refusal = |due: &&Due| matches!(due, Due::Event(Event::Refused { .. }));
        let place = self.due.iter().take_while(is_refusal).count();
        self.due.insert(place, Due::Event(refused));
    }
}
