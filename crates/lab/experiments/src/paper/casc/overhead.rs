//! §5.3.4: the cost of measuring again all the time, where CASC can change nothing.

use std::time::Duration;

use fairways_chip::{Chip, ChipError, Geometry, Job, Scheduling, Settings};
use fairways_core::{Action, Event, NoPolicy, Policy, Q32, Time};
use fairways_policy::casc::{Casc, Parameters};
use rayon::prelude::*;

use super::setup::{chip, time_sharing};
use super::{Setting, claims};
use crate::paper::Findings;
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{RunControl, accounts, arrivals, run, run_until, solaris_settings};

/// The paper's load is twelve SPEC CPU2000 benchmarks that it does not name.
const LOAD: [&str; 12] = [
    "art", "mcf", "twolf", "gcc", "gzip", "parser", "vortex", "vpr", "crafty", "apsi", "gzip",
    "gcc",
];

/// The duration of each benchmark alone, on the policy's clock: the paper's twelve took 63 minutes.
const WORK: Duration = Duration::from_secs(30);

/// The least factor by which everything is shorter: the result does not depend on warm caches.
const SCALE: u32 = 100;

fn settings(setting: Setting) -> Settings {
    // Four processors with 4 MB each, which are not shared, and a fast bus: no program slows
    // another down.
    let bandwidth_mbps = f64::INFINITY;
    let chip = Geometry { cores: 4, threads: 1, bandwidth_mbps, ..chip(16 * 768) };
    let (time_scale, seed) = (setting.time_scale.max(SCALE), setting.seed);
    Settings { scheduler: Some(time_sharing()), time_scale, ..solaris_settings(chip, seed) }
}

/// What runs for the load.
fn load(setting: Setting) -> [BenchProgram; LOAD.len()] {
    LOAD.map(|name| BenchProgram::of_benchmark(name, setting.ground))
}

/// The instructions that a benchmark runs alone in that time.
fn work(program: BenchProgram, setting: Setting) -> Result<u64, ChipError> {
    let settings = settings(setting);
    let mut chip = Chip::new(settings, [program.job(&settings.chip, Time::ZERO)])?;
    run_until(&mut chip, &mut NoPolicy, Time::ZERO.after(WORK));
    let instructions = accounts(&chip, 1)[0].instructions;
    Ok(instructions * u64::from(settings.time_scale))
}

/// When the last benchmark finished, in seconds on the policy's clock; and the number of estimates.
fn finished(
    setting: Setting,
    work: &[u64],
    policy: &mut (dyn Policy + Send),
) -> Result<(f64, f64), ChipError> {
    let times = arrivals(setting.seed, LOAD.len(), Scheduling::default().quantum);
    let settings = settings(setting);
    let jobs = load(setting).into_iter().zip(times).zip(work).map(|((program, at), &work)| Job {
        instructions: Some(work),
        ..program.job(&settings.chip, at)
    });
    let mut chip = Chip::new(settings, jobs)?;
    let (mut last, mut left) = (Time::ZERO, LOAD.len());
    let mut counting = CountingPolicy { policy, estimates: 0 };
    run(&mut chip, &mut counting, Time::ZERO.after(WORK * 100), |at, event, _, _| {
        if matches!(event, Event::Exited { .. }) {
            left -= 1;
            last = at;
        }
        if left == 0 { RunControl::Stop } else { RunControl::Continue }
    });
    Ok((last.nanos() as f64 / 1e9, f64::from(counting.estimates)))
}

/// A policy whose estimates are counted.
struct CountingPolicy<'a> {
    policy: &'a mut (dyn Policy + Send),
    estimates: u32,
}

impl Policy for CountingPolicy<'_> {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.policy.handle(at, event, &mut |action| {
            self.estimates += u32::from(matches!(action, Action::Estimated { .. }));
            act(action);
        });
    }
}

pub(super) fn findings(setting: Setting, findings: &mut Findings) -> Result<(), ChipError> {
    let work: Vec<u64> = load(setting)
        .par_iter()
        .map(|&program| work(program, setting))
        .collect::<Result<_, ChipError>>()?;
    let parameters = Parameters {
        threshold: Q32::from_int(100),
        remeasure_every: Duration::from_millis(250),
        ..Parameters::default()
    };
    let policies: [Box<dyn Policy + Send>; 2] =
        [Box::new(NoPolicy), Box::new(Casc::new(parameters))];
    let times =
        policies.into_par_iter().map(|mut policy| finished(setting, &work, policy.as_mut()));
    let times: Vec<(f64, f64)> = times.collect::<Result<_, ChipError>>()?;
    // The policy's computation takes no time on the chip: this is the cost of measuring.
    findings.add(claims::REMEASURED_RUN_TIME, times[1].0 / times[0].0);
    findings.add(claims::WORKLOAD_MINUTES, times[1].0 / 60.0);
    let case = "PCMRs measured meanwhile";
    findings.add_beside("§5.3.4", case, "measurements", Some(times[1].1));
    Ok(())
}
