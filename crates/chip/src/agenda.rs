//! What happens now, and what is known to come.

use fairways_core::{AppId, Event, Time, Wish};
use fairways_machine_kit::{self as machine_kit, Alarm};

use crate::clock::Clock;
use crate::record::Record;

/// Something that happens now, and is still to be told.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    Event(Event),
    Exit(AppId),
    Start(usize),
    /// The owner of a job asks for something else.
    Wish(usize, Wish),
}

impl From<Event> for Due {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// What happens now, and what is known to come.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    pub(crate) due: machine_kit::EventQueue<Due>,
    /// On the policy's clock.
    pub(crate) alarm: Alarm,
    /// Jobs that are still to come, the next one last.
    arrivals: Vec<(Time, usize)>,
    /// What owners will ask for, the next one last.
    wishes: Vec<(Time, usize, Wish)>,
}

impl Agenda {
    pub(crate) fn new(first: impl Iterator<Item = Event>, jobs: &[Record], clock: Clock) -> Self {
        let (mut arrivals, mut wishes) = (Vec::new(), Vec::new());
        for (index, Record { job, .. }) in jobs.iter().enumerate() {
            arrivals.push((clock.here(job.at), index));
            wishes.extend(job.wishes.iter().map(|&(at, wish)| (clock.here(at), index, wish)));
        }
        arrivals.sort_unstable_by(|a, b| b.cmp(a));
        wishes.sort_by_key(|&(at, job, _)| (at, job));
        wishes.reverse();
        Self { due: first.map(Due::Event).collect(), alarm: Alarm::default(), arrivals, wishes }
    }

    /// The times of what comes next.
    pub(crate) fn next_times(&self, clock: Clock) -> [Option<Time>; 3] {
        let arrival = self.arrivals.last().map(|&(time, _)| time);
        let wish = self.wishes.last().map(|&(time, ..)| time);
        [self.alarm.at().map(|time| clock.here(time)), arrival, wish]
    }

    pub(crate) fn tell(&mut self, event: Event) {
        self.due.push(Due::Event(event));
    }

    /// Jobs that come now are due, then wishes.
    pub(crate) fn come(&mut self, now: Time) {
        while let Some((_, job)) = self.arrivals.pop_if(|(time, _)| *time <= now) {
            self.due.push(Due::Start(job));
        }
        while let Some((_, job, wish)) = self.wishes.pop_if(|(time, ..)| *time <= now) {
            self.due.push(Due::Wish(job, wish));
        }
    }

    /// Whether any of these jobs is still to come.
    pub(crate) fn expects(&self, is_one: impl Fn(usize) -> bool) -> bool {
        self.arrivals.iter().any(|&(_, job)| is_one(job))
    }

    /// A job does not start any more.
    pub(crate) fn cancel(&mut self, job: usize) {
        self.arrivals.retain(|&(_, other)| other != job);
        self.due.retain(|due| !matches!(due, Due::Start(other) if *other == job));
    }

    /// Whether a program is about to exit.
    pub(crate) fn ends(&self, app: AppId) -> bool {
        self.due.iter().any(|due| matches!(due, Due::Exit(other) if *other == app))
    }
}
