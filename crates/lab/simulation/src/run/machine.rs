//! The machines that `run` knows.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairways_chip::Account;
use fairways_command_kit::BadInput;
use fairways_core::{Action, AppId, Event, Machine, Time};
use fairways_experiments::{ObservedChip, ServiceSummary};
use fairways_model::Model;

/// A machine on which the programs run; job `i` is program `i`.
pub enum Running {
    /// The analytic model.
    Model(Box<Model>),
    /// A chip.
    Chip(Box<ObservedChip>),
}

impl Machine for Running {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        match self {
            Self::Model(model) => model.next_event(),
            Self::Chip(chip) => chip.next_event(),
        }
    }

    fn carry_out(&mut self, action: Action<'_>) {
        match self {
            Self::Model(model) => model.carry_out(action),
            Self::Chip(chip) => chip.carry_out(action),
        }
    }
}

impl Running {
    /// The time of the last event reported.
    pub fn now(&self) -> Time {
        match self {
            Self::Model(model) => model.now(),
            Self::Chip(of) => of.chip.now(),
        }
    }

    /// The job that a program runs; `None` if it does not run.
    pub fn job(&self, app: AppId) -> Option<usize> {
        match self {
            Self::Model(model) => model.job(app),
            Self::Chip(of) => of.chip.job(app),
        }
    }

    /// How many runs of a job have ended.
    pub fn runs(&self, job: usize) -> usize {
        match self {
            Self::Model(model) => model.completions(job).len(),
            Self::Chip(of) => of.chip.completions(job).len(),
        }
    }

    /// What a job has done on a chip.
    pub fn account(&self, job: usize) -> Account {
        match self {
            Self::Model(_) => Account::default(),
            Self::Chip(of) => of.chip.account(job),
        }
    }

    /// How a job has answered; `None` if it is no service.
    pub fn served(&self, job: usize) -> Option<ServiceSummary> {
        match self {
            Self::Model(_) => None,
            Self::Chip(of) => of.service_summary(job),
        }
    }

    /// Reports no more events once this is true.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        // The model never works for long between two events.
        if let Self::Chip(of) = self {
            of.chip.stop_when(stop);
        }
    }

    /// Ends real programs, which run outside the machine.
    pub fn end(&mut self) {
        if let Self::Chip(of) = self {
            of.chip.end_live_programs();
        }
    }

    /// Why the machine stopped: memory can't serve the programs, or one could not continue.
    pub fn failure(&self, after: Time) -> Option<anyhow::Error> {
        match self {
            Self::Model(model) => {
                let why = model.failure()?;
                Some(BadInput(format!("after {after}: {why}")).into())
            }
            Self::Chip(of) => Some(anyhow::anyhow!("after {after}: {}", of.chip.failure()?)),
        }
    }

    /// Reports no event after this time.
    pub fn stop_at(&mut self, time: Time) {
        match self {
            Self::Model(model) => model.stop_at(time),
            Self::Chip(chip) => chip.stop_at(time),
        }
    }
}
