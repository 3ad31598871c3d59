//! Policies with memory as the bottleneck, on the chip: mixes drawn by seed, a third of whose
//! programs stream, and a service beside streams.
//!
//! The chip is Skylake's with a narrow bus, whose latency grows with its load as measured on
//! Cascade Lake, and with Intel's limits of bandwidth. Nothing is known about programs beforehand.

mod timeline;

use std::time::Duration;

use fairways_chip::preset::parse;
use fairways_chip::program::profiled;
use fairways_chip::{AfterRun, ChipError, Job, Settings};
use fairways_core::{Action, Event, Objective, Policy, Q32, Time, Ways, Wish};
use fairways_policy::descriptor;
use fairways_profiles::{Mix, ProfileTable};
use rayon::prelude::*;

use super::bandwidth::{claims, stream};
use super::{ClaimName, Findings};
use crate::draw::streaming_mixes;
use crate::executed::{ChipOutcome, ChipProtocol, SoloRun, measure_alone, run_together};
pub use timeline::{ObjectiveTimeline, ObjectiveTimelines, objective_timelines};

/// Bandwidths of the bus, MB/s, and programs of a mix.
const MBPS: [u32; 2] = [12_000, 15_000];
const SIZES: [usize; 2] = [8, 16];

/// The bus of Skylake, which has capacity for every mix.
const WIDE_MBPS: u32 = 102_000;

/// A bus counts as full if the programs use this share of it under the policy without limits.
const FULL: f64 = 0.9;

/// One in this many sets is simulated, and a second on the policy's clock takes this part of a
/// second.
const SET_SAMPLING: u32 = 32;
const TIME_SCALE: u32 = 100;

/// The policy without limits of bandwidth, and with them.
const WAYS_ONLY: &str = "fairways, ways only";
const BOTH: &str = "fairways";

/// The policies by their names here, each with its real name and its settings that are not
/// defaults.
const POLICIES: [PolicySetting; 6] = [
    ("stock", "stock", &[]),
    ("lfoc", "lfoc", &[]),
    ("parties", "parties", &[]),
    ("mba-feedback", "mba-feedback", &[]),
    (WAYS_ONLY, "fairways", &[("limit_bandwidth", "false")]),
    (BOTH, "fairways", &[]),
];

type PolicySetting = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The policies under which the service runs.
const SERVED: [&str; 4] = ["stock", "parties", WAYS_ONLY, BOTH];

/// The service, its load in requests a second, and the objective of its 99th percentile.
const SERVICE: &str = "silo-like";
const LOAD: &str = "1000";
const SLO: Duration = Duration::from_micros(1500);

/// The number of streams beside it, and the interval between the requests of each, ns.
pub const STREAMS: usize = 4;
const STREAM_NANOS: f64 = 16.0;

/// Policies on a full bus.
#[derive(Clone, Copy, Debug)]
pub struct FullBus<'a> {
    table: &'a ProfileTable,
    /// The number of mixes for each bus and size.
    mixes: usize,
    seed: u64,
}

/// A policy that counts the plans in which a program is limited.
struct CountedLimits {
    policy: Box<dyn Policy>,
    plans: u64,
}

impl Policy for CountedLimits {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Self { policy, plans } = self;
        policy.handle(at, event, &mut |action| {
            if let Action::Partition { partition, .. } = &action {
                *plans += u64::from(partition.clusters().iter().any(|of| of.bandwidth.is_some()));
            }
            act(action);
        });
    }
}

/// The results of policies on a mix.
struct MixOnBus {
    mbps: u32,
    name: String,
    /// By policy: the outcome, and the plans with limits.
    outcomes: Vec<(&'static str, ChipOutcome, u64)>,
}

impl MixOnBus {
    fn of(&self, policy: &str) -> Option<&(&'static str, ChipOutcome, u64)> {
        self.outcomes.iter().find(|(name, ..)| *name == policy)
    }

    /// The share of the bus that the programs use without limits.
    fn use_of_bus(&self) -> f64 {
        let moved = self.of(WAYS_ONLY).map_or(0.0, |(_, outcome, _)| {
            outcome.programs.iter().map(|program| program.rate.bandwidth_mbps).sum()
        });
        moved / f64::from(self.mbps)
    }

