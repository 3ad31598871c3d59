//! Programs in the configuration that are not running.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairways_host::machine::Host;
use fairways_programs::{Roots, Running, Wanted};
use fairways_record::status::{MachineRecord, Unmatched};
use parking_lot::Mutex;
use tracing::warn;

use crate::observer::HostObserver;
use crate::unmatched::why;

/// A program that is missing for this long is logged, once.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shortest time between two searches of the running processes. Otherwise a program that starts
/// and ends all the time would cause one each time.
const SELDOM: Duration = Duration::from_secs(10);

/// The longest time for a search, as the loop and starting containers wait meanwhile. With too many
/// processes, the intended name may not be found.
const BUDGET: Duration = Duration::from_millis(100);

/// Shows the programs that are missing now.
pub(super) struct Missing {
    watched: Arc<Mutex<MachineRecord>>,
    shown: Vec<Unmatched>,
    /// Since when each program is missing, and whether that was logged.
    since: Vec<(Instant, bool)>,
    running: Option<(Instant, Running)>,
}

impl Missing {
    pub(super) const fn new(watched: Arc<Mutex<MachineRecord>>) -> Self {
        Self { watched, shown: Vec::new(), since: Vec::new(), running: None }
    }

    /// The missing programs to show; `None` where it is not known which programs run.
    fn look(&mut self, host: &Host) -> Option<&[Unmatched]> {
        let wanted = host.unmatched()?;
        let is_new = self.shown.len() != wanted.len()
            || self.shown.iter().zip(&wanted).any(|(shown, program)| !is_same(shown, program));
        if is_new {
            let now = Instant::now();
            if self.running.as_ref().is_none_or(|(at, _)| now.duration_since(*at) >= SELDOM) {
                // If it can't be read, no program is suggested.
                self.running =
                    Some((now, Running::look(&Roots::default(), BUDGET).unwrap_or_default()));
            }
            let empty = Running::default();
            let running = self.running.as_ref().map_or(&empty, |(_, running)| running);
            let (mut shown, mut since) = (Vec::new(), Vec::new());
            for program in wanted {
                let before = self.shown.iter().position(|shown| is_same(shown, program));
                since.push(before.map_or((now, false), |before| self.since[before]));
                shown.push(before.map_or_else(
                    || Unmatched {
                        name: program.name.clone(),
                        select: program.selector.to_string(),
                        why: why(&program.selector, running),
                    },
                    |before| self.shown[before].clone(),
                ));
            }
            (self.shown, self.since) = (shown, since);
        }
        for (program, (since, is_warned)) in self.shown.iter().zip(&mut self.since) {
            if !*is_warned && since.elapsed() >= PATIENCE {
                warn!(program = program.name, "not there: {}", program.why);
                *is_warned = true;
            }
        }
        Some(&self.shown)
    }
}

impl HostObserver for Missing {
    fn turn(&mut self, host: &Host) {
        let watched = Arc::clone(&self.watched);
        let Some(unmatched) = self.look(host) else { return };
        let status = &mut watched.lock().status;
        if status.unmatched != unmatched {
            status.unmatched = unmatched.to_vec();
        }
    }
}

fn is_same(shown: &Unmatched, program: &Wanted) -> bool {
    shown.name == program.name && shown.select == program.selector.to_string()
}
