//! Classes of service that are counted but not available: for example, the kernel keeps one for
//! itself (`io_alloc`), or others have all monitoring ids.

use std::time::Instant;

use super::classes::Classes;
use super::undo::Step;
use crate::error::{Error, Scarce};
use crate::ledger::mount::Mount;
use crate::offer::domain::Cap;
use crate::offer::findings::Findings;

impl Findings {
    /// A plan's class could not be made while `held` of ours existed: from now on, plans are for
    /// that many.
    pub(crate) fn set_cap(&mut self, held: usize, lacks: Scarce) {
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        let classes = held.max(1);
        tracing::warn!(
            target: "fairways::actuate", classes, counted = self.offers.counted,
            "the kernel gives fewer classes of service than it counts: plans are for that many; {lacks}"
        );
        self.cap = Some(Cap { classes, held, lacks, found: Instant::now() });
    }
}

impl Classes {
    /// From time to time, and `now` if another manager's group went, tries whether the classes have
    /// come back by making one more than were available, and removing them again. Returns the cap
    /// from then on; `None` if they have.
    pub(crate) fn try_for_more(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        cap: Cap,
        now: bool,
    ) -> Result<Option<Cap>, Error> {
        if !now && cap.found.elapsed() < mount.settings.try_again {
            return Ok(Some(cap));
        }
        let more = (cap.classes as usize + 1).saturating_sub(self.list.len());
        let mut done = Vec::new();
        let tried = (0..more).try_for_each(|_| self.make(mount, found, &mut done).map(drop));
        for step in done {
            if let Step::Made(name) = step {
                self.remove(mount, &name)?;
            }
        }
        match tried {
            Ok(()) => {
                tracing::info!(target: "fairways::actuate", "classes of service have come back");
                Ok(None)
            }
            Err(error) => match error.scarce() {
                Some(lacks) => Ok(Some(Cap { lacks, found: Instant::now(), ..cap })),
                None if error.is_exhausted() => Ok(Some(Cap { found: Instant::now(), ..cap })),
                None => Err(error),
            },
        }
    }
}
