//! A chip that is observed while it runs.

use std::time::Duration;

use fairways_chip::{Chip, ChipError, Job, Settings};
use fairways_core::{Action, Event, Machine, Time};

use super::served::{Service, ServiceSummary, WINDOW};

/// A chip, and the answers of its services. Without services it behaves like the chip alone.
pub struct ObservedChip {
    /// The chip; use [`ObservedChip`]'s methods for its events, the end of time, and latencies.
    pub chip: Chip,
    services: Vec<Option<Service>>,
    time_scale: u32,
    /// The start of the answers that count, the time up to which they are known, the next look at
    /// the chip, and the end.
    since: Time,
    known: Time,
    look: Time,
    end: Time,
}

impl ObservedChip {
    /// A chip on which these jobs run.
    ///
    /// # Errors
    /// If the chip is not possible: [`ChipError`].
    pub fn new(settings: Settings, jobs: impl IntoIterator<Item = Job>) -> Result<Self, ChipError> {
        let jobs: Vec<Job> = jobs.into_iter().collect();
        let services = jobs.iter().map(|job| job.requests().map(|_| Service::new(job))).collect();
        let chip = Chip::new(settings, jobs)?;
        let (since, known, end) = (Time::ZERO, Time::ZERO, Time::from_nanos(u64::MAX));
        let time_scale = settings.time_scale;
        let mut machine = Self { chip, services, time_scale, since, known, look: end, end };
        machine.look_next();
        Ok(machine)
    }

    /// Ends the events after `time`.
    pub fn stop_at(&mut self, time: Time) {
        self.end = time;
        self.look_next();
    }

    /// Forgets the answers so far.
    pub fn forget(&mut self) {
        self.since = self.known;
        for (job, service) in (0..).zip(&mut self.services) {
            self.chip.take_latencies(job);
            service.iter_mut().for_each(|service| service.forget(self.known));
        }
    }

    /// How a job has answered since; `None` if it is no service.
    #[must_use]
    pub fn service_summary(&self, job: usize) -> Option<ServiceSummary> {
        Some(self.services[job].as_ref()?.summary(self.since, self.known))
    }

    /// Where services run, lets the chip run on to the end of a window at most.
    fn look_next(&mut self) {
        self.look = self.end;
        if self.services.iter().any(Option::is_some) {
            let into = self.known.since(self.since).as_nanos() % WINDOW.as_nanos();
            let into = Duration::from_nanos(u64::try_from(into).unwrap_or(0));
            self.look = self.known.after(WINDOW - into).min(self.end);
        }
        self.chip.stop_at(self.look);
    }

    /// Collects the answers up to the chip's time; returns whether the chip has reached the next
    /// look.
    fn collect(&mut self) -> bool {
        // The chip's time is coarser with a larger time scale.
        let reached = self.look.since(self.chip.now()).as_nanos() < u128::from(self.time_scale);
        let now = if reached { self.look } else { self.chip.now() };
        if now <= self.known {
            return reached;
        }
        self.known = now;
        let is_end = now.since(self.since).as_nanos().is_multiple_of(WINDOW.as_nanos());
        for (job, service) in (0..).zip(&mut self.services) {
            let Some(service) = service else { continue };
            service.take_in(&self.chip.take_latencies(job), now, is_end);
        }
        reached
    }
}

impl Machine for ObservedChip {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            let event = self.chip.next_event();
            if event.is_some() {
                return event;
            }
            if !self.collect() || self.look >= self.end {
                return None;
            }
            self.look_next();
        }
    }

    fn carry_out(&mut self, action: Action<'_>) {
        self.chip.carry_out(action);
    }
}
