//! The daemon gives up at its start the capabilities, system calls and folders that its
//! configuration does not need. A flaw in the code that reads the answers and files of tenants then
//! reaches no further than resctrl and the daemon's own folders.
//!
//! Each part is best effort. Where the kernel lacks it, or a service manager forbids it because it
//! has done the same, the log and `status` say so, and the daemon goes on.

mod calls;
mod capabilities;
mod files;
#[cfg(test)]
mod tests;

use fairways_exec_policy::policies;
use fairways_record::status::Sandbox;

use crate::config::{Config, CounterSource, SchedulerKind, Windows};

/// Gives them up, for this thread and those that it starts. No other threads may run yet.
pub(super) fn enter(config: &Config) -> Sandbox {
    if !config.sandbox {
        let off = || "off: sandbox = false".to_owned();
        return Sandbox {
            capabilities: capabilities::effective(),
            system_calls: off(),
            files: off(),
        };
    }
    // The kernel requires it of an unprivileged process that limits itself. It costs nothing, since
    // the daemon never starts a setuid program.
    let limited = rustix::thread::set_no_new_privs(true);
    let capabilities = capabilities::keep(needed(config));
    let files = describe(files::limit(config));
    // Last, since it forbids what the others need.
    let system_calls = describe(match limited {
        Ok(()) => calls::limit(loads_programs(config)),
        Err(why) => Err(format!("no_new_privs: {why}")),
    });
    Sandbox { capabilities, system_calls, files }
}

fn describe(limited: Result<String, String>) -> String {
    limited.unwrap_or_else(|why| format!("not limited: {why}"))
}

/// The capabilities that a configuration needs (SECURITY.md has the table, and what was measured).
fn needed(config: &Config) -> rustix::thread::CapabilitySet {
    use rustix::thread::CapabilitySet as Set;
    let mut needed = Set::empty();
    if !config.dry_run && !capabilities::owner_may_write(&config.resctrl.root) {
        needed |= Set::DAC_OVERRIDE;
    }
    if config.program.iter().any(|program| program.latency.is_some()) {
        // Files of samples and sockets of services that only their users may open.
        needed |= Set::DAC_OVERRIDE;
    }
    let counts = matches!(config.counters.source, CounterSource::Perf);
    if counts || config.schedules() {
        needed |= Set::PERFMON;
        // Debian's and Ubuntu's kernels have further levels, at which counting needs more.
        if capabilities::perf_takes_more() {
            needed |= Set::SYS_ADMIN;
        }
    }
    // Without a PID namespace, what the keeper of a policy leaves is ended by the daemon.
    if policies::is_program(&config.policy) && !capabilities::has(Set::SYS_ADMIN) {
        needed |= Set::KILL;
    }
    // A killed daemon may have left threads whose affinity must be restored.
    let left = ["schedule.json", "schedule.json.before"];
    let left = left.iter().any(|name| config.resctrl.state.join(name).exists());
    if config.schedules() || left {
        needed |= Set::SYS_NICE;
    }
    if loads_programs(config) {
        needed |= Set::BPF | Set::PERFMON;
    }
    if loads_programs(config) || !capabilities::processes_are_reported_to_all() {
        needed |= Set::NET_ADMIN;
    }
    needed
}

/// Whether BPF programs may be loaded: the build has them, and the configuration allows them.
fn loads_programs(config: &Config) -> bool {
    let turns = config.schedules() && config.scheduler.kind != SchedulerKind::Affinity;
    let windows = matches!(config.counters.source, CounterSource::Perf)
        && config.counters.windows != Windows::Polled;
    cfg!(feature = "sched-ext") && (turns || windows)
}
