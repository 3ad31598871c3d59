//! Opens the parts of the daemon: the host, its counters and clock, and its sockets.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use fairways_command_kit::input::shown;
use fairways_command_kit::{BadInput, ExitCode, exit};
use fairways_core::{Counter, Wish};
use fairways_host::clock::{Clock, EmulatorClock, RealClock};
use fairways_host::emulated::Connection;
use fairways_host::emulated::counters::Emulated;
use fairways_host::machine::{
    ContainerAnnouncer, CountedHost, Host, Lever, Managed, OpenLatency, Parts, Settings,
};
use fairways_latency as latency;
use fairways_linux::namespaces;
use fairways_perf::{self as perf, Perf, events};
use fairways_perf::{NoCounters, Source, Target};
use fairways_policy::table::DecisionScope;
use fairways_programs::{Change, Programs, Roots, Wanted};
use fairways_resctrl_client::{self as client, Actuator, OpenError, Restored};
use parking_lot::Mutex;

use super::control::{Control, Served};
use super::invented::{InventedCounters, InventionObserver, inventor_of};
use super::metrics::{Metrics, Token};
use super::notify::Notify;
use super::nri::{Nri, NriTotals};
use super::restore::refused;
use super::sampling;
use super::scheduler;
use crate::config::{ClockSource, Config, CounterSource, ProgramConfig};

/// The host, and what else the daemon needs.
pub(super) struct Opened {
    pub(super) host: Host,
    /// What counters that a test invents have to know of the run.
    pub(super) invention: Option<InventionObserver>,
    pub(super) emulator: Option<Connection>,
    /// The reason for this scheduler; `None` under a policy that assigns ways.
    pub(super) why: Option<String>,
    /// Whether something could not be restored that a daemon with another lever left.
    pub(super) are_others_left: bool,
}

/// Logs how this process is isolated from its host.
///
/// # Errors
/// If /proc shows other process numbers than the kernel accepts, as other processes would be
/// managed.
fn look_around() -> anyhow::Result<()> {
    for apart in namespaces::apart() {
        if apart.misnumbers {
            fairways_command_kit::fail(&apart.to_string(), exit::NOT_SUPPORTED);
            return Err(ExitCode(exit::NOT_SUPPORTED).into());
        }
        match apart.is_in_the_way {
            true => tracing::warn!("{apart}"),
            false => tracing::info!("{apart}"),
        }
    }
    Ok(())
}

/// What this process is isolated from, so that it can't manage it, a line each.
pub(super) fn out_of_sight() -> Vec<String> {
    let apart = namespaces::apart().into_iter().filter(|apart| apart.is_in_the_way);
    apart.map(|apart| apart.to_string()).collect()
}

/// The host that a configuration describes.
pub(super) fn host(config: &Config) -> anyhow::Result<Opened> {
    look_around()?;
    let emulator = socket(config).map(|socket| Connection::connect(&socket)).transpose()?;
    let managed = managed(config, emulator.as_ref())?;
    let clock: Box<dyn Clock> = match (&config.clock.source, &emulator) {
        (ClockSource::Emulator(_), Some(emulator)) => Box::new(EmulatorClock::new(emulator)?),
        _ => Box::new(RealClock::new()),
    };
    let schedules = config.schedules();
    let invented = invented(config, schedules)?;
    let are_others_left = restore_others(config)?;
    let (lever, why) = if schedules {
        let (turns, why) = scheduler::open(config)?;
        (Lever::Turns(Box::new(turns)), Some(why))
    } else if config.counters_only {
        let counted = CountedHost::new(settings(config));
        (Lever::Nothing(Box::new(counted.context("the caches can't be read")?)), None)
    } else {
        let settings = client::Settings { to_take: to_take(config)?, ..settings(config) };
        (Lever::Ways(Box::new(Actuator::open(settings).map_err(refused)?)), None)
    };
    let mut invention = None;
    let source: Box<dyn Source> = match (&config.counters.source, &emulator) {
        (CounterSource::Emulator(_), Some(emulator)) => Box::new(Emulated::new(emulator)),
        (CounterSource::Perf, _) => Box::new(perf(config, read_by_policy(config))?),
        _ => match invented {
            Some(InventedCounters { source, follow }) => {
                invention = Some(InventionObserver(follow));
                source
            }
            None => Box::new(NoCounters),
        },
    };
    let parts = Parts { lever, proc_and_cgroup: Roots::default(), source, clock };
    let settings = Settings { observe: config.observe, look: config.interval };
    let host = Host::new(parts, managed, settings).context("programs can't be looked for")?;
    Ok(Opened { host, invention, emulator, why, are_others_left })
}

