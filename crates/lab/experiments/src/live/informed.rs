//! How fair a mix can be for a policy that knows the profile of every phase at every moment.

use std::sync::Arc;

use fairways_core::{Action, AppId, Event, Machine, Policy, WindowLength, Wish};
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
    // By job: the program that runs, and its phase.
    let mut known: Vec<Option<(AppId, usize)>> = vec![None; jobs.len()];
    while let Some((at, event)) = model.next_event() {
        let mut events = Vec::new();
        match event {
            Event::Started { app, .. } => {
                let every = WindowLength::Instructions(LOOK);
                model.carry_out(Action::Watch { app, every });
            }
            Event::Sampled(_) => {}
            Event::Exited { app } => {
                for known in &mut known {
                    known.take_if(|known| known.0 == app);
                }
                events.push(event);
            }
            _ => events.push(event),
        }
        // A phase that begins is a program that starts, in place of the one before.
        for (app, job, phase, _) in model.running() {
            if known[job] == Some((app, phase)) {
                continue;
            }
            if known[job].replace((app, phase)).is_some() {
                events.push(Event::Exited { app });
            }
            let program = programs.phases(mix.programs[job])[phase].program;
            let profile = Some(Arc::new(programs.table().profile(program)));
            events.push(Event::Started { app, wish: Wish::default(), profile });
        }
        let running = model.running().count();
        for event in &events {
            policy.handle(at, event, &mut |action| {
                match &action {
                    // In between, a plan lacks programs that run.
                    Action::Partition { partition, .. }
                        if partition.placements().len() < running => {}
                    _ => model.carry_out(action),
                }
            });
        }
    }
    metrics_of_runs(&model, &jobs, settings.mhz).1
}
