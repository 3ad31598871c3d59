//! What became of plans.

use std::collections::VecDeque;

use fairways_core::{Event, PartitionError, PlanId, Time};

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

    /// Takes in what is told next; `None`: no more is. A plan that this does not refuse was
    /// carried out.
    pub(crate) fn settle(&mut self, told: Option<&Event>) {
        let refused = match told {
            Some(Event::Refused { plan, why }) => Some((*plan, *why)),
            _ => None,
        };
        while let Some(Asked { at, plan, legal }) = self.asked.pop_front() {
            if let Some((_, why)) = refused.filter(|(refused, _)| *refused == plan) {
                // A machine may refuse more than the rules do, but no less.
                let named = legal.is_ok() || legal == Err(why);
                hold(named, promise::REFUSED, format_args!("{plan:?}: {why:?}, not {legal:?}"));
                return;
            }
            hold(legal.is_ok(), promise::REFUSED, format_args!("{plan:?} ({legal:?}): {told:?}"));
            self.carried_out.push((at, plan));
        }
        hold(refused.is_none(), promise::REFUSED, format_args!("{told:?} answers no plan"));
    }

    /// The plan in force at the end of a window, and whether one was carried out in it. What was
    /// carried out at the instant of its end came after.
    pub(crate) fn of(&self, since: Time, end: Time) -> (Option<PlanId>, bool) {
        let mut before = self.carried_out.iter().rev().skip_while(|(at, _)| *at >= end);
        let last = before.next();
        (last.map(|(_, plan)| *plan), last.is_some_and(|(at, _)| *at > since))
    }
}
