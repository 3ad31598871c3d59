//! Tenants on the paper's server, and their results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairways_chip::{ChipError, Job, PageSize, Phase, Settings, preset, program};
use fairways_core::{AppId, Policy, Time, Wish};
use fairways_policy::by_name;
use fairways_policy::dcat::{Dcat, Parameters};

use super::host::HostedPolicy;
use crate::executed::{ProgramStep, timeline};

/// The paper's round (§4), on the policy's clock.
pub(super) const ROUND: Duration = Duration::from_secs(1);

/// MLOAD with 60 MB: as fast as a core reads memory (decision dCat 23).
pub(super) const MLOAD: &str = "mload:60M:cpi=0.25:overlap=32";

/// How the cache is divided.
#[derive(Clone, Copy, Debug)]
pub(super) enum CacheMode {
    /// All tenants in every way: the paper's shared cache.
    Shared,
    /// Each tenant in the ways of its baseline: the paper's static CAT.
    Static,
    /// By dCat.
    Dcat(Parameters),
}

impl CacheMode {
    pub(super) fn policy(self) -> Box<dyn Policy> {
        fn named(name: &str) -> Box<dyn Policy> {
            by_name(name).expect("a policy's name")
        }
        match self {
            Self::Shared => named("stock"),
            Self::Static => named("static"),
            Self::Dcat(parameters) => Box::new(Dcat::new(parameters)),
        }
    }
}

/// Finished runs, by everything that decides their outcome. Both forms of dCat share the runs in
/// which dCat does not decide.
#[derive(Debug, Default)]
pub(super) struct FinishedRuns(Mutex<HashMap<String, TenantRun>>);

/// How a chip is simulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct DcatBench<'a> {
    pub(super) settings: Settings,
    /// dCat's parameters, where an experiment does not change one.
    pub(super) dcat: Parameters,
    /// MLOAD with 60 MB, as it is written.
    pub(super) mload: &'a str,
    /// A program of the host, outside of every class of service.
    pub(super) host: Option<&'a str>,
    pub(super) finished: &'a FinishedRuns,
}

impl<'a> DcatBench<'a> {
    /// The chip of a text, `time_scale` times as fast as the policy assumes.
    pub(super) fn new(chip: &str, time_scale: u32, seed: u64, finished: &'a FinishedRuns) -> Self {
        let chip = preset::parse(chip).expect("a chip of the experiments");
        let settings = Settings { time_scale, seed, ..Settings::new(chip) };
        Self { settings, dcat: Parameters::default(), mload: MLOAD, host: None, finished }
    }

    /// The same on another chip.
    pub(super) fn on(self, chip: &str) -> Self {
        let chip = preset::parse(chip).expect("a chip of the experiments");
        Self { settings: Settings { chip, ..self.settings }, ..self }
    }

    pub(super) fn with_pages(self, pages: PageSize) -> Self {
        Self { settings: Settings { pages, ..self.settings }, ..self }
    }

    /// Runs tenants round by round. The host's program is the last one.
    pub(super) fn run(
        self,
        tenants: &[Job],
        under: CacheMode,
        rounds: u32,
    ) -> Result<TenantRun, ChipError> {
        let mut jobs = tenants.to_vec();
        jobs.extend(self.host.map(|text| tenant(text, 1)));
        let key = format!("{:?}", (self.settings, self.host, under, rounds, &jobs));
        let finished = || self.finished.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = finished().get(&key) {
            return Ok(run.clone());
        }
        let mut policy = under.policy();
        if self.host.is_some() {
            let host = AppId(u32::try_from(tenants.len()).unwrap_or(u32::MAX));
            policy = Box::new(HostedPolicy::new(policy, host, self.settings.chip.llc.ways));
        }
        let run = timeline(self.settings, &jobs, policy.as_mut(), ROUND, rounds).map(TenantRun)?;
        finished().insert(key, run.clone());
        Ok(run)
    }

    /// The IPC of a program alone with this many ways, after the first of its rounds.
    pub(super) fn alone(self, text: &str, ways: u32, rounds: u32) -> Result<f64, ChipError> {
        Ok(self.run(&[tenant(text, ways)], CacheMode::Static, rounds)?.ipc(0, rounds - 1))
    }
}

/// The steps of each tenant by round.
#[derive(Clone, Debug)]
pub(super) struct TenantRun(pub(super) Vec<Vec<ProgramStep>>);

impl TenantRun {
    /// Instructions per cycle in the last `last` rounds.
    pub(super) fn ipc(&self, tenant: usize, last: u32) -> f64 {
        let moments = &self.0[tenant];
        let from = moments.len().saturating_sub(last as usize);
        let counted = moments[from..].iter().map(|moment| moment.counted);
        let (instructions, cycles) = counted.fold((0.0, 0.0), |(instructions, cycles), counted| {
            (instructions + counted.instructions as f64, cycles + counted.cycles())
        });
        instructions / cycles
    }

    /// The ways from the end of each round on.
    pub(super) fn ways(&self, tenant: usize) -> Vec<u32> {
        self.0[tenant].iter().map(|moment| moment.ways).collect()
    }

    /// The ways at the end.
    pub(super) fn final_ways(&self, tenant: usize) -> u32 {
        self.0[tenant].last().map_or(0, |moment| moment.ways)
    }

    /// The most ways after this many rounds.
    pub(super) fn most_ways(&self, tenant: usize, after: usize) -> u32 {
        self.ways(tenant).into_iter().skip(after).max().unwrap_or(0)
    }

    /// The first end of a round, in seconds, from which on it has as many ways as at the end, or
    /// more.
    pub(super) fn seconds_to_enough(&self, tenant: usize) -> f64 {
        let last = self.final_ways(tenant);
        let moments = &self.0[tenant];
        let before = moments.iter().rposition(|moment| moment.ways < last);
        before.map_or(1.0, |before| (before + 2) as f64)
    }

    /// IPC in each round over that in the first whole one with `baseline` ways; 0 where nothing
    /// ran.
    pub(super) fn normalised(&self, tenant: usize, baseline: u32) -> Vec<f64> {
        let moments = &self.0[tenant];
        let unit = moments.windows(2).find_map(|pair| {
            pair[1].ipc().filter(|_| pair[0].ways == baseline && pair[0].counted.ticks > 0)
        });
        moments
            .iter()
            .map(|moment| moment.ipc().zip(unit).map_or(0.0, |(ipc, unit)| ipc / unit))
            .collect()
    }
}

/// A program, as it is written, with this baseline.
pub(super) fn tenant(text: &str, baseline: u32) -> Job {
    let phases = program::parse(text, |_| None).expect("a program of the experiments");
    let phases = phases
        .into_iter()
        .map(|(program, length)| Phase { program: program.map(Arc::new), length });
    Job {
        phases: phases.collect(),
        wish: Wish { baseline_ways: Some(baseline), ..Wish::default() },
        ..Job::default()
    }
}

/// The same, from this second on.
pub(super) fn later(seconds: u32, job: Job) -> Job {
    Job { at: Time::ZERO.after(ROUND * seconds), ..job }
}

/// These tenants, and `polite` others that only compute.
pub(super) fn among(tenants: &[Job], polite: usize, baseline: u32) -> Vec<Job> {
    let polite = std::iter::repeat_n(tenant("lookbusy", baseline), polite);
    tenants.iter().cloned().chain(polite).collect()
}
