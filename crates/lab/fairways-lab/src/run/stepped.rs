//! A run for `fairways top`: one event at a time, with the policy's actions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairways_attribution::RecentAttribution;
use fairways_core::{Action, AppId, Event, Observer, Time, WayMask, step};
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
    recorded: StepRecord,
}

/// What is shown of a run.
struct StepRecord {
    names: Vec<String>,
    seen: Whole,
    watched: MachineRecord,
    losses: RecentAttribution,
}

impl<P: ?Sized> Observer<Running, P> for StepRecord {
    fn event(&mut self, at: Time, event: &Event, machine: &Running) {
        self.losses.handle(at, event);
        let name = |app: AppId| {
            let name = machine.job(app).and_then(|job| self.names.get(job)).cloned();
            name.unwrap_or_else(|| format!("program {}", app.0))
        };
        self.watched.record_event(0, at, event, &self.seen, name);
    }

    fn action(&mut self, _: Time, action: &Action<'_>, _: &Running) {
        self.watched.record_action(0, action, &self.seen);
    }
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
        Self { run, machine, recorded: StepRecord { names, seen, watched, losses } }
    }
}

impl fairways_top::WatchedMachine for Stepped {
    fn kind(&self) -> String {
        self.run.kind()
    }

    fn step(&mut self) -> Option<Time> {
        step(&mut self.machine, self.run.policy.as_mut(), &mut [&mut self.recorded])
    }

    fn record(&self) -> &MachineRecord {
        &self.recorded.watched
    }

    fn losses(&self) -> BlameReport {
        let StepRecord { watched, losses, .. } = &self.recorded;
        BlameReport::of_late(losses, &watched.status, 0, self.machine.now())
    }

    fn end(&mut self) -> Option<anyhow::Error> {
        self.machine.end();
        self.machine.failure(self.machine.now())
    }
}
