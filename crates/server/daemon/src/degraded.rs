//! Problems that do not stop the daemon.

use std::sync::Arc;

use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

use super::nri::NriConnection;
use super::observer::HostObserver;
use super::promises;

/// Shows it, from where it is found beside the host.
pub(super) struct Degraded {
    pub(super) watched: Arc<Mutex<MachineRecord>>,
    /// The lines that are shown.
    pub(super) shown: Vec<String>,
    /// Journals that are not written.
    pub(super) journals: Arc<Mutex<Vec<String>>>,
    /// What the policy can't learn if no plan is carried out.
    pub(super) unmeasured: Option<String>,
    /// What the policy needs and the host lacks.
    pub(super) lacking: Arc<Mutex<Option<String>>>,
    /// What a namespace hides from this process.
    pub(super) out_of_sight: Vec<String>,
    /// The container runtime, if the daemon is its plugin.
    pub(super) nri: Option<Arc<NriConnection>>,
}

impl Degraded {
    /// All of it, a line each.
    fn lines(&self, host: &Host) -> Vec<String> {
        let mut lines = host.degraded();
        lines.extend_from_slice(&self.journals.lock());
        lines.extend(self.unmeasured.clone());
        lines.extend(self.lacking.lock().clone());
        lines.extend_from_slice(&self.out_of_sight);
        lines.extend(self.nri.as_ref().and_then(|nri| nri.silence()));
        lines.extend(fairways_exec_policy::given_up());
        lines.extend(promises::beyond(&self.watched.lock().status));
        lines
    }
}

impl HostObserver for Degraded {
    fn turn(&mut self, host: &Host) {
        let now = self.lines(host);
        if now != self.shown {
            self.watched.lock().status.degraded.clone_from(&now);
            self.shown = now;
        }
    }
}
