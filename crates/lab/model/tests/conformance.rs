//! The model keeps the promises of every machine.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_conformance::{ProgramKind, Scale, Subject, TestProgram, check_all};
use fairways_core::{Llc, Machine, Time};
use fairways_model::{Job, JobPhase, Model, Settings};
use fairways_profiles::{BandwidthModel, MemoryBandwidth, ProfiledProgram as Profile, embedded};

struct Analytic {
    settings: Settings,
    /// When the number of classes of service falls.
    change: Option<Time>,
}

impl Analytic {
    fn new() -> Self {
        let llc = Llc { clos: 6, ..Llc::with_ways(embedded().ways()) };
        // The reports do not depend on how finely movements are followed.
        Self { settings: Settings { step: 1.0, ..Settings::new(llc) }, change: None }
    }
}

impl Subject for Analytic {
    fn llc(&self) -> Llc {
        self.settings.llc
    }

    fn scale(&self) -> Scale {
        Scale { instructions: 2_000_000, time: Duration::from_millis(1) }
    }

    fn machine(&self, programs: &[TestProgram]) -> Box<dyn Machine + '_> {
        let jobs = programs.iter().map(|program| {
            let name = match program.kind {
                ProgramKind::Light => "chess",
                ProgramKind::Streaming => "triad",
                ProgramKind::Sensitive => "hash-join",
            };
            let index = embedded().find(name).unwrap();
            let phase = |windows: u64| JobPhase {
                program: Arc::new(Profile::new(embedded(), index, self.llc().ways)),
                instructions: Some(self.scale().instructions * windows),
            };
            let (at, instructions) = (program.at(self.scale()), program.instructions(self.scale()));
            Job { at, instructions, ..Job::new(vec![phase(2), phase(7)]) }
        });
        let mut model = Model::new(self.settings, jobs);
        if let Some(time) = self.change {
            model.change(time, Llc { clos: 4, ..self.llc() });
        }
        Box::new(model)
    }

    fn is_noisy(&self) -> bool {
        self.settings.noise > 0.0
    }
}

#[test]
fn observed_perfectly() {
    check_all(&Analytic::new());
}

#[test]
fn observed_badly() {
    let Analytic { settings, .. } = Analytic::new();
    let settings = Settings { noise: 0.05, lost: 0.2, ..settings };
    check_all(&Analytic { settings, change: None });
}

#[test]
fn windows_that_are_longer_than_asked() {
    let Analytic { settings, .. } = Analytic::new();
    check_all(&Analytic { settings: Settings { overshoot: 4.0, ..settings }, change: None });
}

#[test]
fn plans_refused_at_random() {
    let Analytic { settings, .. } = Analytic::new();
    check_all(&Analytic { settings: Settings { refusals: 0.3, ..settings }, change: None });
}

#[test]
fn memory_with_a_limit() {
    let Analytic { settings, .. } = Analytic::new();
    for model in [BandwidthModel::Simple, BandwidthModel::Stalls] {
        let bandwidth = MemoryBandwidth::new(20_000.0, model);
        check_all(&Analytic { settings: Settings { bandwidth, ..settings }, change: None });
    }
}

#[test]
fn a_cache_that_changes() {
    let Analytic { settings, .. } = Analytic::new();
    // At the end of a window, amid the checks.
    let change = Some(Time::ZERO.after(Duration::from_millis(10)));
    check_all(&Analytic { settings, change });
}
