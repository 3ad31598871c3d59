//! Programs that the configuration names and that are not there.

use std::path::Path;
use std::time::{Duration, Instant};

use fairways_host::machine::Host;
use tracing::warn;

use crate::status::Unmatched;
use crate::unmatched::why;

/// So long after the start what is not there is warned of, once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who is not there now.
pub(super) struct Missing {
    since: Instant,
    shown: Vec<Unmatched>,
    warned: Vec<String>,
}

impl Missing {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), shown: Vec::new(), warned: Vec::new() }
    }

    /// What is shown, if it is something else than before.
    pub(super) fn look(&mut self, host: &Host) -> Option<&[Unmatched]> {
        let now = host.unmatched();
        let names = self.shown.iter().map(|of| of.name.as_str());
        let is_new = !names.eq(now.iter().map(|of| of.name.as_str()));
        if is_new {
            let unmatched = |of: &fairways_host::programs::Wanted| Unmatched {
                name: of.name.clone(),
                select: of.selector.to_string(),
                why: why(&of.selector, Path::new("/proc")),
            };
            self.shown = now.into_iter().map(unmatched).collect();
        }
        if self.since.elapsed() >= PATIENCE {
            for of in &self.shown {
                if !self.warned.contains(&of.name) {
                    warn!(program = of.name, "not there: {}", of.why);
                    self.warned.push(of.name.clone());
                }
            }
        }
        is_new.then_some(&self.shown)
    }
}
