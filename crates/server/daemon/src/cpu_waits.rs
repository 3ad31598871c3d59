//! Measures how long programs wait for a CPU, for `fairways blame`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{AppId, Time};
use fairways_linux::cpu_time::{MachineCpuTime, ThreadCpuTime};

const PROC: &str = "/proc";

/// The most threads that are read, for all programs together. A program whose threads can't all be
/// read is left out.
const MOST_THREADS: usize = 4096;

/// The CPU times of threads and of the machine at one time.
#[derive(Debug, Default)]
pub(super) struct CpuReading {
    programs: BTreeMap<AppId, Vec<(i32, ThreadCpuTime)>>,
    machine: Option<MachineCpuTime>,
}

impl CpuReading {
    /// Reads them for programs with these threads. Threads that have ended are left out.
    pub(super) fn now<'t>(programs: impl Iterator<Item = (AppId, &'t [i32])>) -> Self {
        let mut left = MOST_THREADS;
        let mut reading = Self { machine: MachineCpuTime::read(PROC.as_ref()), ..Self::default() };
        for (app, threads) in programs {
            let Some(fewer) = left.checked_sub(threads.len()) else { continue };
            left = fewer;
            let times = threads.iter().filter_map(|&thread| Some((thread, read(thread)?)));
            reading.programs.insert(app, times.collect());
        }
        reading
    }

    /// How long a program has waited since, per second that it ran: over the threads that it had
    /// then and still has. `None` if none of them ran.
    fn wait(&self, app: AppId) -> Option<f64> {
        let threads = self.programs.get(&app)?;
        let since = threads.iter().filter_map(|&(thread, time)| read(thread)?.since(time));
        let [ran, waited] = since.fold([0_u64; 2], |[ran, waited], time| {
            [ran.saturating_add(time.ran), waited.saturating_add(time.waited)]
        });
        #[allow(clippy::cast_precision_loss)] // Of months.
        (ran > 0).then(|| waited as f64 / ran as f64)
    }

    /// The part of the machine's CPU time that a hypervisor has taken since.
    fn stolen(&self) -> Option<f64> {
        let MachineCpuTime { all, stolen } =
            MachineCpuTime::read(PROC.as_ref())?.since(self.machine?)?;
        #[allow(clippy::cast_precision_loss)] // Of centuries.
        (all > 0).then(|| stolen as f64 / all as f64)
    }
}

fn read(thread: i32) -> Option<ThreadCpuTime> {
    ThreadCpuTime::read(Path::new(PROC), thread)
}

/// The last two readings, a span apart: what was counted since the older one covers the last span
/// at least, and two spans at most.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuWaits {
    older: Option<Arc<CpuReading>>,
    newer: Option<(Time, Arc<CpuReading>)>,
}

impl CpuWaits {
    /// Whether it is time for a reading.
    pub(super) fn are_due(&self, now: Time, span: Duration) -> bool {
        self.newer.as_ref().is_none_or(|(at, _)| now >= at.after(span))
    }

    /// Adds a new reading.
    pub(super) fn add(&mut self, now: Time, reading: CpuReading) {
        self.older = self.newer.replace((now, Arc::new(reading))).map(|(_, reading)| reading);
    }

    /// How long a program waited recently, per second that it ran.
    pub(super) fn wait(&self, app: AppId) -> Option<f64> {
        self.readings().find_map(|reading| reading.wait(app))
    }

    /// The part of the machine's CPU time that a hypervisor took recently.
    pub(super) fn stolen(&self) -> Option<f64> {
        self.readings().find_map(CpuReading::stolen)
    }

    fn readings(&self) -> impl Iterator<Item = &CpuReading> {
        let newer = self.newer.as_ref().map(|(_, reading)| reading);
        self.older.iter().chain(newer).map(|reading| &**reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Time {
        Time::ZERO.after(Duration::from_secs(seconds))
    }

    #[test]
    fn readings_are_due_once_a_span() {
        let mut waits = CpuWaits::default();
        assert!(waits.are_due(at(0), SPAN) && waits.stolen().is_none());
        waits.add(at(5), CpuReading::default());
        assert!(!waits.are_due(at(34), SPAN) && waits.are_due(at(35), SPAN));
    }

    /// This process runs and sleeps; the other number belongs to no process.
    #[test]
    fn programs_are_known_while_a_thread_of_theirs_runs() {
        let me = [i32::try_from(std::process::id()).unwrap(), i32::MAX];
        let (app, gone, many) = (AppId(0), AppId(1), AppId(2));
        let threads = vec![me[0]; MOST_THREADS];
        let mut waits = CpuWaits::default();
        let programs = [(app, &me[..1]), (gone, &me[1..]), (many, &*threads)];
        waits.add(at(0), CpuReading::now(programs.into_iter()));
        let mut before = waits.clone();
        let (_, first) = before.newer.take().unwrap();
        // As if it had begun with the machine, so that all its time counts.
        let of_boot = |(thread, _): &(i32, ThreadCpuTime)| (*thread, ThreadCpuTime::default());
        let programs = first.programs.iter();
        let programs = programs.map(|(&app, of)| (app, of.iter().map(of_boot).collect()));
        before.older = Some(Arc::new(CpuReading { programs: programs.collect(), machine: None }));
        let wait = before.wait(app).unwrap();
        assert!((0.0..1e6).contains(&wait), "{wait}");
        assert_eq!((before.wait(gone), before.wait(many), before.stolen()), (None, None, None));
        // A program without an older reading is measured from the newer one.
        let older = CpuReading::default();
        let newer = before.older.replace(Arc::new(older));
        before.newer = newer.map(|reading| (at(30), reading));
        assert!(before.wait(app).is_some());
    }
}
