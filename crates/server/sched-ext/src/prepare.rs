//! Settings that are written before the programs are loaded.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use libbpf_rs::{OpenObject, ProgramType};

use crate::contract::{self, COUNTERS, MAX_CPUS, MAX_SETS};
use crate::settings::Settings;
use crate::{Error, programs};

/// `SCX_OPS_*` of the kernel: built-in idle tracking beside `update_idle`; the last thread of a CPU
/// and ending threads are ours, too; only threads of the class are.
const FLAGS: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3;

/// The scheduler's name in the kernel: `/sys/kernel/sched_ext/root/ops`.
pub(crate) const NAME: &str = "fairways";

/// Programs to which the kernel reports what it otherwise reports to a scheduler.
pub(crate) const WITHOUT_SCHEDULER: [&str; 2] = ["exited", "hotplugs"];

/// Counters of a CPU, in the type of numbers of events.
pub(crate) const CPU_COUNTERS: u32 = 8;
const _: () = assert!(CPU_COUNTERS as usize == COUNTERS);

/// A turn of 10 s times this fits in 64 bits.
const LONGEST_QUANTUM: Duration = Duration::from_secs(1);

/// Writes the settings before loading.
pub(crate) fn prepare(
    open: &mut OpenObject,
    settings: &Settings,
    scheduling: bool,
    cpus: u32,
) -> Result<(), Error> {
    let slots = settings.counters.iter().map(|counter| counter.slot);
    let highest = slots.max().map_or(0, |slot| slot.saturating_add(1));
    if highest > COUNTERS {
        return Err(Error::Setting(format!("a CPU has {COUNTERS} counters at most")));
    }
    if let Some(counter) = settings.counters.iter().find(|counter| counter.cpu >= cpus) {
        return Err(Error::Setting(format!("CPU {} does not exist", counter.cpu)));
    }
    let stall = u32::try_from(settings.stall.as_millis()).unwrap_or(u32::MAX);
    if !(1000..=30_000).contains(&stall) {
        return Err(Error::Setting("a stall is 1 s at least and 30 s at most".into()));
    }
    if settings.quantum > LONGEST_QUANTUM {
        return Err(Error::Setting(format!(
            "the quantum is {LONGEST_QUANTUM:?} at most, not {:?}",
            settings.quantum
        )));
    }
    let shared = contract::Settings {
        quantum: length("the quantum", settings.quantum)?,
        patience: nanos(settings.stall) / 4,
        wake_after: 10_000_000,
        wake_bytes: (64 << 10).min(settings.room / 2),
        cpus,
        counters: u32::try_from(highest).unwrap_or(0),
        scheduling: u32::from(scheduling),
        sets: settings.sets.min(MAX_SETS),
        padding: 0,
        // Its keys are random for each process.
        seed: RandomState::new().hash_one(0),
    };
    programs::set(open, ".rodata.settings", &shared)?;
    let operations = contract::Operations { flags: FLAGS, timeout_ms: stall, padding: 0 };
    programs::set(open, NAME, &operations)?;
    for mut map in open.maps_mut() {
        let events = map.name() == OsStr::new("events");
        let records = map.name() == OsStr::new("records");
        if events {
            map.set_max_entries(cpus * CPU_COUNTERS).map_err(Error::kernel("counters"))?;
        } else if records {
            map.set_max_entries(settings.room).map_err(Error::kernel("room for records"))?;
        } else if map.name() == OsStr::new("threads") {
            map.set_max_entries(settings.threads).map_err(Error::kernel("room for threads"))?;
        } else if map.name() == OsStr::new(NAME) && !scheduling {
            map.set_autocreate(false).map_err(Error::kernel("the watch"))?;
        }
    }
    for mut program in open.progs_mut() {
        let schedules = program.prog_type() == ProgramType::StructOps;
        let without = WITHOUT_SCHEDULER.iter().any(|name| program.name() == OsStr::new(name));
        if (schedules && !scheduling) || (without && scheduling) {
            program.set_autoload(false);
        }
    }
    Ok(())
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The length of a turn, which must fit in 64 bits when multiplied with a quantum.
pub(crate) fn length(what: &str, time: Duration) -> Result<u64, Error> {
    if time.is_zero() || time > Duration::from_secs(10) {
        return Err(Error::Setting(format!(
            "{what} is more than nothing and at most 10 s, not {time:?}"
        )));
    }
    Ok(nanos(time))
}

/// The number of possible CPUs.
pub(crate) fn cpus() -> Result<u32, Error> {
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = possible.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<u32>().ok());
    let cpus = last.ok_or_else(|| {
        Error::Unsupported("/sys/devices/system/cpu/possible can't be read".into())
    })? + 1;
    match usize::try_from(cpus) {
        Ok(count) if count <= MAX_CPUS => Ok(cpus),
        _ => Err(Error::Unsupported(format!(
            "{cpus} CPUs are possible here, at most {MAX_CPUS} are supported"
        ))),
    }
}
