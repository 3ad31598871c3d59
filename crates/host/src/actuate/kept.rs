//! Classes of service that are counted and not to be had: the kernel keeps one for itself (`io_alloc`), say.

use std::time::Instant;

use super::actuator::Actuator;
use super::domain::Cap;
use super::error::Error;
use super::step::Step;

impl Actuator {
    /// What is not as it should be, though programs are managed; a line each. Nothing for the most part.
    #[must_use]
    pub fn degraded(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.tree.locked.borrow().iter().cloned().collect();
        if self.cap.is_some() {
            let (offered, counted) = (self.offers.classes, self.offers.counted);
            lines.push(format!(
                "only {offered} of {counted} classes of service can be had: the kernel keeps the rest, and mkdir answers ENOSPC"
            ));
        }
        if self.merged > 0 {
            lines.push(format!(
                "too few classes of service: of the plan's, two were made one {} times, and their programs may fill more ways than planned",
                self.merged
            ));
        }
        for class in self.classes.iter().filter(|class| !class.tightened.is_empty()) {
            let name = |app| self.programs.get(app).map(|program| program.name.as_str());
            let programs: Vec<&str> = class.tightened.iter().filter_map(name).collect();
            lines.push(format!(
                "too few classes of service: in {} ({}) limits are stricter than where these came from: {}",
                class.name,
                class.limits.shown(),
                programs.join(", ")
            ));
        }
        lines
    }

    /// A plan's class could not be made while `held` of ours were there: plans are for so many from now on.
    pub(super) fn cap(&mut self, held: usize) {
        let classes = u32::try_from(held).unwrap_or(u32::MAX).max(1);
        tracing::warn!(
            target: "fairways::actuate", classes, counted = self.offers.counted,
            "the kernel gives fewer classes of service than it counts: plans are for so many"
        );
        self.cap = Some(Cap { classes, found: Instant::now() });
    }

    /// Whether the classes have come back is tried by making one more than were to be had, and removing them
    /// again: from time to time, and `now` if another manager's group went.
    pub(super) fn try_for_more(&mut self, now: bool) -> Result<(), Error> {
        let Some(cap) = self.cap else { return Ok(()) };
        if !now && cap.found.elapsed() < self.settings.try_again {
            return Ok(());
        }
        let more = (cap.classes as usize + 1).saturating_sub(self.classes.len());
        let mut done = Vec::new();
        let tried = (0..more).try_for_each(|_| self.make_class(&mut done).map(drop));
        for step in done {
            if let Step::Made(name) = step {
                self.remove_class(&name)?;
            }
        }
        match tried {
            Ok(()) => {
                tracing::info!(target: "fairways::actuate", "classes of service have come back");
                self.cap = None;
            }
            Err(error) if error.is_exhausted() => {
                self.cap = Some(Cap { found: Instant::now(), ..cap });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
