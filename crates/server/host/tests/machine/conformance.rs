//! The host keeps to what every machine does.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairways_chip::program::{Accesses, Pattern};
use fairways_chip::service::{RequestSizes, Requests};
use fairways_chip::{Job, Phase, PhaseLength, Settings, SimulatedProgram, preset};
use fairways_conformance::{ProgramKind, Scale, Subject, TestProgram as Asked, Walks, check_all};
use fairways_core::{Action, Event, Llc, Machine, Time, Ways};
use fairways_host::clock::{Clock, EmulatorClock, Wait};
use fairways_host::machine::{Host, Settings as Managing};

use crate::common::{Bench, can_mount};

/// Programs of an emulator. Those that start late idle until then, and are requested only then.
struct Emulating(Settings);

impl Subject for Emulating {
    fn llc(&self) -> Llc {
        self.0.chip.llc
    }

    fn scale(&self) -> Scale {
        Scale { instructions: 40_000, time: Duration::from_micros(20) }
    }

    /// Each program is a process, and each plan is written to the ledger and to files of FUSE.
    fn walks(&self) -> Walks {
        Walks { events: 250, transient: 6 }
    }

    fn machine(&self, programs: &[Asked]) -> Box<dyn Machine + '_> {
        let scale = self.scale();
        let jobs: Vec<Job> = programs.iter().map(|asked| job(asked, scale)).collect();
        let bench = Bench::new(self.0, &jobs);
        let stop = Arc::new(AtomicBool::new(false));
        let mut starts: Vec<Time> = programs.iter().map(|asked| asked.at(scale)).collect();
        starts.sort_unstable();
        starts.dedup();
        let connection = bench.connect();
        let inner = EmulatorClock::new(&connection).unwrap();
        let at_once = starts.iter().take_while(|at| **at == Time::ZERO).count();
        let starts: VecDeque<Time> = starts.split_off(at_once).into();
        let clock = Box::new(Stopping { inner, stops: starts.clone(), stop: Arc::clone(&stop) });
        let at = programs.iter().map(|asked| asked.at(scale)).collect();
        let mut late = Late { host: None, at, starts, stop, exited: 0, bench };
        let first = late.wanted(Time::ZERO);
        let mut host = late.bench.host(&connection, clock, first, Managing::default());
        host.stop_when(Arc::clone(&late.stop));
        late.host = Some(host);
        Box::new(late)
    }
}

fn job(asked: &Asked, scale: Scale) -> Job {
    let pattern = match asked.kind {
        ProgramKind::Light => Pattern::Busy,
        ProgramKind::Streaming => Pattern::Sequential { lines: 1 << 16 },
        ProgramKind::Sensitive => Pattern::Random { lines: 1 << 13 },
    };
    let mut program = SimulatedProgram::new(Accesses::Pattern(pattern), 0.5, 4.0);
    let is_service = asked.kind == ProgramKind::Sensitive;
    if is_service {
        program.requests =
            Some(Requests { instructions: 2000.0, sizes: RequestSizes::LogNormal(0.5) });
    }
    let job = Job { instructions: asked.instructions(scale), ..Job::new(program) };
    if asked.start_windows == 0 {
        return job;
    }
    let length = Some(PhaseLength::Time(scale.time(asked.start_windows)));
    let runs = job.phases[0].clone();
    let forever = Phase { length: Some(PhaseLength::Time(Duration::from_secs(3600))), ..runs };
    Job { phases: vec![Phase { program: None, length }, forever], ..job }
}

/// Interrupts the host when a program is to be requested.
pub(crate) struct Stopping {
    pub(crate) inner: EmulatorClock,
    pub(crate) stops: VecDeque<Time>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Clock for Stopping {
    fn now(&self) -> Time {
        self.inner.now()
    }

    fn notices_instructions(&self) -> bool {
        self.inner.notices_instructions()
    }

    fn was_suspended(&mut self) -> bool {
        self.inner.was_suspended()
    }

    fn wait(&mut self, wait: &Wait<'_>) -> io::Result<bool> {
        let until = self.stops.front().map_or(wait.until, |stop| wait.until.min(*stop));
        let called = self.inner.wait(&Wait { until, ..*wait })?;
        if self.stops.front().is_some_and(|stop| *stop <= self.inner.now()) {
            self.stops.pop_front();
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(called)
    }
}

/// A host whose programs are asked for one after the other.
struct Late {
    /// Before the emulator, which its files are of.
    host: Option<Host>,
    bench: Bench,
    at: Vec<Time>,
    starts: VecDeque<Time>,
    stop: Arc<AtomicBool>,
    exited: usize,
}

impl Late {
    /// The programs that are requested by then.
    fn wanted(&self, now: Time) -> Vec<fairways_host::machine::Managed> {
        let jobs = (0..self.at.len()).filter(|&job| self.at[job] <= now);
        jobs.map(|job| self.bench.managed(job)).collect()
    }
}

impl Machine for Late {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            let wanted = self.starts.front().map(|&start| self.wanted(start));
            let host = self.host.as_mut().unwrap();
            assert!(host.failure().is_none(), "{:?}", host.failure());
            if let Some((at, domain, event)) = host.next_event() {
                assert_eq!(domain, 0);
                self.exited += usize::from(matches!(event, Event::Exited { .. }));
                if self.exited == self.at.len() {
                    // Nobody comes any more.
                    self.stop.store(true, Ordering::Relaxed);
                }
                return Some((at, event));
            }
            let wanted = wanted?;
            self.starts.pop_front();
            host.reconfigure(wanted).unwrap();
            self.stop.store(false, Ordering::Relaxed);
        }
    }

    fn carry_out(&mut self, action: Action<'_>) {
        self.host.as_mut().unwrap().carry_out(0, action);
    }
}

#[test]
fn a_host_over_an_emulator_keeps_to_what_every_machine_does() {
    if !can_mount() {
        return;
    }
    let mut chip = preset::preset("skylake").unwrap();
    // Small, so that caches fill within a check.
    chip.sets = 1024;
    chip.l2 = None;
    chip.cores = 40;
    chip.llc = Llc { clos: 6, ..Llc::with_ways(Ways::new(11).unwrap()) };
    check_all(&Emulating(Settings::new(chip)));
}
