//! Counters from profiles, for a host whose processor's counters can't be read: the counts that
//! programs with these names would have.

mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{read, shown};
use fairways_core::{AppId, Counter, Counters, Event, Levers, Partition, WayMask, Ways};
use fairways_daemon::{InventedCounters, Inventor};
use fairways_perf::{Source, Target};
use fairways_profiles::{ProfiledProgram, ProgramCatalog, divide, embedded_programs, read_table};
use parking_lot::Mutex;
use tracing::warn;

use turns::ByTurns;

/// `profiles` as a source of counters: of the embedded synthetic programs, or `profiles:FILE`.
pub const PROFILES: Inventor = Inventor { word: "profiles", make: invented };

fn invented(text: &str, schedules: bool) -> Result<InventedCounters, BadInput> {
    let programs = programs(text)?;
    if schedules {
        return Ok(InventedCounters {
            source: Box::new(ByTurns::new(programs)),
            follow: Box::new(|_, _| ()),
        });
    }
    let counters = Profiled::new(programs);
    let follower = counters.clone();
    let follow = move |domain, event: &Event| follower.event(domain, event);
    Ok(InventedCounters { source: Box::new(counters), follow: Box::new(follow) })
}

/// The profiles of a file; the embedded ones without it.
fn programs(text: &str) -> Result<ProgramCatalog, BadInput> {
    let Some((_, file)) = text.split_once(':') else { return Ok(embedded_programs().clone()) };
    let bytes = read(file.as_ref())?;
    let table = read_table(&bytes, &shown(file.as_ref()));
    Ok(ProgramCatalog::new(table.map_err(|why| BadInput(why.to_string()))?, Vec::new()))
}

/// Core cycles per second of a running program.
const HZ: f64 = 2e9;

/// The counters of programs, computed from their profiles and their ways. Each is assumed to run
/// all the time, at 2 GHz, alone or beside the others that the plan lets into its ways (the
/// occupancy sweep of [`divide`]).
#[derive(Clone)]
struct Profiled(Arc<Mutex<Shared>>);

struct Shared {
    programs: ProgramCatalog,
    apps: BTreeMap<AppId, App>,
    domains: BTreeMap<u32, Domain>,
    /// Kinds of programs that have no profile, which was logged.
    missing: BTreeSet<String>,
}

struct Domain {
    ways: Ways,
    places: BTreeMap<AppId, Place>,
}

struct Place {
    mask: WayMask,
    /// `None` if no profile has its name, or covers this number of ways.
    program: Option<Box<ProfiledProgram>>,
}

struct App {
    /// Its index in the table; `None` if no profile has its name.
    index: Option<usize>,
    rates: BTreeMap<u32, Rates>,
}

/// A program's rates in a domain since the last change, and what it counted before.
struct Rates {
    since: Instant,
    per_second: PerSecond,
    counted: PerSecond,
}

/// Values by [`Counter`]; `None`: not known.
#[derive(Clone, Copy)]
struct PerSecond([Option<f64>; Counter::ALL.len()]);

/// Zero for the counters that every profile has.
impl Default for PerSecond {
    fn default() -> Self {
        Self(Counter::ALL.map(|counter| (counter != Counter::L1References).then_some(0.0)))
    }
}

impl Profiled {
    fn new(programs: ProgramCatalog) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            programs,
            apps: BTreeMap::new(),
            domains: BTreeMap::new(),
            missing: BTreeSet::new(),
        })))
    }

    /// Adds a domain whose cache has `ways` ways.
    fn domain(&self, domain: u32, ways: Ways) {
        let shared = &mut *self.0.lock();
        shared.domains.insert(domain, Domain { ways, places: BTreeMap::new() });
        if ways > shared.programs.table().ways() {
            warn!(domain, ways = ways.get(), "no profile covers this number of ways");
        }
    }

    /// Records that a program runs in a domain.
    fn started(&self, domain: u32, app: AppId) {
        let shared = &mut *self.0.lock();
        if let Some(Domain { ways, places }) = shared.domains.get_mut(&domain) {
            let table = shared.programs.table();
            let index = shared.apps.get(&app).and_then(|app| app.index);
            let index = index.filter(|_| *ways <= table.ways());
            let program = index.map(|index| Box::new(ProfiledProgram::new(table, index, *ways)));
            places.insert(app, Place { mask: WayMask::full(*ways), program });
            shared.share(domain, Instant::now());
        }
    }

    /// Records that a program runs in a domain no longer.
    fn exited(&self, domain: u32, app: AppId) {
        let shared = &mut *self.0.lock();
        if let Some(Domain { places, .. }) = shared.domains.get_mut(&domain) {
            places.remove(&app);
            shared.share(domain, Instant::now());
        }
    }

    /// Records the plan in force.
    fn plan(&self, domain: u32, partition: &Partition) {
        let shared = &mut *self.0.lock();
        if let Some(Domain { ways, places }) = shared.domains.get_mut(&domain) {
            for (app, place) in places {
                place.mask = partition.mask_of(*app).unwrap_or(WayMask::full(*ways));
            }
            shared.share(domain, Instant::now());
        }
    }

    /// Takes in an event of a domain.
    fn event(&self, domain: u32, event: &Event) {
        match event {
            Event::Machine(Levers { llc, .. }) => self.domain(domain, llc.ways),
            Event::Started { app, .. } => self.started(domain, *app),
            Event::Exited { app } => self.exited(domain, *app),
            Event::Applied { actual, .. } => self.plan(domain, actual),
            _ => {}
        }
    }
}

