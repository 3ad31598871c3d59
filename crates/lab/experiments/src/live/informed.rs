//! How fair a mix can be for a policy that knows the profile of every phase at every moment.

use std::collections::VecDeque;
use std::sync::Arc;

use fairways_core::{Action, AppId, Event, Machine, Policy, Time, WindowLength, Wish, run};
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_profiles::{FairnessMetrics, Mix, ProgramCatalog};

use super::compare::{Protocol, metrics_of_runs};
use super::jobs::{job, scaled};

/// How often phases are looked at, in instructions of each program.
const LOOK: u64 = 10_000_000;

/// Runs a mix under a policy that decides by profiles, and knows at every moment those of the
/// phases that the programs are in. Nothing is hidden by noise.
pub fn informed(
    programs: &ProgramCatalog,
    mix: &Mix,
    settings: &Settings,
    protocol: &Protocol,
    policy: &mut dyn Policy,
) -> FairnessMetrics {
    let jobs = mix.programs.iter().map(|&index| Job {
        instructions: Some(scaled(protocol.instructions, protocol.scale)),
        then: AfterRun::Restart,
        ..job(programs, index, settings.llc.ways, protocol.scale)
    });
    let jobs: Vec<Job> = jobs.collect();
    let mut model = Model::new(Settings { noise: 0.0, lost: 0.0, ..*settings }, jobs.clone());
    model.stop_after(protocol.completions as usize);
    let known = vec![None; jobs.len()];
    let mut machine = InformedMachine { model, programs, mix, known, events: VecDeque::new() };
    run(&mut machine, policy, &mut []);
    metrics_of_runs(&machine.model, &jobs, settings.mhz).1
}

/// The model, on which each phase of a program is a program of its own, whose profile is known.
struct InformedMachine<'a> {
    model: Model,
    programs: &'a ProgramCatalog,
    mix: &'a Mix,
    /// By job: the program that runs, and its phase.
    known: Vec<Option<(AppId, usize)>>,
    events: VecDeque<(Time, Event)>,
}

impl InformedMachine<'_> {
    /// Takes in an event of the model.
    fn hear(&mut self, at: Time, event: Event) {
        match event {
            Event::Started { app, .. } => {
                let every = WindowLength::Instructions(LOOK);
                self.model.carry_out(Action::Watch { app, every });
            }
            Event::Sampled(_) => {}
            Event::Exited { app } => {
                for known in &mut self.known {
                    known.take_if(|known| known.0 == app);
                }
                self.events.push_back((at, event));
            }
            _ => self.events.push_back((at, event)),
        }
        // A phase that begins is a program that starts, in place of the one before.
        for (app, job, phase, _) in self.model.running() {
            if self.known[job] == Some((app, phase)) {
                continue;
            }
            if self.known[job].replace((app, phase)).is_some() {
                self.events.push_back((at, Event::Exited { app }));
            }
            let program = self.programs.phases(self.mix.programs[job])[phase].program;
            let profile = Some(Arc::new(self.programs.table().profile(program)));
            let started = Event::Started { app, wish: Wish::default(), profile };
            self.events.push_back((at, started));
        }
    }
}

impl Machine for InformedMachine<'_> {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        while self.events.is_empty() {
            let (at, event) = self.model.next_event()?;
            self.hear(at, event);
        }
        self.events.pop_front()
    }

    fn carry_out(&mut self, action: Action<'_>) {
        if let Action::Partition { partition, .. } = &action
            && partition.placements().len() < self.model.running().count()
        {
            // While phases change at once, a plan lacks programs that run.
            return;
        }
        self.model.carry_out(action);
    }
}
