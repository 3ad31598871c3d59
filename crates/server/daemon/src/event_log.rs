//! The log's lines about what happens.

use std::sync::Arc;

use fairways_core::{Event, Levers, Time};
use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;
use tracing::{info, warn};

use super::observer::HostObserver;

/// Logs programs that come and go, and plans that are refused or not fully in force.
pub(super) struct LoggedEvents(pub(super) Arc<Mutex<MachineRecord>>);

impl HostObserver for LoggedEvents {
    fn event(&mut self, host: &Host, domain: u32, _: Time, event: &Event) {
        match event {
            Event::Cpus(cpus) => {
                info!(domain, cpus = cpus.count, quantum = ?cpus.quantum, "threads take turns");
            }
            Event::Machine(_) if host.scheduler().is_some() => {}
            Event::Machine(Levers { llc, .. }) => {
                info!(
                    domain,
                    ways = llc.ways.get(),
                    clos = llc.clos,
                    "ways and classes to give out"
                );
            }
            Event::Started { app, .. } => {
                let program = host.name(*app).unwrap_or_default();
                info!(domain, app = app.0, program, "starts");
            }
            Event::Exited { app } => info!(domain, app = app.0, "has ended"),
            Event::Applied { plan, .. } => {
                for line in self.0.lock().status.differences(domain) {
                    warn!(domain, plan = plan.0, "the plan is not fully in force: {line}");
                }
            }
            Event::Refused { plan, why } => warn!(domain, plan = plan.0, "refused: {why}"),
            _ => {}
        }
    }
}
