//! What is asked of the least machine.

use fairways_core::{AppId, Event, Every, Partition, PartitionError, PlanId};

use super::{Tiny, Window};
use crate::Fault;

impl Tiny {
    pub(super) fn partition(&mut self, plan: PlanId, partition: &Partition) {
        let mut legal = partition.check(&self.llc, self.told.iter().copied());
        if self.fault == Fault::RefusesAll && legal.is_ok() {
            legal = Err(PartitionError::TooManyClusters { clusters: 1, clos: 0 });
        }
        if let (Err(why), true) = (legal, self.fault != Fault::AcceptsAll) {
            let refused = Event::Refused { plan, why };
            let is_refusal = |event: &&Event| matches!(event, Event::Refused { .. });
            let place = match self.fault {
                Fault::RefusesLate => self.due.len(),
                Fault::RefusesLastFirst => 0,
                _ => self.due.iter().take_while(is_refusal).count(),
            };
            self.due.insert(place, refused);
            if self.fault != Fault::AppliesRefused {
                return;
            }
        }
        self.plan = Some(plan);
        for window in self.apps.iter_mut().filter_map(|app| app.window.as_mut()) {
            window.straddled |= window.since < self.now || self.fault == Fault::StraddlesAll;
        }
    }

    pub(super) fn watch(&mut self, app: AppId, every: Every) {
        let length = match every {
            Every::Instructions(count) => count,
            Every::Time(time) => u64::try_from(time.as_nanos()).unwrap(),
        };
        let short = u64::from(self.fault == Fault::ShortWindows);
        let length = (length - short.min(length)).max(1);
        let since = self.now;
        let fault = self.fault;
        let Some(app) = self.apps.iter_mut().find(|other| other.id == app) else { return };
        match &mut app.window {
            Some(_) if fault == Fault::KeepsWatch => {}
            Some(window) if fault == Fault::KeepsWindow => window.length = length,
            window => *window = Some(Window { since, length, straddled: false }),
        }
        if fault == Fault::NeverTells {
            app.window = None;
        }
    }
}
