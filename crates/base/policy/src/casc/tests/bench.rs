//! A machine for tests: groups run when the test says so, with the miss rates of their threads'
//! true PCMRs.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, CoRun, Counters, Cpus, Event, Llc, Policy, Q32, ThreadCounters, ThreadId, Time,
    Ways, Wish,
};

use crate::announce::static_text;
use crate::casc::{Casc, Parameters};

pub(super) const fn thread(app: u32) -> ThreadId {
    ThreadId::first_of(AppId(app))
}

fn apps(threads: &[ThreadId]) -> Vec<u32> {
    threads.iter().map(|thread| thread.app.0).collect()
}

/// An action, as far as tests look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Watch(Duration),
    Allow(u32, Vec<u32>),
    Raise(Vec<u32>),
    Lower(Vec<u32>),
    Estimated(u32, Q32, i64),
    Class(u32, &'static str),
    Wake(Time),
}

pub(super) struct Bench {
    pub(super) casc: Casc,
    pub(super) now: Time,
    pub(super) cpus: u32,
    /// Each app's true PCMR, misses per 100 references.
    pub(super) truth: Vec<i64>,
    /// The actions since the test looked last.
    pub(super) asked: Vec<Asked>,
    /// When the alarm is set for.
    pub(super) alarm: Option<Time>,
    /// The apps that are raised.
    pub(super) raised: Vec<u32>,
    /// Where each app may run, as requested; every CPU at first.
    allowed: Vec<Option<Vec<u32>>>,
}

impl Bench {
    pub(super) fn new(cpus: u32, parameters: Parameters) -> Self {
        let casc = Casc::new(parameters);
        let (truth, asked, raised, allowed) = (vec![], vec![], vec![], vec![]);
        let mut bench =
            Self { casc, now: Time::ZERO, cpus, truth, asked, raised, allowed, alarm: None };
        bench.report(&Event::Machine(Llc::with_ways(Ways::new(12).unwrap()).into()));
        bench.set_cpus(cpus);
        bench
    }

    /// A machine on which threads with these PCMRs have started.
    pub(super) fn with(cpus: u32, truth: &[i64], parameters: Parameters) -> Self {
        let mut bench = Self::new(cpus, parameters);
        truth.iter().for_each(|&pcmr| bench.start(pcmr));
        bench
    }

    pub(super) fn set_cpus(&mut self, count: u32) {
        self.cpus = count;
        self.report(&Event::Cpus(Cpus { count, quantum: Duration::from_millis(20) }));
    }

    pub(super) fn report(&mut self, event: &Event) {
        let Self { casc, now, asked, raised, allowed, alarm, .. } = self;
        casc.handle(*now, event, &mut |action| {
            asked.push(match action {
                Action::WatchTogether { shortest } => Asked::Watch(shortest),
                Action::Allow { thread, cpus, .. } => {
                    allowed[thread.app.0 as usize] = Some(cpus.to_vec());
                    Asked::Allow(thread.app.0, cpus.to_vec())
                }
                Action::Priority { threads, raised: true, .. } => {
                    raised.extend(apps(&threads));
                    Asked::Raise(apps(&threads))
                }
                Action::Priority { threads, raised: false, .. } => {
                    raised.retain(|app| !apps(&threads).contains(app));
                    Asked::Lower(apps(&threads))
                }
                Action::Estimated { thread, value, raw, what } => {
                    assert_eq!(what, "PCMR, misses per 100 L2 references");
                    Asked::Estimated(thread.app.0, value, raw)
                }
                Action::Classified { app, class, .. } => Asked::Class(app.0, static_text(class)),
                Action::Wake { at } => {
                    *alarm = Some(at);
                    Asked::Wake(at)
                }
                other => panic!("{other:?} is none of CASC's actions"),
            });
        });
    }

    pub(super) fn start(&mut self, truth: i64) {
        let app = AppId(u32::try_from(self.truth.len()).unwrap());
        self.truth.push(truth);
        self.allowed.push(None);
        self.report(&Event::Started { app, wish: Wish::default(), profile: None });
    }

    pub(super) fn exit(&mut self, app: u32) {
        self.report(&Event::Exited { app: AppId(app) });
    }

    pub(super) fn wait(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    pub(super) fn wake_after(&mut self, time: Duration) {
        self.wait(time);
        self.report(&Event::Woke);
    }

    /// These apps ran together for `micros` microseconds, and missed this many of 100 million
    /// references.
    pub(super) fn ran_with(&mut self, apps: &[u32], micros: u64, misses: u64) {
        let window = Duration::from_micros(micros);
        self.wait(window);

        let group = Counters {
            llc_misses: Some(misses),
            llc_references: Some(100_000_000),
            ..Counters::default()
        };
        let threads = apps
            .iter()
            .map(|&app| ThreadCounters { thread: thread(app), counters: Counters::default() })
            .collect();
        self.report(&Event::RanTogether(CoRun { threads, group, window }));
    }

    /// Their miss rate is the average of their true PCMRs (Formula 1).
    pub(super) fn ran(&mut self, apps: &[u32], micros: u64) {
        let sum: i64 = apps.iter().map(|&app| self.truth[app as usize]).sum();
        let misses = u64::try_from(sum).unwrap() * 1_000_000 / apps.len() as u64;
        self.ran_with(apps, micros, misses);
    }

    /// Every row of the matrix of these apps runs for 3 ms.
    pub(super) fn rows(&mut self, apps: &[u32]) {
        for _ in 0..3 {
            for out in apps {
                let row: Vec<u32> = apps.iter().copied().filter(|app| app != out).collect();
                self.ran(&row, 1000);
            }
        }
    }

    pub(super) fn pcmr(&self, app: u32) -> Option<Q32> {
        self.casc.pcmr(thread(app))
    }

    /// Whether an app's PCMR is what it truly is, but for the rounding of counts.
    pub(super) fn knows(&self, app: u32) -> bool {
        let truth = self.truth[app as usize].clamp(0, 100).unsigned_abs() << 32;
        self.pcmr(app).is_some_and(|pcmr| pcmr.raw().abs_diff(truth) < 1 << 20)
    }

    pub(super) fn allowed(&self, app: u32) -> Vec<u32> {
        self.allowed[app as usize].clone().unwrap_or_else(|| (0..self.cpus).collect())
    }

    /// The actions since the last call.
    pub(super) fn asked(&mut self) -> Vec<Asked> {
        core::mem::take(&mut self.asked)
    }
}
