//! A run for `fairways top`: one event at a time, with the policy's actions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairways_attribution::RecentAttribution;
use fairways_core::{AppId, Machine as _, Time, WayMask};
use fairways_record::blame::{BlameReport, LATE};
use fairways_record::status::{
    CacheWays, MachineRecord, MachineView, SCHEMA, Status, WholeMachine,
};
use fairways_simulation::{Running, SimulatedRun};

use super::idle_latency;

/// A run, with its record so far.
pub(crate) struct Stepped {
    run: SimulatedRun,
    machine: Running,
    names: Vec<String>,
    seen: Whole,
    watched: MachineRecord,
    losses: RecentAttribution,
}

/// A simulated cache, of which every way is given out.
struct Whole(CacheWays);

impl MachineView for Whole {
    fn cache(&self, _: u32) -> Option<CacheWays> {
        Some(self.0)
    }

    fn physical(&self, domain: u32, mask: WayMask) -> WayMask {
        WholeMachine.physical(domain, mask)
    }

    fn tasks(&self, app: AppId, to: &mut Vec<i32>) {
        WholeMachine.tasks(app, to);
    }

    fn cpus(&self, domain: u32) -> Vec<u32> {
        WholeMachine.cpus(domain)
    }
}

/// Whole bytes.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is positive, and saturates.
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

impl Stepped {
    /// Runs nothing yet. The run ends early once `stop` is true.
    pub(crate) fn new(run: SimulatedRun, stop: Arc<AtomicBool>) -> Self {
        let mut machine = run.machine();
        machine.stop_when(stop);
        let all = WayMask::full(run.ways());
        let way_bytes = Some(whole(run.way_bytes()));
        let watched = MachineRecord::new(Status {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: run.policy.name().to_owned(),
            mode: "simulated".to_owned(),
            ..Status::default()
        });
        let (names, seen) = (run.names(), Whole(CacheWays { all, offered: all, way_bytes }));
        let losses = RecentAttribution::new(idle_latency(&run), Time::ZERO, LATE);
        Self { run, machine, names, seen, watched, losses }
    }
}

impl fairways_top::WatchedMachine for Stepped {
    fn kind(&self) -> String {
        self.run.kind()
    }

    fn step(&mut self) -> Option<Time> {
        let (at, event) = self.machine.next_event()?;
        let Self { run, machine, names, seen, watched, losses } = self;
        losses.handle(at, &event);
        let name = |app: AppId| {
            let name = machine.job(app).and_then(|job| names.get(job)).cloned();
            name.unwrap_or_else(|| format!("program {}", app.0))
        };
        watched.record_event(0, at, &event, seen, name);
        run.policy.handle(at, &event, &mut |action| {
            watched.record_action(0, &action, seen);
            machine.carry_out(action);
        });
        Some(at)
    }

    fn record(&self) -> &MachineRecord {
        &self.watched
    }

    fn losses(&self) -> BlameReport {
        BlameReport::of_late(&self.losses, &self.watched.status, 0, self.machine.now())
    }

    fn end(&mut self) -> Option<anyhow::Error> {
        self.machine.end();
        self.machine.failure(self.machine.now())
    }
}