impl Shared {
    /// Computes the rates of each program of a domain from now on.
    fn share(&mut self, domain: u32, now: Instant) {
        let Self { apps, domains, .. } = self;
        let Some(Domain { ways, places }) = domains.get(&domain) else { return };
        let known = places
            .iter()
            .filter_map(|(app, place)| Some((app, place.program.as_deref()?, place.mask)));
        let running: Vec<(&AppId, &ProfiledProgram, WayMask)> = known.collect();
        let parts = divide(running.iter().map(|(_, program, mask)| (*program, *mask)), *ways);
        let stride = ways.get() as usize;
        for ((app, program, _), parts) in running.iter().zip(parts.chunks(stride)) {
            let per_second = PerSecond::of(program, parts.iter().sum());
            let Some(app) = apps.get_mut(app) else { continue };
            let rates = app.rates.entry(domain).or_insert(Rates {
                since: now,
                per_second,
                counted: PerSecond::default(),
            });
            rates.counted = rates.total(now);
            (rates.since, rates.per_second) = (now, per_second);
        }
    }
}

impl Rates {
    fn total(&self, now: Instant) -> PerSecond {
        let seconds = now.saturating_duration_since(self.since).as_secs_f64();
        self.counted.and(&self.per_second, seconds)
    }
}

impl PerSecond {
    fn of(program: &ProfiledProgram, ways: f64) -> Self {
        let rates = program.rates(ways);
        let instructions = HZ * program.best_ipc() / rates.slowdown;
        let misses = HZ / 1000.0 * rates.llcmpkc;
        Self(Counter::ALL.map(|counter| match counter {
            Counter::Instructions => Some(instructions),
            Counter::Cycles => Some(HZ),
            Counter::L1References => program.l1rpki().map(|rate| instructions / 1000.0 * rate),
            Counter::LlcReferences => Some((HZ / 1000.0 * rates.llcrpkc).max(misses)),
            Counter::LlcMisses => Some(misses),
            Counter::StallsL2Miss => Some(HZ * rates.stalls_l2_miss),
            Counter::StallsLlcMiss => Some(HZ * rates.stalls_l3_miss),
            Counter::StallsStoreBuffer => Some(HZ * rates.stalls_store_buf),
            Counter::MemoryBytes => Some(rates.bandwidth_mbps * 1e6),
            Counter::CpuNanos => Some(1e9),
        }))
    }

    /// This, plus what `seconds` at that rate add to it.
    fn and(&self, rate: &Self, seconds: f64) -> Self {
        let sum = |counter: Counter| {
            let (so_far, rate) = (self.0[counter as usize], rate.0[counter as usize]);
            rate.map(|rate| so_far.unwrap_or(0.0) + rate * seconds)
        };
        Self(Counter::ALL.map(sum))
    }

    fn counters(&self) -> Counters {
        Counters::from_fn(|counter| self.0[counter as usize].and_then(whole))
    }
}

/// The index of the profile for a program's name. One of several programs of a kind has a number in
/// its name (web.2), and a thread has its own (web.2/1234). A kind without a profile is logged
/// once.
fn find(programs: &ProgramCatalog, name: &str, missing: &mut BTreeSet<String>) -> Option<usize> {
    let program = name.split_once('/').map_or(name, |(program, _)| program);
    let kind = program.rsplit_once('.').map_or(program, |(kind, _)| kind);
    let index = [program, kind].into_iter().find_map(|name| programs.table().find(name));
    if index.is_none() && missing.insert(kind.to_owned()) {
        tracing::warn!(program, "no profile has its name: its counters are missing");
    }
    index
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is counted only grows, and a year of it is below 2^64"
)]
fn whole(total: f64) -> Option<u64> {
    Some(total as u64)
}

impl Source for Profiled {
    fn is_measured(&self) -> bool {
        false
    }

    fn begin(&mut self, target: &Target) {
        let shared = &mut *self.0.lock();
        let index = find(&shared.programs, &target.name, &mut shared.missing);
        shared.apps.insert(target.app, App { index, rates: BTreeMap::new() });
    }

    fn threads(&mut self, _: AppId, _: &[i32]) {}

    fn read(&mut self, app: AppId, domain: u32) -> Counters {
        let shared = self.0.lock();
        let rates = shared.apps.get(&app).and_then(|app| app.rates.get(&domain));
        let Some(rates) = rates else { return Counters::default() };
        rates.total(Instant::now()).counters()
    }

    fn end(&mut self, app: AppId) {
        self.0.lock().apps.remove(&app);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_program_with_fewer_ways_runs_slower() {
        let mut profiled = Profiled::new(embedded_programs().clone());
        let names = embedded_programs().table().names();
        let app = AppId(0);
        let (name, cgroup, threads) = ("hash-join.1".to_owned(), None, Vec::new());
        assert!(names.iter().any(|name| name == "hash-join"));
        profiled.begin(&Target { app, name, cgroup, threads });
        profiled.domain(0, Ways::new(11).unwrap());
        profiled.started(0, app);
        let rate = |profiled: &Profiled| {
            let shared = profiled.0.lock();
            shared.apps[&app].rates[&0].per_second.0[Counter::Instructions as usize]
        };
        let alone = rate(&profiled);
        let mut partition = Partition::default();
        partition.place(app, 0);
        partition.add_cluster(WayMask::span(0, 1));
        profiled.plan(0, &partition);
        assert!(rate(&profiled) < alone);
        let before = profiled.read(app, 0);
        std::thread::sleep(Duration::from_millis(2));
        let after = profiled.read(app, 0);
        assert!(after.instructions > before.instructions && after.cycles > before.cycles);
        assert!(after.stalls_llc_miss > before.stalls_llc_miss);
        assert_eq!(profiled.read(app, 7), Counters::default());
    }
}
