//! §5.3.4: what measuring again all the time costs, where CASC can change nothing.

use std::time::Duration;

use fairways_chip::{Chip, ChipError, Geometry, Scheduling, Settings};
use fairways_core::{Policy, Q32, Time};
use fairways_policy::casc::{Casc, Parameters};
use rayon::prelude::*;

use super::Setting;
use super::setup::chip;
use crate::paper::Findings;
use crate::paper::turns::{Nobody, Stretch, accounts, arrivals, job, pass};

/// The paper's load is twelve SPEC CPU2000 benchmarks that it does not name.
const LOAD: [&str; 12] = [
    "art", "mcf", "twolf", "gcc", "gzip", "parser", "vortex", "vpr", "crafty", "apsi", "gzip",
    "gcc",
];

/// How long is run, on the policy's clock.
const SPAN: Duration = Duration::from_secs(6);

fn run_time(setting: Setting, policy: &mut (dyn Policy + Send)) -> Result<f64, ChipError> {
    // Four processors with 4 MB each, which are not shared: so much that nobody is in another's way.
    let chip = Geometry { cores: 4, threads: 1, ..chip(16 * 768) };
    let scheduler = Some(Scheduling::default());
    let Setting { time_scale, seed, .. } = setting;
    let settings = Settings { scheduler, time_scale, seed, ..Settings::new(chip) };
    let times = arrivals(seed, LOAD.len(), Scheduling::default().quantum);
    let jobs = LOAD.iter().zip(times).map(|(name, at)| job(name, at));
    let mut chip = Chip::new(settings, jobs)?;
    pass(&mut chip, policy, Time::ZERO.after(SPAN));
    let all = accounts(&chip, LOAD.len());
    let seconds = SPAN.as_secs_f64() / f64::from(time_scale);
    Ok(1.0 / Stretch { each: all, seconds }.throughput())
}

pub(super) fn run(setting: Setting, findings: &mut Findings) -> Result<(), ChipError> {
    let parameters = Parameters {
        threshold: Q32::from_int(100),
        remeasure_every: Duration::from_millis(250),
        ..Parameters::default()
    };
    let policies: [Box<dyn Policy + Send>; 2] = [Box::new(Nobody), Box::new(Casc::new(parameters))];
    let times = policies.into_par_iter().map(|mut policy| run_time(setting, policy.as_mut()));
    let times: Vec<f64> = times.collect::<Result<_, ChipError>>()?;
    let case = "run time with periodic re-measurement over default";
    findings.add("§5.3.4", case, times[1] / times[0]);
    Ok(())
}
