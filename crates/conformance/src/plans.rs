//! What became of plans.

use std::collections::VecDeque;

use fairways_core::{AppId, Event, PartitionError, PlanId, Time};

use crate::promise::{self, hold};

/// A plan of which is not yet known what became.
struct Asked {
    at: Time,
    plan: PlanId,
    legal: Result<(), PartitionError>,
}

/// Every plan that was asked for, as far as its machine has told.
#[derive(Default)]
pub(crate) struct Plans {
    asked: VecDeque<Asked>,
    carried_out: Vec<(Time, PlanId)>,
}

impl Plans {
    pub(crate) fn ask(&mut self, at: Time, plan: PlanId, legal: Result<(), PartitionError>) {
        self.asked.push_back(Asked { at, plan, legal });
    }

    /// Takes in the next event, which must answer the first open plan if there is one; `None`: the
    /// machine has ended. `limits`: whether the machine can limit memory bandwidth.
    pub(crate) fn settle(&mut self, told: Option<&Event>, running: &[AppId], limits: bool) {
        if let Some(Event::Applied { actual, .. }) = told {
            let runs = actual.placements().iter().all(|place| running.contains(&place.app));
            hold(runs, promise::ACTUAL, format_args!("{told:?}: {running:?}"));
            let is_there = actual.clusters().iter().any(|cluster| cluster.bandwidth.is_some());
            hold(limits || !is_there, promise::NOT_THERE, format_args!("{told:?}"));
        }
        let Some(Asked { at, plan, legal }) = self.asked.pop_front() else {
            let is_answer = match told {
                Some(Event::Refused { .. }) => true,
                // What is in force has become something else.
                Some(Event::Applied { plan, .. }) => {
                    self.carried_out.last().is_none_or(|(_, last)| last != plan)
                }
                _ => false,
            };
            hold(!is_answer, promise::ANSWERED, format_args!("{told:?} answers no plan"));
            return;
        };
        match told {
            Some(Event::Applied { plan: of, .. }) if *of == plan => {
                hold(legal.is_ok(), promise::REFUSED, format_args!("{plan:?} ({legal:?})"));
                self.carried_out.push((at, plan));
            }
            Some(Event::Refused { plan: of, why }) if *of == plan => {
                // A machine may refuse more than the rules do, but no less.
                let named = legal.is_ok() || legal == Err(*why);
                hold(named, promise::REFUSED, format_args!("{plan:?}: {why:?}, not {legal:?}"));
            }
            _ => hold(false, promise::ANSWERED, format_args!("{plan:?}: {told:?}")),
        }
    }

    /// The plan in force at the end of a window, and whether one was carried out in it. What was
    /// carried out at the instant of its end came after.
    pub(crate) fn of(&self, since: Time, end: Time) -> (Option<PlanId>, bool) {
        let mut before = self.carried_out.iter().rev().skip_while(|(at, _)| *at >= end);
        let last = before.next();
        (last.map(|(_, plan)| *plan), last.is_some_and(|(at, _)| *at > since))
    }
}
