//! Checks of plans and their answers.

use std::collections::VecDeque;

use fairways_core::{AppId, BandwidthLever, Event, PartitionError, PlanId, Time};

use crate::promise::{self, require};

/// A plan that is not yet answered.
struct OpenPlan {
    at: Time,
    plan: PlanId,
    legal: Result<(), PartitionError>,
}

/// The plans requested and those carried out, as far as the machine has reported.
#[derive(Default)]
pub(crate) struct PlanChecker {
    open: VecDeque<OpenPlan>,
    carried_out: Vec<(Time, PlanId)>,
}

impl PlanChecker {
    pub(crate) fn request(&mut self, at: Time, plan: PlanId, legal: Result<(), PartitionError>) {
        self.open.push_back(OpenPlan { at, plan, legal });
    }

    /// Checks the next event, which must answer the first open plan if there is one; `None`: the
    /// machine has ended. `bandwidth`: how the machine limits memory bandwidth, if it can.
    pub(crate) fn settle(
        &mut self,
        event: Option<&Event>,
        running: &[AppId],
        bandwidth: Option<BandwidthLever>,
    ) {
        if let Some(Event::Applied { actual, .. }) = event {
            let runs = actual.placements().iter().all(|place| running.contains(&place.app));
            require(runs, promise::ACTUAL, format_args!("{event:?}: {running:?}"));
            let mut levels = actual.clusters().iter().filter_map(|cluster| cluster.bandwidth);
            let are_legal = levels.all(|level| bandwidth.is_some_and(|lever| lever.accepts(level)));
            require(are_legal, promise::LEVELS, format_args!("{event:?}: {bandwidth:?}"));
        }
        let Some(OpenPlan { at, plan, legal }) = self.open.pop_front() else {
            let is_answer = match event {
                Some(Event::Refused { .. }) => true,
                // The partition in force has changed.
                Some(Event::Applied { plan, .. }) => {
                    self.carried_out.last().is_none_or(|(_, last)| last != plan)
                }
                _ => false,
            };
            require(!is_answer, promise::ANSWERED, format_args!("{event:?} answers no plan"));
            return;
        };
        match event {
            Some(Event::Applied { plan: answered, .. }) if *answered == plan => {
                require(legal.is_ok(), promise::REFUSED, format_args!("{plan:?} ({legal:?})"));
                self.carried_out.push((at, plan));
            }
            Some(Event::Refused { plan: answered, why }) if *answered == plan => {
                // A machine may refuse more than the rules do, but no less.
                let named = legal.is_ok() || legal == Err(*why);
                require(named, promise::REFUSED, format_args!("{plan:?}: {why:?}, not {legal:?}"));
            }
            _ => require(false, promise::ANSWERED, format_args!("{plan:?}: {event:?}")),
        }
    }

    /// The plan in force at the end of a window, and whether a plan was carried out within it. A
    /// plan carried out at the instant of the window's end came after it.
    pub(crate) fn in_window(&self, since: Time, end: Time) -> (Option<PlanId>, bool) {
        let mut before = self.carried_out.iter().rev().skip_while(|(at, _)| *at >= end);
        let last = before.next();
        (last.map(|(_, plan)| *plan), last.is_some_and(|(at, _)| *at > since))
    }
}
