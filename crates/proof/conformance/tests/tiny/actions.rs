//! Actions of the smallest machine.

use std::time::Duration;

use fairways_core::machine::OpenWindow;
use fairways_core::{
    AppId, BandwidthLevel, Event, Partition, PartitionError, PlanId, Resources, Time, WindowLength,
};

use super::Tiny;
use crate::Fault;

impl Tiny {
    pub(super) fn partition(&mut self, plan: PlanId, partition: &Partition) {
        let mut legal = partition.check(&self.llc, self.reported.iter().copied());
        if self.fault == Fault::RefusesAll && legal.is_ok() {
            legal = Err(PartitionError::TooManyClusters { clusters: 1, clos: 0 });
        }
        if self.fault == Fault::AcceptsAll {
            legal = Ok(());
        }
        let (mut answer, is_in_force) = self.in_force.carry_out(plan, partition.clone(), legal);
        if let (Event::Applied { actual, .. }, Fault::ClaimsLimits) = (&mut answer, self.fault) {
            let mut limited = Partition::default();
            for cluster in partition.clusters() {
                limited.add(Resources { bandwidth: BandwidthLevel::new(50), ..*cluster });
            }
            let places = partition.placements().iter();
            places.for_each(|place| limited.place(place.app, place.cluster));
            *actual = limited;
        }
        match self.fault {
            Fault::AnswersNothing if is_in_force => {}
            Fault::RefusesLate if !is_in_force => self.due.push(answer),
            Fault::RefusesLastFirst => self.reversed.push(answer),
            Fault::AnswersOfStrangers if is_in_force => {
                let mut actual = partition.clone();
                actual.place(AppId(77), 0);
                self.due.push_answer(Event::Applied { plan, actual });
            }
            _ => self.due.push_answer(answer),
        }
        if !is_in_force {
            if self.fault != Fault::AppliesRefused {
                return;
            }
            self.in_force.plan = Some(plan);
        }
        for window in self.apps.iter_mut().filter_map(|app| app.window.as_mut()) {
            window.straddle(Time::from_nanos(self.now));
            window.straddled |= self.fault == Fault::StraddlesAll;
        }
    }

    pub(super) fn watch(&mut self, app: AppId, every: WindowLength) {
        let length = match every {
            WindowLength::Instructions(count) => count,
            WindowLength::Time(time) => u64::try_from(time.as_nanos()).unwrap(),
        };
        let short = u64::from(self.fault == Fault::ShortWindows);
        let every = WindowLength::Time(Duration::from_nanos(length - short.min(length)));
        let now = Time::from_nanos(self.now);
        let fault = self.fault;
        let Some(app) = self.apps.iter_mut().find(|other| other.id == app) else { return };
        match &mut app.window {
            Some(_) if fault == Fault::KeepsWatch => {}
            Some(window) if fault == Fault::KeepsWindow => window.length = every,
            window => *window = Some(OpenWindow::new(every, now, ())),
        }
        if fault == Fault::NeverReports {
            app.window = None;
        }
    }
}
