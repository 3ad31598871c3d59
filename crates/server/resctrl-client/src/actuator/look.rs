//! Others' changes since the last look.

use std::collections::{BTreeMap, BTreeSet};

use super::Actuator;
use super::managed::ManagedResctrl;
use crate::counts::packages::packages;
use crate::counts::traffic::{are_assigned, read_traffic, say_filtered};
use crate::error::Error;
use crate::groups::others_changes::{Changes, note};
use crate::offer::domain::Offers;
use crate::offer::foreign::{Foreign, residents};

impl Actuator {
    /// Finds others' changes: domains that went off line or returned, groups that came, went or
    /// changed, and groups of ours that were removed. Changed masks of ours are written again. If
    /// monitoring ids have become free, programs that are not monitored get them.
    ///
    /// # Errors
    /// [`Error::Unmounted`], after which this actuator is of no use: drop it, so that resctrl can
    /// be mounted again. [`Error::Busy`] if others have left nothing to offer:
    /// [`domains`](Self::domains) keeps what was offered before.
    pub fn look(&mut self) -> Result<Changes, Error> {
        // Programs that were known at the start are added after the first look.
        if std::mem::replace(&mut self.has_looked, true) {
            self.managed.mount.settings.to_take.clear();
        }
        self.see()?;
        Ok(std::mem::take(&mut self.managed.pending))
    }

    /// Records each change as soon as it is known, so that a later failure loses none.
    fn see(&mut self) -> Result<(), Error> {
        let root = self.managed.mount.settings.root.clone();
        let unmounted = || Error::Unmounted { root: root.clone() };
        if !self.managed.mount.tree.is_mounted() {
            return Err(unmounted());
        }
        self.managed.classes.see_replaced(
            &mut self.managed.mount,
            &mut self.managed.programs,
            &mut self.managed.pending,
        )?;
        self.managed.found.refresh_topology(&self.managed.mount.settings);
        let ours = |name: &str| self.managed.is_ours(name);
        let survey = match self.managed.survey(&ours) {
            Ok(survey) => survey.ok_or_else(unmounted)?,
            Err(error) => {
                let is_here =
                    self.managed.mount.tree.inode("info").map_or(true, |info| info.is_some());
                return Err(if error.is_gone() && !is_here { unmounted() } else { error });
            }
        };
        let ManagedResctrl { mount, found, classes, programs, pending, .. } = &mut self.managed;
        let gone = |of: &Foreign| survey.foreign.iter().all(|now| now.name != of.name);
        let has_gone = found.survey.foreign.iter().any(gone);
        if let Some(cap) = found.cap {
            let _lock = mount.lock()?;
            found.cap = classes.try_for_more(mount, found, cap, has_gone)?;
        }
        let offers = Offers::find(&survey, &mount.settings, found.cap)?;
        for group in differences(&found.survey.foreign, &survey.foreign) {
            note(&mut pending.others, group);
        }
        let traffic = read_traffic(&mount.tree, survey.monitoring.as_ref())?;
        let has_other_filters = traffic.filtered != found.traffic.filtered;
        // A change of the mode restarts all counts.
        if has_other_filters || are_assigned(&traffic) != are_assigned(&found.traffic) {
            programs.distrust_windows();
        }
        if has_other_filters {
            say_filtered(&traffic);
        }
        found.traffic = traffic;
        pending.domains |= found.renew(survey, offers, &mount.settings, &mount.tree);
        self.enforcement.keep_up(&mut self.managed)
    }
}

impl ManagedResctrl {
    /// Looks at our own groups, and writes again what has changed.
    pub(crate) fn keep_up(&mut self) -> Result<(), Error> {
        // These threads may belong to another manager now.
        self.programs.by_id.values_mut().for_each(|program| program.others.clear());
        self.see_moved()?;
        let Self { mount, found, classes, programs, pending, .. } = self;
        let _lock = mount.lock()?;
        classes.see(mount, found, programs, pending)?;
        programs.see_monitors(mount, found, pending);
        if let Err(error) = programs.see_adopted(mount) {
            // The next look tries again; nothing else waits for it.
            tracing::error!(target: "fairways::actuate", %error, "monitoring groups not given back");
            mount.errors.came(&error);
        }
        if let Err(error) = programs.see_staying(mount).and_then(|()| programs.see_strays(mount)) {
            tracing::error!(target: "fairways::actuate", %error, "threads of others not looked at");
            mount.errors.came(&error);
        }
        classes.write_again(mount, found, pending);
        pending.limits |= classes.follow_limits(mount, found, programs)?;
        programs.monitor_more(mount, found, pending)?;
        programs.share_counters(mount, &mut found.traffic);
        let events = &found.survey.package_events;
        programs.count_packages(mount, events, &packages(&mount.tree, events)?);
        Ok(mount.state.settle()?)
    }

    /// Finds the threads that others have moved into their own groups since we placed them. They
    /// belong to those managers now, like threads that were there before.
    fn see_moved(&mut self) -> Result<(), Error> {
        let others =
            !self.found.survey.foreign.is_empty() || !self.found.survey.monitors.is_empty();
        if self.mount.settings.take_over || !others {
            return Ok(());
        }
        let theirs = residents(&self.mount.tree, &|name: &str| self.is_ours(name))?;
        for program in self.programs.by_id.values_mut() {
            let (lost, placed): (BTreeSet<i32>, _) =
                program.placed.iter().partition(|thread| theirs.contains_key(*thread));
            program.placed = placed;
            program.lose(lost);
        }
        Ok(())
    }
}

/// The names of groups that are in only one of the two lists, or differ.
fn differences(before: &[Foreign], after: &[Foreign]) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<&Foreign>> = BTreeMap::new();
    for group in before.iter().chain(after) {
        groups.entry(&group.name).or_default().push(group);
    }
    let differ = |of: &Vec<&Foreign>| of.len() == 1 || of[0] != of[1];
    groups.iter().filter(|(_, of)| differ(of)).map(|(name, _)| (*name).to_owned()).collect()
}
