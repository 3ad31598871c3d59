//! The programs to watch.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context;
use fairways_daemon::config::{Config, CounterSource};
use fairways_emulator::Client;
use fairways_emulator::answers::refused;
use fairways_programs::{CpuUser, Roots, Selector};

/// How long processes are observed to find the busy ones.
const LOOK: Duration = Duration::from_millis(500);

/// A program that uses the processor, with a unique name.
pub(super) struct User {
    pub(super) name: String,
    pub(super) selector: Selector,
    pub(super) pids: Vec<i32>,
    /// CPUs that it used while processes were observed; `None` for an emulator's program.
    pub(super) cpus: Option<f64>,
}

/// The busiest programs of this host, the busiest first; or all programs of an emulator.
pub(super) fn busiest(config: &Config, most: usize) -> anyhow::Result<Vec<User>> {
    let list = || CpuUser::all(&Roots::default()).context("processes can't be listed");
    let mut found: Vec<(CpuUser, Option<f64>)> = match &config.counters.source {
        CounterSource::Emulator(_) => {
            let socket = fairways_emulator::beside(&config.resctrl.root);
            let programs = Client::connect(&socket).and_then(|mut client| client.programs());
            let running = programs.map_err(refused)?.into_iter().filter(|program| program.running);
            let user = |pid| CpuUser {
                selector: Selector::Pid(pid),
                pids: vec![pid],
                cpu_time: Duration::ZERO,
            };
            let mut all: Vec<CpuUser> = Vec::new();
            let pids: BTreeSet<i32> = running.map(|program| program.pid).collect();
            for of in list()?.into_iter().chain(pids.iter().copied().map(user)) {
                let is_new = |pid: &i32| all.iter().all(|known| !known.pids.contains(pid));
                let is_theirs = !of.pids.is_empty() && of.pids.iter().all(|pid| pids.contains(pid));
                if is_theirs && of.pids.iter().all(is_new) {
                    all.push(of);
                }
            }
            all.into_iter().map(|of| (of, None)).collect()
        }
        _ => {
            let before = list()?;
            sleep(LOOK);
            let busy = list()?.into_iter().map(|now| {
                let known = before.iter().find(|of| of.selector == now.selector);
                let had = known.map_or(Duration::ZERO, |of| of.cpu_time);
                let cpus = now.cpu_time.saturating_sub(had).as_secs_f64() / LOOK.as_secs_f64();
                (now, Some(cpus))
            });
            // Who does nothing fills no lines.
            busy.filter(|(_, cpus)| cpus.is_some_and(|cpus| cpus > 0.0)).collect()
        }
    };
    found.sort_by(|one, other| other.1.partial_cmp(&one.1).unwrap_or(std::cmp::Ordering::Equal));
    found.truncate(most);
    let mut names = BTreeSet::new();
    let named = found.into_iter().map(|(of, cpus)| {
        let name = unique(&name(&of.selector), &mut names);
        User { name, selector: of.selector, pids: of.pids, cpus }
    });
    Ok(named.collect())
}

/// A name that is easy to write, with only letters, digits and `-_.:`.
fn name(selector: &Selector) -> String {
    let text = match selector {
        Selector::Unit(unit) | Selector::UserUnit(unit) => {
            unit.rsplit_once('.').map_or(unit.as_str(), |(name, _)| name).to_owned()
        }
        Selector::Process { pattern, .. } => pattern.clone(),
        Selector::PodsOf { name, .. } => name.clone(),
        Selector::Cgroup(path) => path.rsplit('/').next().unwrap_or_default().to_owned(),
        other => other.to_string(),
    };
    let is_easy = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    let easy: String =
        text.chars().map(|letter| if is_easy(letter) { letter } else { '-' }).take(48).collect();
    if easy.trim_matches('-').is_empty() { "program".to_owned() } else { easy }
}

fn unique(name: &str, names: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    let free = all.find(|name| !names.contains(name)).unwrap_or_default();
    names.insert(free.clone());
    free
}
