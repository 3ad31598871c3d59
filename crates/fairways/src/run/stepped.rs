//! A run for `fairways top`: one event at a time, with the policy's actions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairways_command_kit::BadInput;
use fairways_core::{AppId, Machine as _, Time, WayMask};
use fairways_record::status::{
    CacheWays, MachineRecord, MachineView, SCHEMA, Status, WholeMachine,
};

use super::machine::Running;
use super::simulated::Checked;
use crate::args::{Machine, RunFlags};

/// A run, with its record so far.
pub(crate) struct Stepped {
    checked: Checked,
    machine: Running,
    names: Vec<String>,
    seen: Whole,
    watched: MachineRecord,
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
    /// Reads the files and checks every flag, but runs nothing yet. The run ends early once `stop`
    /// is true.
    ///
    /// # Errors
    /// If the flags do not make a run.
    pub(crate) fn new(
        machine: &Machine,
        args: &RunFlags,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, BadInput> {
        let checked = Checked::new(machine, args)?;
        let mut machine = checked.machine();
        machine.stop_when(stop);
        let all = WayMask::full(checked.ways());
        let way_bytes = Some(whole(checked.way_bytes()));
        let watched = MachineRecord::new(Status {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: checked.policy.name().to_owned(),
            mode: "simulated".to_owned(),
            ..Status::default()
        });
        let (names, seen) = (checked.names(), Whole(CacheWays { all, offered: all, way_bytes }));
        Ok(Self { checked, machine, names, seen, watched })
    }
}

impl fairways_top::WatchedMachine for Stepped {
    fn kind(&self) -> String {
        self.checked.kind()
    }

    fn step(&mut self) -> Option<Time> {
        let (at, event) = self.machine.next_event()?;
        let Self { checked, machine, names, seen, watched } = self;
        let name = |app: AppId| {
            let name = machine.job(app).and_then(|job| names.get(job)).cloned();
            name.unwrap_or_else(|| format!("program {}", app.0))
        };
        watched.record_event(0, at, &event, seen, name);
        checked.policy.handle(at, &event, &mut |action| {
            watched.record_action(0, &action, seen);
            machine.carry_out(action);
        });
        Some(at)
    }

    fn record(&self) -> &MachineRecord {
        &self.watched
    }

    fn end(&mut self) -> Option<anyhow::Error> {
        self.machine.end();
        self.machine.failure(self.machine.now())
    }
}
