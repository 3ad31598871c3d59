//! Measures the cache occupancy and the traffic of programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use fairways_command_kit::stop_on_signals;
use fairways_core::{AppId, Counter};
use fairways_daemon::config::{Config, Log, LogLevel, LogTarget, ProgramConfig};
use fairways_perf::{Source as _, Target};
use fairways_programs::Selector;
use fairways_record::status::{DomainStatus, ProgramStatus, ProgramTotals, Status, Totals};

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
    /// Why nothing could be given out in some caches, if that is so.
    pub(super) nothing_free: Option<String>,
    /// Whether it was ended before its time.
    pub(super) interrupted: bool,
    /// An error if not everything was restored.
    pub(super) ended: anyhow::Result<()>,
}

/// The measurements of one program; `None` was not measured.
pub(super) struct Row {
    pub(super) user: User,
    /// At the end.
    pub(super) occupancy_bytes: Option<u64>,
    /// Whether it may hold more than these: it ran before it was watched.
    pub(super) is_at_least: bool,
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
        Measured {
            rows: Vec::new(),
            cache_bytes: None,
            without: None,
            nothing_free: None,
            interrupted: false,
            ended: Ok(()),
        }
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
    let fairways_daemon::Seen { nothing_free, interrupted, ended, .. } = watched;
    Ok(Measured { rows, cache_bytes, without, nothing_free, interrupted, ended })
}

fn of_program(user: User, status: &Status, totals: &Totals) -> Row {
    let own: Vec<&ProgramStatus> =
        status.programs.iter().filter(|of| of.name == user.name).collect();
    let occupancies = own.iter().filter_map(|program| {
        let domain = status.domains.iter().find(|of| of.id == program.domain)?;
        let held = program.occupancy_ways.or(program.occupancy_ways_at_least)?;
        Some(held * domain.way_bytes? as f64)
    });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cache's")]
    let occupancy_bytes = sum(occupancies).map(|bytes| bytes as u64);
    // A window that lacks a count is no second without misses.
    let counted: Vec<&ProgramTotals> =
        own.iter().filter_map(|of| totals.program(of.domain, of.app)).collect();
    let bytes_per_second = sum(counted.iter().filter_map(|of| of.memory_bytes_per_second()));
    let misses_per_second = sum(counted.iter().filter_map(|of| of.llc_misses_per_second()));
    let weights: Vec<(f64, f64)> = counted
        .iter()
        .filter_map(|of| Some((of.mpki()?, of.counters.instructions? as f64)))
        .collect();
    let weighted = sum(weights.iter().map(|(mpki, weight)| mpki * weight));
    let mpki = weighted.zip(sum(weights.iter().map(|(_, weight)| *weight)));
    let mpki = mpki.map(|(weighted, weight)| weighted / weight);
    let is_at_least = own.iter().any(|of| of.occupancy_ways_at_least.is_some());
    Row { occupancy_bytes, is_at_least, bytes_per_second, misses_per_second, mpki, user }
}

/// The sum of what was measured; `None` if nothing was.
fn sum(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(|sum, value| sum + value)
}

/// By perf alone.
fn counted(config: &Config, users: Vec<User>, duration: Duration) -> anyhow::Result<Measured> {
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop).context("can't wait for signals")?;
    let mut perf = fairways_daemon::perf(config, &[Counter::LlcMisses])?;
    let apps = || (0_u32..).map(AppId);
    for (app, user) in apps().zip(&users) {
        let threads = user.pids.iter().flat_map(|&pid| threads(pid)).collect();
        perf.begin(&Target { app, name: user.name.clone(), cgroup: None, threads });
    }
    let since = Instant::now();
    while !stop.load(Ordering::Relaxed) && since.elapsed() < duration {
        sleep(duration.saturating_sub(since.elapsed()).min(Duration::from_millis(50)));
    }
    let seconds = since.elapsed().as_secs_f64();
    let rows: Vec<Row> = apps()
        .zip(users)
        .map(|(app, user)| {
            let counters = perf.read(app, 0);
            let (misses, instructions) = (counters.llc_misses, counters.instructions);
            let both = misses.zip(instructions.filter(|&count| count > 0));
            Row {
                user,
                occupancy_bytes: None,
                is_at_least: false,
                bytes_per_second: None,
                misses_per_second: misses.map(|misses| misses as f64 / seconds),
                mpki: both.map(|(misses, all)| 1000.0 * misses as f64 / all as f64),
            }
        })
        .collect();
    let is_counted = rows.iter().any(|row| row.misses_per_second.is_some());
    let root = fairways_command_kit::input::shown(&config.resctrl.root);
    let without = match is_counted {
        true => format!("no resctrl at {root}: occupancy and traffic are not known"),
        false => format!(
            "no resctrl at {root}, and perf counts no misses: use of the cache is unknown, and programs are listed by use of the processor; fairways doctor says why"
        ),
    };
    let interrupted = stop.load(Ordering::Relaxed);
    Ok(Measured {
        rows,
        cache_bytes: None,
        without: Some(without),
        nothing_free: None,
        interrupted,
        ended: Ok(()),
    })
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
