//! The agenda: events that are due now, and times of events to come.

use fairways_core::machine::{Alarm, EventQueue};
use fairways_core::{AppId, Event, Time, Wish};

use crate::clock::Clock;
use crate::record::JobRecord;

/// An event that happens now and is still to be reported.
#[derive(Clone, Debug)]
pub(crate) enum DueEvent {
    Event(Event),
    Exit(AppId),
    Start(usize),
    /// The owner of a job changes its wish.
    Wish(usize, Wish),
}

impl From<Event> for DueEvent {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// The agenda: events that are due now, and times of events to come.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    pub(crate) due: EventQueue<DueEvent>,
    /// On the policy's clock.
    pub(crate) alarm: Alarm,
    /// Jobs that are still to start, the next one last.
    arrivals: Vec<(Time, usize)>,
    /// Later changes of owners' wishes, the next one last.
    wishes: Vec<(Time, usize, Wish)>,
}

impl Agenda {
    pub(crate) fn new(
        first: impl Iterator<Item = Event>,
        jobs: &[JobRecord],
        clock: Clock,
    ) -> Self {
        let (mut arrivals, mut wishes) = (Vec::new(), Vec::new());
        for (index, JobRecord { job, .. }) in jobs.iter().enumerate() {
            arrivals.push((clock.to_chip(job.at), index));
            wishes.extend(job.wishes.iter().map(|&(at, wish)| (clock.to_chip(at), index, wish)));
        }
        arrivals.sort_unstable_by(|a, b| b.cmp(a));
        wishes.sort_by_key(|&(at, job, _)| (at, job));
        wishes.reverse();
        Self {
            due: first.map(DueEvent::Event).collect(),
            alarm: Alarm::default(),
            arrivals,
            wishes,
        }
    }

    /// The times of the next events.
    pub(crate) fn next_times(&self, clock: Clock) -> [Option<Time>; 3] {
        let arrival = self.arrivals.last().map(|&(time, _)| time);
        let wish = self.wishes.last().map(|&(time, ..)| time);
        [self.alarm.at().map(|time| clock.to_chip(time)), arrival, wish]
    }

    pub(crate) fn report(&mut self, event: Event) {
        self.due.push(DueEvent::Event(event));
    }

    /// Makes the jobs that start now due, then the wishes that change now.
    pub(crate) fn collect_arrivals(&mut self, now: Time) {
        while let Some((_, job)) = self.arrivals.pop_if(|(time, _)| *time <= now) {
            self.due.push(DueEvent::Start(job));
        }
        while let Some((_, job, wish)) = self.wishes.pop_if(|(time, ..)| *time <= now) {
            self.due.push(DueEvent::Wish(job, wish));
        }
    }

    /// Whether any of these jobs is still to start.
    pub(crate) fn is_expecting(&self, is_one: impl Fn(usize) -> bool) -> bool {
        self.arrivals.iter().any(|&(_, job)| is_one(job))
    }

    /// Cancels the start of a job.
    pub(crate) fn cancel(&mut self, job: usize) {
        self.arrivals.retain(|&(_, other)| other != job);
        self.due.retain(|due| !matches!(due, DueEvent::Start(other) if *other == job));
    }

    /// Whether a program is about to exit.
    pub(crate) fn is_ending(&self, app: AppId) -> bool {
        self.due.iter().any(|due| matches!(due, DueEvent::Exit(other) if *other == app))
    }
}
