//! A dry run: decisions are logged, and nothing is written.

use std::collections::HashMap;

use fairways_core::{AppId, Partition};
use fairways_ledger::{OpenError, Restored};

use super::enforcement::Enforcement;
use super::managed::ManagedResctrl;
use crate::error::{Error, Refused};
use crate::groups::confine::confinement;
use crate::groups::programs::Programs;
use crate::ledger::State;
use crate::ledger::mount::Mount;
use crate::offer::domain::Domain;
use crate::plan::limits::Carried;
use crate::plan::refine::Target;
use crate::settings::Settings;
use crate::tree::Tree;

/// Decisions are logged.
#[derive(Debug)]
pub(crate) struct DryRun;

impl Enforcement for DryRun {
    /// Treats groups that another run left like those of any other manager.
    fn open(&self, _: &Tree, _: &Settings) -> Result<State, OpenError> {
        Ok(State::dry())
    }

    fn monitor(&self, managed: &mut ManagedResctrl, _: AppId) -> Result<bool, Error> {
        let ManagedResctrl { mount, found, programs, .. } = managed;
        Ok(programs.free_monitors(found, &mount.settings) > 0)
    }

    fn take(
        &self,
        managed: &mut ManagedResctrl,
        app: AppId,
        threads: &[i32],
        from: &HashMap<i32, String>,
    ) -> Result<bool, Error> {
        let is_taken = managed.mount.settings.take_over;
        let message = if is_taken { "would be taken over" } else { "left to others" };
        for thread in threads {
            let group = from.get(thread);
            tracing::info!(target: "fairways::actuate", app = app.0, thread, group, "{message}");
        }
        Ok(is_taken)
    }

    /// Nothing is counted.
    fn count_staying(&self, _: &mut ManagedResctrl, _: AppId) -> Result<(), Error> {
        Ok(())
    }

    /// Does nothing, as no thread was moved.
    fn release(
        &self,
        programs: &mut Programs,
        _: &mut Mount,
        app: AppId,
        threads: &[i32],
    ) -> Result<(), Error> {
        if let Some(program) = programs.by_id.get_mut(&app) {
            program.placed.retain(|thread| !threads.contains(thread));
        }
        Ok(())
    }

    fn enter(&self, _: &Tree, _: &str, _: &[i32]) -> Result<Vec<i32>, Error> {
        Ok(Vec::new())
    }

    /// Makes no groups, so names them by number.
    fn carry_out(
        &self,
        managed: &mut ManagedResctrl,
        targets: &[Target],
        carried: &Carried,
        reason: &str,
    ) -> Result<Vec<String>, Refused> {
        for (number, target) in targets.iter().enumerate() {
            let levels = managed.found.levels_for(&target.members, &target.levels, carried);
            for (domain, mask) in &target.masks {
                let level = levels.get(domain).map(|level| level.get());
                let programs = target.members.iter().map(|app| app.0.to_string());
                let programs = programs.collect::<Vec<_>>().join(" ");
                tracing::info!(
                    target: "fairways::actuate", class = number, domain, after = %mask, level, programs, reason, "would be set"
                );
            }
        }
        let confined = confinement(&managed.mount.tree, &managed.found);
        let (before, after) = confined.map_err(Refused::Failed)?;
        for ((line, domain), after) in after {
            let before = before.get(&(line, domain)).copied().unwrap_or_default();
            if before != after {
                tracing::info!(
                    target: "fairways::actuate", group = "/", resource = line, domain, %before, %after, reason,
                    "others would be confined"
                );
            }
        }
        Ok((0..targets.len()).map(|number| number.to_string()).collect())
    }

    /// The partition that the last plans would lead to.
    fn in_force(&self, managed: &ManagedResctrl, domain: &Domain) -> Partition {
        managed.plans.applied.partition(domain.id)
    }

    fn keep_up(&self, _: &mut ManagedResctrl) -> Result<(), Error> {
        Ok(())
    }

    fn close(&self, _: ManagedResctrl) -> Restored {
        Restored::default()
    }
}
