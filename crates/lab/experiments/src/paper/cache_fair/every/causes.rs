//! Runs the programs that vary enough again, to find out why: with the cache divided equally, with
//! cache-fair when it knows the fair miss rates from there, and with its published form, which
//! extends the line through its points beyond what was observed (decision cache-fair 15).

use std::array;

use fairways_chip::ChipError;
use fairways_policy::cache_fair::Parameters;
use rayon::prelude::*;

use super::super::Setting;
use super::super::setup::{SchedulingMode, THREADS};
use super::{ITEM, add_factors, factor, schedule_run, schedules, variability};
use crate::paper::Findings;
use crate::paper::programs::BenchProgram;

/// The causes: what is different in each.
const CAUSES: [&str; 3] =
    ["cache divided equally", "fair miss rates known", "extrapolating, as published"];

/// Seconds of a segment: by schedule, fast and slow, and by cause.
type CauseTimes = [[f64; CAUSES.len()]; 2];

fn run(program: BenchProgram, number: u64, setting: Setting) -> Result<CauseTimes, ChipError> {
    let unbounded = Parameters { penalty_limit: 0, ..Parameters::default() };
    let published = Parameters { extrapolates: true, ..unbounded };
    let mut times = CauseTimes::default();
    for (schedule, seconds) in schedules(program).into_iter().zip(&mut times) {
        let divided = schedule_run(schedule, SchedulingMode::Partitioned, number).run(setting)?;
        let known: [f64; THREADS] = array::from_fn(|thread| divided.mpc(thread));
        let knowing = SchedulingMode::Knowing(unbounded, known);
        let extrapolating = SchedulingMode::CacheFair(published);
        *seconds = [
            divided.seconds,
            schedule_run(schedule, knowing, number).run(setting)?.seconds,
            schedule_run(schedule, extrapolating, number).run(setting)?.seconds,
        ];
    }
    Ok(times)
}

fn runs(program: BenchProgram, setting: Setting) -> Result<Vec<CauseTimes>, ChipError> {
    (0..setting.runs).into_par_iter().map(|number| run(program, number, setting)).collect()
}

/// `varying`: the programs, and how much each varies under the conventional scheduler, percent.
pub(super) fn findings(
    setting: Setting,
    varying: &[(BenchProgram, f64)],
    findings: &mut Findings,
) -> Result<(), ChipError> {
    let times: Vec<Vec<CauseTimes>> =
        varying.par_iter().map(|(program, _)| runs(*program, setting)).collect::<Result<_, _>>()?;
    for (cause, name) in CAUSES.into_iter().enumerate() {
        let varies: Vec<f64> = times.iter().map(|runs| variability(runs, cause)).collect();
        let factors: Vec<f64> = varying
            .iter()
            .zip(&varies)
            .map(|((_, conventional), varies)| factor(*conventional, *varies))
            .collect();
        for ((program, _), varies) in varying.iter().zip(&varies) {
            let case = format!("{}, slow over fast, {name}", program.name());
            findings.add_beside(ITEM, &case, "percent", Some(*varies));
        }
        add_factors(&factors, &format!("their factor, {name}"), findings);
    }
    Ok(())
}
