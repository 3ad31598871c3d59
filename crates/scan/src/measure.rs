//! Measures the cache occupancy and the traffic of programs.

use std::thread::sleep;
use std::time::Duration;

use fairways_core::{AppId, Counter, Counters};
use fairways_daemon::config::{Config, Log, LogLevel, LogTarget, ProgramConfig};
use fairways_perf::{Source as _, Target};
use fairways_programs::Selector;
use fairways_record::status::{DomainStatus, Status, Totals};

use super::users::User;

/// The policy that has every program watched all the time; under `observe` it changes nothing.
const WATCHES: &str = "dunn";

/// The measurements of all programs.
pub(super) struct Measured {
    /// The programs, the greatest first.
    pub(super) rows: Vec<Row>,
    /// Size of all caches that were watched; `None` if none was.
    pub(super) cache_bytes: Option<u64>,
    /// What can't be measured on this host, with the reason.
    pub(super) without: Option<String>,
    /// Whether it was ended before its time.
    pub(super) interrupted: bool,
}

/// The measurements of one program; `None` was not measured.
pub(super) struct Row {
    pub(super) user: User,
    /// At the end.
    pub(super) occupancy_bytes: Option<u64>,
    pub(super) bytes_per_second: Option<f64>,
    pub(super) misses_per_second: Option<f64>,
    /// Misses per 1000 instructions.
    pub(super) mpki: Option<f64>,
}

/// Watches the programs for this duration.
pub(super) fn measure(
    config: &Config,
    users: Vec<User>,
    duration: Duration,
) -> anyhow::Result<Measured> {
    let mut measured = if users.is_empty() {
        Measured { rows: Vec::new(), cache_bytes: None, without: None, interrupted: false }
    } else if config.resctrl.root.join("info").is_dir() {
        monitored(config, users, duration)?
    } else {
        counted(config, users, duration)?
    };
    let key = |row: &Row| {
        let traffic = row.bytes_per_second.or(row.misses_per_second);
        [row.occupancy_bytes.map(|bytes| bytes as f64), traffic, row.user.cpus]
    };
    let descending = |one: &Row, other: &Row| {
        key(other).partial_cmp(&key(one)).unwrap_or(std::cmp::Ordering::Equal)
    };
    measured.rows.sort_by(descending);
    Ok(measured)
}

/// Measures by resctrl's monitoring groups and perf.
fn monitored(config: &Config, users: Vec<User>, duration: Duration) -> anyhow::Result<Measured> {
    let mut config = config.clone();
    config.policy = WATCHES.to_owned();
    config.observe = true;
    config.log = Log { target: LogTarget::Stderr, level: LogLevel::Error, ..config.log };
    config.program.clear();
    for user in &users {
        config.program.push(ProgramConfig::new(user.name.clone(), user.selector.clone()));
    }
    let watched = fairways_daemon::watch(config, duration, &[Counter::LlcMisses])?;
    let (status, totals) = (&watched.status, &watched.totals);
    let cache = |domain: &DomainStatus| {
        let mask = domain.cache.as_deref()?.trim_start_matches("0x");
        let ways = u32::from_str_radix(mask, 16).ok()?.count_ones();
        Some(domain.way_bytes? * u64::from(ways))
    };
    let cache_bytes = status.domains.iter().map(cache).sum();
    let rows: Vec<Row> = users.into_iter().map(|user| of_program(user, status, totals)).collect();
    let missing = [
        ("occupancy", rows.iter().all(|row| row.occupancy_bytes.is_none())),
        ("traffic", rows.iter().all(|row| row.bytes_per_second.is_none())),
        ("misses", rows.iter().all(|row| row.misses_per_second.is_none())),
    ];
    let missing: Vec<&str> =
        missing.iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| *name).collect();
    let said =
        || format!("{} can't be measured here: fairways doctor says why", missing.join(", "));
    let without = match totals.windows {
        0 => Some("nothing was measured yet: watch for longer (--duration)".to_owned()),
        _ => (!missing.is_empty()).then(said),
    };
    Ok(Measured { rows, cache_bytes, without, interrupted: watched.interrupted })
}

fn of_program(user: User, status: &Status, totals: &Totals) -> Row {
    let mut occupancy_bytes: Option<u64> = None;
    let (mut counters, mut seconds) = (Counters::default(), 0.0_f64);
    for program in status.programs.iter().filter(|of| of.name == user.name) {
        let domain = status.domains.iter().find(|of| of.id == program.domain);
        let way = domain.and_then(|of| of.way_bytes);
        let bytes = program.occupancy_ways.zip(way).map(|(ways, way)| ways * way as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cache's")]
        if let Some(bytes) = bytes.map(|bytes| bytes as u64) {
            *occupancy_bytes.get_or_insert(0) += bytes;
        }
        if let Some(counted) = totals.program(program.domain, program.app) {
            counters = counters.plus(&counted.counters);
            seconds = seconds.max(counted.window_ns as f64 / 1e9);
        }
    }
    row(user, occupancy_bytes, &counters, seconds)
}

fn row(user: User, occupancy_bytes: Option<u64>, counters: &Counters, seconds: f64) -> Row {
    let a_second =
        |count: Option<u64>| count.filter(|_| seconds > 0.0).map(|count| count as f64 / seconds);
    let instructions = counters.instructions.filter(|&count| count > 0);
    let of_both = counters.llc_misses.zip(instructions);
    Row {
        user,
        occupancy_bytes,
        bytes_per_second: a_second(counters.memory_bytes),
        misses_per_second: a_second(counters.llc_misses),
        mpki: of_both.map(|(misses, instructions)| 1000.0 * misses as f64 / instructions as f64),
    }
}

/// By perf alone.
fn counted(config: &Config, users: Vec<User>, duration: Duration) -> anyhow::Result<Measured> {
    let mut perf = fairways_daemon::perf(config, &[Counter::LlcMisses])?;
    let apps = || (0_u32..).map(AppId);
    for (app, user) in apps().zip(&users) {
        let threads = user.pids.iter().flat_map(|&pid| threads(pid)).collect();
        perf.begin(&Target { app, name: user.name.clone(), cgroup: None, threads });
    }
    sleep(duration);
    let seconds = duration.as_secs_f64();
    let rows: Vec<Row> =
        apps().zip(users).map(|(app, user)| row(user, None, &perf.read(app, 0), seconds)).collect();
    let is_counted = rows.iter().any(|row| row.misses_per_second.is_some());
    let root = fairways_command_kit::input::shown(&config.resctrl.root);
    let without = match is_counted {
        true => format!("no resctrl at {root}: occupancy and traffic are not known"),
        false => format!(
            "no resctrl at {root}, and perf counts no misses: use of the cache is unknown, and programs are listed by use of the processor; fairways doctor says why"
        ),
    };
    Ok(Measured { rows, cache_bytes: None, without: Some(without), interrupted: false })
}

/// A process's threads now; none if it is gone.
fn threads(pid: i32) -> Vec<i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What to know about a selector before it is used for long.
pub(super) fn caution(selector: &Selector) -> Option<&'static str> {
    match selector {
        Selector::Process { .. } => Some(
            "Any user can give a process this name: add `,user=USER` where strangers can start processes.",
        ),
        Selector::Pid(_) => {
            Some("A restart gives it another number: select it by something that stays.")
        }
        _ => None,
    }
}