    /// A policy's unfairness and STP relative to ways only.
    fn over_ways_only(&self, policy: &str) -> Option<[f64; 2]> {
        let [own, ways] =
            [policy, WAYS_ONLY].map(|name| self.of(name).map(|(_, of, _)| &of.metrics));
        let (own, ways) = (own?, ways?);
        Some([own.unfairness / ways.unfairness, own.stp / ways.stp])
    }
}

impl<'a> FullBus<'a> {
    /// All runs, with these programs.
    #[must_use]
    pub fn new(table: &'a ProfileTable, seed: u64) -> Self {
        Self { table, mixes: 2, seed }
    }

    /// Runs everything. `progress` is called with the current step, the steps done, and all steps.
    ///
    /// # Errors
    /// If the chip is not possible.
    pub fn run(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<ObjectiveTimelines, ChipError> {
        let ways = Ways::new(11).filter(|ways| *ways <= self.table.ways());
        let ways = ways.unwrap_or_else(|| self.table.ways());
        let mixes = streaming_mixes(self.table, ways, &SIZES, self.mixes, self.seed);
        let mut found = Vec::new();
        for (place, (mbps, mix)) in
            MBPS.iter().flat_map(|&mbps| mixes.iter().map(move |mix| (mbps, mix))).enumerate()
        {
            progress("policies on a narrow bus", place, MBPS.len() * mixes.len());
            let names: Vec<&str> = POLICIES.iter().map(|(name, ..)| *name).collect();
            found.push(self.mix(mbps, ways, mix, &names)?);
        }
        let [full, room]: [Vec<&MixOnBus>; 2] = [true, false]
            .map(|is| found.iter().filter(|mix| (mix.use_of_bus() >= FULL) == is).collect());
        let aims = [claims::UNFAIRNESS_ON_FULL_BUS, claims::STP_ON_FULL_BUS];
        compare("policies on a full bus", &full, Some(aims), findings);
        compare("policies on a bus that is not full", &room, None, findings);
        let mut limits = 0;
        for (place, mix) in mixes.iter().enumerate() {
            progress("a bus with room", place, mixes.len());
            let found = self.mix(WIDE_MBPS, ways, mix, &[BOTH])?;
            limits += found.of(BOTH).map_or(0, |(_, _, limits)| *limits);
        }
        findings.add(claims::LIMITS_WITH_ROOM, limits as f64);
        progress("a service beside streams", 0, 2);
        self.service(findings)?;
        progress("a service beside streams", 1, 2);
        objective_timelines(self.seed)
    }

    /// Runs a mix under each of these policies.
    fn mix(
        &self,
        mbps: u32,
        ways: Ways,
        mix: &Mix,
        policies: &[&str],
    ) -> Result<MixOnBus, ChipError> {
        let settings = settings(mbps, self.seed);
        let latency = settings.chip.latency;
        // A program that never references the cache is not simulated.
        let jobs: Vec<Job> = mix
            .programs
            .iter()
            .filter_map(|&program| profiled(self.table, program, ways, latency).ok().map(Job::new))
            .collect();
        let outcomes = run_all(settings, &jobs, &protocol(), policies)?;
        Ok(MixOnBus { mbps, name: format!("{} at {} GB/s", mix.name, mbps / 1000), outcomes })
    }

    /// A service beside streams that are best effort.
    fn service(&self, findings: &mut Findings) -> Result<(), ChipError> {
        let item = "an objective beside streams";
        let settings = service_settings(self.seed);
        for (name, outcome, _) in run_all(settings, &service_jobs(), &protocol(), &SERVED)? {
            let kept = outcome.programs[0].service.and_then(|service| service.objective);
            let windows = kept.map(|kept| f64::from(kept.windows_met) / f64::from(kept.windows));
            let windows = windows.unwrap_or(f64::NAN);
            match name {
                WAYS_ONLY => findings.add(claims::WINDOWS_WAYS_ONLY, windows),
                BOTH => findings.add(claims::WINDOWS_WITH_LIMITS, windows),
                _ => {
                    let case = format!("{name}, windows within it");
                    findings.add_beside(item, &case, "ratio", Some(windows));
                }
            }
            let tail = kept.and_then(|kept| kept.tail_ms);
            findings.add_beside(item, &format!("{name}, 99th percentile"), "ms", tail);
            let moved: f64 = outcome.programs[1..].iter().map(|of| of.rate.bandwidth_mbps).sum();
            findings.add_beside(
                item,
                &format!("{name}, moved by the streams"),
                "GB/s",
                Some(moved / 1e3),
            );
        }
        Ok(())
    }
}

fn settings(mbps: u32, seed: u64) -> Settings {
    let chip = parse(&format!("skylake:bus=cascade-lake:mbps={mbps}"));
    let chip = chip.expect("a chip of this project");
    let (set_sampling, time_scale) = (SET_SAMPLING, TIME_SCALE);
    Settings { set_sampling, time_scale, seed, ..Settings::new(chip) }
}

/// The scale of the mixes would have too few requests.
fn service_settings(seed: u64) -> Settings {
    Settings { time_scale: 20, ..settings(MBPS[0], seed) }
}

/// The service, and the streams.
fn service_jobs() -> Vec<Job> {
    let objective = Some(Objective { slo: SLO, percentile: Q32::from_int(99) });
    let wish = Wish { objective, ..Wish::default() };
    let program = fairways_chip::program::named(SERVICE).expect("a model of this project");
    let loads = fairways_chip::service::parse_loads(LOAD).expect("a load");
    let service = Job { wish, loads, ..Job::new(program) };
    let batch = Wish { best_effort: true, ..Wish::default() };
    let streams = (0..STREAMS).map(|_| Job { wish: batch, ..stream(STREAM_NANOS) });
    std::iter::once(service).chain(streams).collect()
}

/// The protocol is longer, as limits are found one step after the other.
fn protocol() -> ChipProtocol {
    ChipProtocol {
        warm_up: Duration::from_secs(25),
        span: Duration::from_secs(5),
        profile: Duration::ZERO,
        profiles_known: false,
    }
}

/// A policy with settings that are not defaults.
fn made(policy: &str, set: &[(&'static str, &'static str)]) -> Box<dyn Policy> {
    let descriptor = descriptor(policy).expect("a policy's name");
    let set: Vec<_> = set
        .iter()
        .filter_map(|&(key, text)| Some((key, descriptor.parameter(key)?.read(text).ok()?)))
        .collect();
    descriptor.make(&set).policy
}

/// Runs programs under each of these policies, by their names here.
fn run_all(
    settings: Settings,
    jobs: &[Job],
    protocol: &ChipProtocol,
    policies: &[&str],
) -> Result<Vec<(&'static str, ChipOutcome, u64)>, ChipError> {
    let ways = settings.chip.llc.ways.get();
    let second = Duration::from_secs(1);
    let alone: Vec<SoloRun> = jobs
        .par_iter()
        .map(|job| measure_alone(settings, job, ways, second, 2 * second))
        .collect::<Result<_, ChipError>>()?;
    let chosen = POLICIES.into_par_iter().filter(|(name, ..)| policies.contains(name));
    chosen
        .map(|(name, policy, set)| {
            let mut policy = CountedLimits { policy: made(policy, set), plans: 0 };
            let jobs = jobs.iter().map(|job| Job { then: AfterRun::Restart, ..job.clone() });
            let outcome = run_together(settings, jobs, protocol, &alone, &mut policy)?;
            Ok((name, outcome, policy.plans))
        })
        .collect()
}

/// Reports each policy relative to ways only. `aims`: the claims about unfairness and STP with
/// limits.
fn compare(item: &str, mixes: &[&MixOnBus], aims: Option<[ClaimName; 2]>, findings: &mut Findings) {
    findings.add_beside(item, "mixes", "mixes", Some(mixes.len() as f64));
    for (name, ..) in POLICIES.iter().filter(|(name, ..)| *name != WAYS_ONLY) {
        let over: Vec<[f64; 2]> = mixes.iter().filter_map(|mix| mix.over_ways_only(name)).collect();
        for (place, what) in ["unfairness", "STP"].into_iter().enumerate() {
            if over.is_empty() {
                continue;
            }
            let mean = over.iter().map(|of| of[place]).sum::<f64>() / over.len() as f64;
            match aims.filter(|_| *name == BOTH) {
                Some(aims) => findings.add(aims[place], mean),
                None => {
                    let case = format!("{name}, {what} over ways only, mean");
                    findings.add_beside(item, &case, "ratio", Some(mean));
                }
            }
        }
    }
    for mix in mixes {
        findings.add_beside(
            item,
            &format!("{}, use of the bus", mix.name),
            "ratio",
            Some(mix.use_of_bus()),
        );
        for (name, outcome, _) in &mix.outcomes {
            let metrics = &outcome.metrics;
            for (what, value) in [("unfairness", metrics.unfairness), ("STP", metrics.stp)] {
                let case = format!("{}, {name}, {what}", mix.name);
                findings.add_beside(item, &case, "ratio", Some(value));
            }
        }
    }
}