/// Restores what a killed daemon with another lever (ways or turns) left behind. The lever in use
/// restores its own leftovers. Returns whether something could not be restored, and has to be tried
/// again at the end.
fn restore_others(config: &Config) -> anyhow::Result<bool> {
    let mut are_left = false;
    for restored in others_left(config) {
        let restored = restored.map_err(refused)?;
        are_left |= !restored.failed.is_empty();
        for line in restored.to_string().lines() {
            tracing::warn!("from before: {line}");
        }
    }
    Ok(are_left)
}

/// The results of restoring everything that a daemon with another lever left behind.
pub(super) fn others_left(config: &Config) -> Vec<Result<Restored, OpenError>> {
    let mut restored = Vec::new();
    if config.dry_run {
        return restored;
    }
    if config.schedules() || config.counters_only {
        restored.push(client::restore(&settings(config)));
    }
    if !config.schedules() {
        restored.push(fairways_turns::ledger::restore(&scheduler::settings(config)));
    }
    restored
}

/// The threads of programs that run already, if they are to be taken out of others' groups.
fn to_take(config: &Config) -> anyhow::Result<BTreeSet<i32>> {
    let mut threads = BTreeSet::new();
    if !settings(config).take_over {
        return Ok(threads);
    }
    let mut wanted = Vec::new();
    for ProgramConfig { name, select, each, .. } in &config.program {
        wanted.push(Wanted { name: name.clone(), selector: select.clone(), each: *each });
    }
    let unseen = "programs can't be looked for";
    let mut programs = Programs::new(Roots::default(), wanted).context(unseen)?;
    for change in programs.look().context(unseen)? {
        if let Change::Arrived { program, .. } = change {
            let mut some = Vec::new();
            programs.tasks(program, &mut some).context(unseen)?;
            threads.extend(some);
        }
    }
    Ok(threads)
}

/// The section `[resctrl]`, adjusted by the rest of the configuration.
fn settings(config: &Config) -> client::Settings {
    let decides_nothing =
        config.descriptor().is_some_and(|policy| policy.decides == DecisionScope::Nothing);
    client::Settings {
        // A daemon that only watches changes no other manager's group.
        adopt_monitors: config.resctrl.adopt_monitors && !config.observe,
        take_over: config.resctrl.take_over && !config.observe,
        only_watch: config.observe || decides_nothing,
        dry_run: config.dry_run,
        ..config.resctrl.clone()
    }
}

/// The socket of the emulator whose clock or counters are configured: beside its root, unless the
/// configuration names another one.
fn socket(config: &Config) -> Option<PathBuf> {
    let named = match (&config.clock.source, &config.counters.source) {
        (ClockSource::Emulator(named), _) | (_, CounterSource::Emulator(named)) => named,
        _ => return None,
    };
    Some(named.clone().unwrap_or_else(|| fairways_emulated::beside(&config.resctrl.root)))
}

/// Where this processor is described.
const CPUINFO: &str = "/proc/cpuinfo";
const DEVICES: &str = "/sys/bus/event_source/devices";

/// The counters that the policy reads.
pub(super) fn read_by_policy(config: &Config) -> &'static [Counter] {
    config.descriptor().map_or(&Counter::ALL, |policy| policy.counters)
}

/// The kernel's counters on this processor: those of these that it counts, with instructions and
/// cycles.
///
/// # Errors
/// If the processor can't be identified, or if the kernel is configured to end windows and can't.
pub fn perf(config: &Config, counters: &[Counter]) -> anyhow::Result<Perf> {
    let cpu = events::Cpu::read(CPUINFO.as_ref(), DEVICES.as_ref()).context(CPUINFO)?;
    let mut perf = Perf::new(perf::Settings {
        events: events::for_cpu(&cpu),
        counters: counters.to_vec(),
        // The host says which they are before anything is counted.
        domains: Vec::new(),
        descriptors: config.counters.descriptors.map(|count| count as usize),
    });
    for odd in perf::implausible(&mut perf).into_iter().flatten() {
        tracing::warn!(target: "fairways::counters", odd, "a counter shows impossible counts on this processor: decisions by it may be wrong; see plausible-counts of `fairways doctor`");
    }
    sampling::choose(config.counters.windows, &mut perf)?;
    Ok(perf)
}

/// Counts a known loop with every counter of this processor, for about 20 ms. Returns the
/// implausible counts, a line each; `None` if nothing can be counted.
#[must_use]
pub fn implausible_counts() -> Option<Vec<String>> {
    let cpu = events::Cpu::read(CPUINFO.as_ref(), DEVICES.as_ref()).ok()?;
    let (events, counters) = (events::for_cpu(&cpu), Counter::ALL.to_vec());
    let settings = perf::Settings { events, counters, domains: Vec::new(), descriptors: None };
    perf::implausible(&mut Perf::new(settings))
}

/// The counters that a test invents, if the configuration asks for them.
fn invented(config: &Config, schedules: bool) -> Result<Option<InventedCounters>, BadInput> {
    let CounterSource::Invented(text) = &config.counters.source else { return Ok(None) };
    let inventor = inventor_of(text);
    inventor.map(|inventor| (inventor.make)(text, schedules)).transpose()
}

