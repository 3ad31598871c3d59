//! What perf can count on this host.

use fairways_core::Counter;

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::io::Errno;

use super::events::{self, Cpu, Event, ProcessorEvents};
use super::sys::{self, Scope};
use super::{layout, paranoid, trouble};

/// What perf can count on this host, for `fairways doctor`.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The processor; `None` if /proc/cpuinfo can't be read.
    pub cpu: Option<Cpu>,
    /// Its table.
    pub chosen: ProcessorEvents,
    /// The events that work.
    pub works: Vec<Event>,
    /// The counters that are not available, and why: the table's losses and the kernel's refusals.
    pub lost: Vec<(Counter, String)>,
    /// Whether only work outside the kernel may be counted.
    pub user_only: bool,
    /// How many groups the events need; several groups take turns.
    pub groups: usize,
    /// /proc/sys/kernel/perf_event_paranoid.
    pub paranoid: Option<i32>,
    /// Why cgroups can't be counted, if they can't.
    pub cgroups: Option<String>,
}

/// Tries every event of this processor's table on the calling thread, and one on the cgroup of
/// `root` (/sys/fs/cgroup).
#[must_use]
pub fn probe(root: &Path) -> Probe {
    let cpu =
        Cpu::read(Path::new("/proc/cpuinfo"), Path::new("/sys/bus/event_source/devices")).ok();
    let chosen =
        events::for_cpu(&cpu.clone().unwrap_or_else(|| Cpu {
            vendor: events::Vendor::Other(String::new()),
            hybrid: false,
        }));
    let fitted = layout::fit(&chosen);
    let works: Vec<Event> = chosen
        .events
        .iter()
        .filter(|event| fitted.lost.iter().all(|&(field, _)| field != event.field))
        .copied()
        .collect();
    let mut lost = chosen.lost.clone();
    lost.extend(fitted.lost.iter().cloned());
    lost.sort_by_key(|&(field, _)| field);
    let cgroups = cgroup(root, fitted.user_only).err().map(|error| trouble::explain(&error));
    Probe {
        cpu,
        works,
        lost,
        user_only: fitted.user_only,
        groups: fitted.layout.len(),
        paranoid: paranoid(),
        cgroups,
        chosen,
    }
}

/// Counts an event that every kernel has, in the first of the usual places of hierarchies that perf
/// accepts.
fn cgroup(root: &Path, user_only: bool) -> io::Result<()> {
    let clock = events::Encoding {
        kind: perf_event_open_sys::bindings::PERF_TYPE_SOFTWARE,
        config: perf_event_open_sys::bindings::PERF_COUNT_SW_TASK_CLOCK.into(),
    };
    let mut why: Option<io::Error> = None;
    for place in [root.to_owned(), root.join("perf_event"), root.join("unified")] {
        let tried = File::open(&place).and_then(|folder| {
            sys::open(clock, Scope::Cgroup(folder.as_fd(), 0), None, user_only, 0).map(drop)
        });
        let Err(error) = tried else { return Ok(()) };
        // That a place is no such hierarchy says nothing about the others.
        let elsewhere = trouble::is(&error, Errno::NOENT) || trouble::is(&error, Errno::BADF);
        if why.is_none() || !elsewhere {
            why = Some(error);
        }
    }
    why.map_or(Ok(()), Err)
}
