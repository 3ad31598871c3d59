//! What others have changed meanwhile.

use std::collections::BTreeMap;

use fairways_core::AppId;

use super::actuator::Actuator;
use super::changes::{Changes, note};
use super::domain::Offers;
use super::error::Error;
use super::foreign::{Foreign, members, residents};
use super::masks::Masks;
use super::program::Program;
use super::survey::Survey;
use super::threads::enter;

impl Actuator {
    /// Finds out what others have changed: domains that went off line or returned, groups that came, went or changed, groups of ours that
    /// were removed. Masks of ours that were changed are written again; programs that are not monitored are, if ids
    /// have become free.
    ///
    /// # Errors
    /// [`Error::Unmounted`], after which this actuator is of no use: drop it, so that resctrl can be mounted again.
    /// [`Error::Busy`] if others have left nothing to offer; what was offered before stays in [`domains`](Self::domains) then.
    pub fn look(&mut self) -> Result<Changes, Error> {
        self.see()?;
        Ok(std::mem::take(&mut self.pending))
    }

    /// Notes each change in [`Self::pending`] as soon as it is known, so that what fails later loses none.
    fn see(&mut self) -> Result<(), Error> {
        let root = self.settings.root.clone();
        let unmounted = || Error::Unmounted { root: root.clone() };
        if !self.tree.is_mounted() {
            return Err(unmounted());
        }
        self.see_replaced()?;
        let ours = |name: &str| self.is_ours(name);
        let survey = match Survey::read(&self.tree, Some(&self.survey), &ours) {
            Ok(survey) => survey.ok_or_else(unmounted)?,
            Err(error) if error.is_gone() => return Err(unmounted()),
            Err(error) => return Err(error),
        };
        let gone = |of: &Foreign| survey.foreign.iter().all(|now| now.name != of.name);
        let has_gone = self.survey.foreign.iter().any(gone);
        if !self.settings.dry_run && self.cap.is_some() {
            let _lock = self.lock()?;
            self.try_for_more(has_gone)?;
        }
        let offers = Offers::find(&survey, &self.settings, self.cap)?;
        for group in differences(&self.survey.foreign, &survey.foreign) {
            note(&mut self.pending.others, group);
        }
        self.topology.refresh(&self.settings.sysfs);
        let domains = offers.domains(&survey, &self.tree, &self.topology);
        self.pending.domains |= domains != self.domains;
        (self.survey, self.offers, self.domains) = (survey, offers, domains);
        if self.settings.dry_run {
            return Ok(());
        }
        // They may be anybody's now.
        self.programs.values_mut().for_each(|program| program.others.clear());
        self.see_moved()?;
        let _lock = self.lock()?;
        self.see_classes()?;
        self.see_monitors()?;
        if let Err(error) = self.see_adopted() {
            // The next look tries again; nothing else waits for it.
            tracing::error!(target: "fairways::actuate", %error, "monitoring groups not given back");
            self.erred(&error);
        }
        self.write_again();
        self.pending.limits |= self.follow_limits()?;
        self.monitor_more()?;
        self.state.settle()
    }

    /// Which threads others have put into groups of theirs since they were placed: they are theirs, as those that were there before.
    fn see_moved(&mut self) -> Result<(), Error> {
        let others = !self.survey.foreign.is_empty() || !self.survey.monitors.is_empty();
        if self.settings.take_over || !others {
            return Ok(());
        }
        let theirs = residents(&self.tree, &|name: &str| self.is_ours(name))?;
        for program in self.programs.values_mut() {
            program.placed.retain(|thread| !theirs.contains_key(thread));
        }
        Ok(())
    }

    /// Which MON groups of ours are gone.
    fn see_monitors(&mut self) -> Result<(), Error> {
        for (&app, program) in self.programs.iter_mut().filter(|(_, program)| program.monitored) {
            if !self.survey.ours.contains(&program.group()) {
                self.tree.forget(&program.group());
                program.unmonitored();
                self.state.note(|ledger| ledger.groups.retain(|made| made.name != program.name));
                note(&mut self.pending.unmonitored, app);
            }
        }
        Ok(())
    }

    /// Gives our classes the masks that they are to have, where they are possible still.
    fn write_again(&mut self) {
        for at in 0..self.classes.len() {
            let class = &self.classes[at];
            let possible = |domain: &u32| self.offers.of.get(domain).map(|offer| offer.ways.bits());
            let after: Masks = class
                .now
                .keys()
                .filter_map(|&(side, domain)| {
                    let mask = *class.wanted.get(&domain)?;
                    let fits = mask.bits() & !possible(&domain)? == 0;
                    fits.then_some(((side, domain), mask))
                })
                .collect();
            let reason = "it was changed by others, or its domain returned";
            match self.write_masks(&class.name, &class.known(&after), &after, reason) {
                Ok(Some(now)) => {
                    note(&mut self.pending.rewritten, class.name.clone());
                    self.classes[at].saw(now, &after);
                }
                Ok(None) => {}
                // The next plan tries again, and tells if it can't.
                Err(error) => {
                    tracing::warn!(target: "fairways::actuate", group = class.name, %error, "masks not written again");
                    self.errors.came(&error);
                }
            }
        }
    }

    /// Monitors programs that are not yet, as far as ids go.
    fn monitor_more(&mut self) -> Result<(), Error> {
        let waiting = self.programs.iter().filter(|(_, program)| !program.monitored);
        let waiting: Vec<AppId> = waiting.map(|(&app, _)| app).collect();
        for app in waiting {
            let Some(program) = self.programs.get(&app) else { continue };
            let class = program.class.clone();
            if !self.monitor(app)? {
                return Ok(());
            }
            let Some(program) = self.programs.get(&app) else { continue };
            let path = Program::monitor_in(&class, &program.name);
            let mut threads = members(&self.tree, &class)?;
            let along = self.adopted_threads(app)?;
            threads.retain(|thread| program.placed.contains(thread) && !along.contains(thread));
            enter(&self.tree, &path, threads, &mut Vec::new())?;
            note(&mut self.pending.monitored, app);
        }
        Ok(())
    }
}

/// Names of groups that are in one of the two only, or are not the same.
fn differences(before: &[Foreign], after: &[Foreign]) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<&Foreign>> = BTreeMap::new();
    for group in before.iter().chain(after) {
        groups.entry(&group.name).or_default().push(group);
    }
    let differ = |of: &Vec<&Foreign>| of.len() == 1 || of[0] != of[1];
    groups.iter().filter(|(_, of)| differ(of)).map(|(name, _)| (*name).to_owned()).collect()
}
