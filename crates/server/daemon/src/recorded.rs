//! What happens and what policies decide, in the state that people see.

use std::sync::Arc;

use fairways_command_kit::moment::Moment;
use fairways_core::{Action, Event, Time};
use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;
use tracing::debug;

use super::observer::HostObserver;
use super::seen::OfHost;
use super::unmeasured::Unmeasured;

/// Records events and actions in the state that clients and metrics get.
pub(super) struct RecordObserver {
    watched: Arc<Mutex<MachineRecord>>,
    unmeasured: Unmeasured,
    /// Whether the machine's clock is the host's.
    has_time_of_day: bool,
    /// Whether some programs were shown as not managed.
    were_left: bool,
}

impl RecordObserver {
    pub(super) const fn new(
        watched: Arc<Mutex<MachineRecord>>,
        unmeasured: Unmeasured,
        has_time_of_day: bool,
    ) -> Self {
        Self { watched, unmeasured, has_time_of_day, were_left: false }
    }
}

impl HostObserver for RecordObserver {
    fn turn(&mut self, host: &Host) {
        let left = host.not_managed();
        if self.were_left || !left.is_empty() {
            self.watched.lock().status.set_not_managed(&left);
            self.were_left = !left.is_empty();
        }
    }

    fn event(&mut self, host: &Host, domain: u32, at: Time, event: &Event) {
        self.unmeasured.hear(domain, event);
        let watched = &mut *self.watched.lock();
        // No event reports that another scheduler has replaced it.
        watched.status.set_scheduler(host.scheduler());
        watched.status.now = self.has_time_of_day.then(Moment::now);
        watched.record_event(domain, at, event, &OfHost(host), |app| {
            host.name(app).unwrap_or_default().to_owned()
        });
        if matches!(event, Event::Cpus(_)) {
            watched.status.set_cpus(domain, host.cpus(domain));
        }
        if matches!(event, Event::Started { .. })
            && let Some(missing) = host.unmatched()
        {
            // Resctrl may be slow until the next turn, at which all of them are found.
            watched.status.unmatched.retain(|of| missing.iter().any(|at| at.name == of.name));
        }
    }

    fn action(&mut self, host: &Host, domain: u32, _: Time, action: &Action<'_>) {
        let Some(shown) = self.unmeasured.shown(domain, action) else { return };
        if let Action::Classified { app, class, reason } = &*shown {
            debug!(domain, app = app.0, %class, "{reason}");
        }
        self.watched.lock().record_action(domain, &shown, &OfHost(host));
    }

    fn handled(&mut self, host: &Host, _: Time, _: &Event) {
        let domains = host.domains();
        let status = &mut self.watched.lock().status;
        if domains.len() != status.domains.len() {
            status.keep_domains(|id| domains.iter().any(|domain| domain.id == id));
        }
    }
}