/// The programs to manage, in the order of the configuration.
pub(super) fn managed(
    config: &Config,
    emulator: Option<&Connection>,
) -> Result<Vec<Managed>, BadInput> {
    config.program.iter().map(|program| one(program, emulator)).collect()
}

fn one(program: &ProgramConfig, emulator: Option<&Connection>) -> Result<Managed, BadInput> {
    let wrong = |key: &str, why: &dyn std::fmt::Display| {
        BadInput(format!("program {}: {key}: {why}", program.name))
    };
    let (name, selector) = (program.name.clone(), program.select.clone());
    let wanted = Wanted { name, selector, each: program.each };
    let wish = Wish {
        baseline_ways: program.baseline_ways,
        best_effort: program.best_effort,
        objective: program.objective.as_ref().map(|objective| objective.value),
        importance: program.importance,
    };
    let source = program.latency.as_ref().map(|latency| &latency.value);
    let latency: Option<OpenLatency> = match (source, emulator) {
        (None, _) => None,
        (Some(Some(spec)), _) => {
            let spec = spec.clone();
            Some(Box::new(move |_: &Target| spec.open().map_err(io::Error::other)))
        }
        (Some(None), Some(emulator)) => {
            let emulator = emulator.clone();
            Some(Box::new(move |target: &Target| {
                let service =
                    fairways_host::emulated::service::Service::new(&emulator, &target.threads)?;
                Ok(Box::new(service) as Box<dyn latency::Source>)
            }))
        }
        (Some(None), None) => {
            return Err(wrong("latency", &"expected counters or a clock of the emulator with it"));
        }
    };
    Ok(Managed { wish, latency, ..Managed::new(wanted) })
}

/// Starts the control socket. The daemon does not start if another daemon listens there.
pub(super) fn control(config: &Config, served: Served) -> anyhow::Result<Control> {
    let path = &config.control.socket;
    Control::start(path, served).map_err(|why| taken(&shown(path), &why))
}

/// Starts the metrics endpoint, if one is configured. A dry run has none, since it may run beside a
/// daemon.
pub(super) fn metrics(
    config: &Config,
    commit: &'static str,
    served: Served,
    notify: &Notify,
) -> anyhow::Result<Option<Metrics>> {
    let Some(listen) = config.metrics.listen.as_ref().filter(|_| !config.dry_run) else {
        return Ok(None);
    };
    let token = config.metrics.token_file.as_deref().map(Token::read).transpose();
    let token = token.map_err(BadInput)?;
    let metrics = Metrics::start(listen, token, commit, served, notify.pulse());
    metrics.map(Some).map_err(|why| taken(&format!("metrics: {listen}"), &why))
}

/// Starts the plugin of the container runtime, and has the host respond to it.
pub(super) fn nri(
    config: &Config,
    host: &mut Host,
    totals: Arc<Mutex<NriTotals>>,
) -> anyhow::Result<Nri> {
    let announcer = ContainerAnnouncer::new()?;
    host.listen_to(announcer.clone(), config.kubernetes.places());
    Nri::start(config.kubernetes.clone(), announcer, totals).context("no thread for NRI")
}

/// The error if the daemon can't listen at a place. It has its own exit code if the address is in
/// use or this user may not listen there.
fn taken(place: &str, why: &io::Error) -> anyhow::Error {
    let message = format!("{place}: {why}");
    let code = match why.kind() {
        io::ErrorKind::AddrInUse => exit::BUSY,
        io::ErrorKind::PermissionDenied => exit::PERMISSION,
        _ => return anyhow::anyhow!(message),
    };
    fairways_command_kit::fail(&message, code);
    ExitCode(code).into()
}

#[cfg(test)]
mod tests {
    use fairways_policy::POLICIES;

    use super::*;

    /// Policies that schedule count CPUs instead of programs, in one group, which leaves out
    /// counters that do not fit.
    #[test]
    fn what_a_policy_reads_is_one_group_on_every_processor() {
        for policy in POLICIES.iter().filter(|policy| !policy.schedules()) {
            for chosen in events::all() {
                let groups = perf::groups_of(&chosen.only(policy.counters));
                let (on, name) = (chosen.name, policy.name);
                let expected = if (on, name) == ("Haswell", "dcat") { 2 } else { 1 };
                assert_eq!(groups, expected, "{name} on {on}");
            }
        }
    }

    #[test]
    fn the_policy_decides_what_is_counted() {
        let mut config = Config { policy: "stock".to_owned(), ..Config::default() };
        assert_eq!(read_by_policy(&config), []);
        config.policy = "lfoc".to_owned();
        assert!(read_by_policy(&config).contains(&Counter::StallsL2Miss));
        config.policy = "exec:unknown".to_owned();
        assert_eq!(read_by_policy(&config), Counter::ALL);
    }
}
