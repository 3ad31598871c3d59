//! The programs to watch.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use fairways_command_kit::BadInput;
use fairways_daemon::config::{Config, CounterSource, program_name, unique_name};
use fairways_emulated::{Client, ClientError};
use fairways_programs::{CpuUser, Roots, Selector};

/// How long processes are observed to find the busy ones.
const LOOK: Duration = Duration::from_millis(500);
/// How often meanwhile: what a process does after it was last seen is not counted.
const EVERY: Duration = Duration::from_millis(50);

/// A program that uses the processor, with a unique name.
pub(super) struct User {
    pub(super) name: String,
    pub(super) selector: Selector,
    pub(super) pids: Vec<i32>,
    /// CPUs that it used while processes were observed; `None` for an emulator's program.
    pub(super) cpus: Option<f64>,
}

/// What the user can change is bad input.
fn refused(why: ClientError) -> anyhow::Error {
    match why {
        ClientError::Connect { .. } | ClientError::Refused(_) => BadInput(why.to_string()).into(),
        why => why.into(),
    }
}

/// The busiest programs of this host, the busiest first; or all programs of an emulator.
pub(super) fn busiest(config: &Config, most: usize) -> anyhow::Result<Vec<User>> {
    let list = || CpuUser::all(&Roots::default()).context("processes can't be listed");
    let mut found: Vec<(CpuUser, Option<f64>)> = match &config.counters.source {
        CounterSource::Emulator(_) => {
            let socket = fairways_emulated::beside(&config.resctrl.root);
            let programs = Client::connect(&socket).and_then(|mut client| client.programs());
            let running = programs.map_err(refused)?.into_iter().filter(|program| program.running);
            let user = |pid| CpuUser {
                selector: Selector::Pid(pid),
                processes: BTreeMap::from([(pid, Duration::ZERO)]),
            };
            let mut all: Vec<CpuUser> = Vec::new();
            let pids: BTreeSet<i32> = running.map(|program| program.pid).collect();
            for of in list()?.into_iter().chain(pids.iter().copied().map(user)) {
                let is_new = |pid| all.iter().all(|known| !known.processes.contains_key(pid));
                let is_theirs = of.processes.keys().all(|pid| pids.contains(pid));
                if !of.processes.is_empty() && is_theirs && of.processes.keys().all(is_new) {
                    all.push(of);
                }
            }
            all.into_iter().map(|of| (of, None)).collect()
        }
        _ => {
            let mut busy = CpuTimeUsed::since(&list()?);
            let since = Instant::now();
            while since.elapsed() < LOOK {
                sleep(EVERY);
                busy.see(list()?);
            }
            let seconds = since.elapsed().as_secs_f64();
            busy.used
                .into_values()
                .map(|(of, used)| (of, Some(used.as_secs_f64() / seconds)))
                .collect()
        }
    };
    found.sort_by(|one, other| other.1.partial_cmp(&one.1).unwrap_or(std::cmp::Ordering::Equal));
    found.truncate(most);
    let mut names = BTreeMap::new();
    let named = found.into_iter().map(|(of, cpus)| {
        let name = unique_name(&program_name(&of.selector), &mut names);
        User { name, selector: of.selector, pids: of.processes.into_keys().collect(), cpus }
    });
    Ok(named.collect())
}

/// The CPU time that programs use while they are observed.
struct CpuTimeUsed {
    /// By process, its CPU time when it was last seen.
    had: BTreeMap<i32, Duration>,
    /// By selector, the programs that used any, as they were last seen. A program that does
    /// nothing fills no lines.
    used: BTreeMap<String, (CpuUser, Duration)>,
}

impl CpuTimeUsed {
    /// What is used from now on by these programs, and by those that begin.
    fn since(now: &[CpuUser]) -> Self {
        let had = now.iter().flat_map(|of| of.processes.clone()).collect();
        Self { had, used: BTreeMap::new() }
    }

    fn see(&mut self, now: Vec<CpuUser>) {
        for of in now {
            let mut used = Duration::ZERO;
            for (&pid, &has) in &of.processes {
                // A new process, which may have the number of one that has ended, began meanwhile.
                let had = self.had.insert(pid, has).filter(|had| *had <= has);
                used += has - had.unwrap_or_default();
            }
            let key = of.selector.to_string();
            if used > Duration::ZERO || self.used.contains_key(&key) {
                let (known, so_far) =
                    self.used.entry(key).or_insert_with(|| (of.clone(), Duration::ZERO));
                *known = of;
                *so_far += used;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What processes do that end, begin, or have the number of one that has ended, counts; what
    /// they did before does not.
    #[test]
    fn processes_that_come_and_go_are_counted() {
        fn user(processes: &[(i32, u64)]) -> CpuUser {
            let processes =
                processes.iter().map(|&(pid, ms)| (pid, Duration::from_millis(ms))).collect();
            CpuUser { selector: "process:cc1".parse().unwrap(), processes }
        }
        let mut busy = CpuTimeUsed::since(&[user(&[(1, 90_000), (2, 40)])]);
        busy.see(vec![user(&[(1, 90_050), (2, 90), (3, 20)])]);
        busy.see(vec![user(&[(2, 10), (3, 60)])]);
        busy.see(vec![]);
        let (of, used) = &busy.used["process:cc1"];
        assert_eq!(*used, Duration::from_millis(50 + 50 + 20 + 10 + 40));
        assert_eq!(of.processes.keys().copied().collect::<Vec<_>>(), [2, 3]);
    }
}
