//! Checks that a chip can be simulated, and that it can run these programs.

use crate::error::ChipError;
use crate::geometry::MOST_CORES;
use crate::job::Job;
use crate::service::{Requests, Stage};
use crate::settings::{Scheduling, Settings};

/// The largest time scale: a second takes at least a microsecond.
const MOST_SCALE: u32 = 1_000_000;

pub(crate) fn check(settings: &Settings, jobs: &[Job]) -> Result<(), ChipError> {
    let Settings { chip, set_sampling, time_scale, scheduler, .. } = *settings;
    chip.check()?;
    let programs = jobs.len();
    match scheduler {
        Some(scheduling) => check_turns(scheduling, jobs)?,
        None if programs > chip.cpus() as usize => {
            return Err(ChipError::TooManyPrograms { cpus: chip.cpus(), programs });
        }
        None => {}
    }
    for (what, found, most) in [
        ("nodes", settings.nodes, chip.cpus()),
        ("set sampling", set_sampling, chip.sets),
        ("time scale", time_scale, MOST_SCALE),
    ] {
        if !(1..=most).contains(&found) {
            return Err(ChipError::Share { what, most, found });
        }
    }
    jobs.iter().flat_map(Job::streams).try_for_each(|stream| stream.check(&chip))?;
    jobs.iter().try_for_each(|job| check_service(job, time_scale)).map_err(ChipError::Service)
}

/// Checks that these jobs can take turns.
fn check_turns(scheduling: Scheduling, jobs: &[Job]) -> Result<(), ChipError> {
    let (most, programs) = (MOST_CORES - u32::from(scheduling.system), jobs.len());
    if programs > most as usize {
        return Err(ChipError::TooManyThreads { most, programs });
    }
    if jobs.iter().any(|job| job.requests().is_some()) {
        return Err(ChipError::ServiceTurns);
    }
    for (what, span) in [("quantum", scheduling.quantum), ("tick", scheduling.tick)] {
        if span.is_zero() {
            return Err(ChipError::Span(what));
        }
    }
    Ok(())
}

/// Checks that a job can answer its requests, if it is a service. The error names the expected
/// value.
fn check_service(job: &Job, time_scale: u32) -> Result<(), &'static str> {
    let requests = job.requests();
    requests.map_or(Ok(()), |requests: &Requests| requests.check(time_scale))?;
    let programs = job.phases.iter().filter_map(|phase| phase.program.as_ref());
    let mut of_phases = programs.map(|program| program.requests.as_ref());
    if of_phases.any(|other| other != requests) {
        return Err("the same requests in every phase");
    }
    job.loads.iter().try_for_each(Stage::check)
}
