//! One class of service, and the steps by which a plan changes classes.

use std::collections::BTreeMap;

use fairways_core::{AppId, BandwidthLevel, WayMask};

use crate::backoff::Backoff;
use crate::error::Error;
use crate::offer::findings::Findings;
use crate::plan::limits::Limits;
use crate::tree::Tree;
use crate::tree::schemata::{Masks, write_masks};

/// A class of service of ours.
#[derive(Debug, Default)]
pub(crate) struct Class {
    /// The name of its group.
    pub(crate) name: String,
    /// Its masks, as its `schemata` showed last.
    pub(crate) now: Masks,
    /// The masks that it is to have, in the domains that were planned.
    pub(crate) wanted: BTreeMap<u32, WayMask>,
    /// Its other values, as its `schemata` showed last; none where that could not be read.
    pub(crate) limits: Limits,
    /// The levels of memory bandwidth that it is to have, in the domains where one was planned.
    pub(crate) levels: BTreeMap<u32, BandwidthLevel>,
    /// The bandwidths that somebody else has written to its `schemata`: limits like those of the
    /// groups that its programs came from. Unknown lines that have changed are left as they are.
    pub(crate) set_by_others: Limits,
    /// Whether some of these have not been reported yet.
    pub(crate) set_lately: bool,
    /// The limits that were requested last, and what was read then.
    pub(crate) limits_taken: Option<(Limits, Limits)>,
    /// Programs for which it was logged that these limits are stricter than where they came from.
    pub(crate) tightened: Vec<AppId>,
    /// Where hardware took other bits than requested: the request, and what it took.
    pub(crate) rounded: BTreeMap<(&'static str, u32), (WayMask, WayMask)>,
    /// Attempts to write masks that others changed, and to remove it.
    pub(crate) rewriting: Backoff,
    pub(crate) removal: Backoff,
}

impl Class {
    /// The level of memory bandwidth in force for a cache, if one was planned there and it is
    /// known.
    pub(crate) fn level_in_force(&self, found: &Findings, cache: u32) -> Option<BandwidthLevel> {
        self.levels.get(&cache).and_then(|_| found.level_of(&self.limits, cache))
    }

    /// Records the limits that its `schemata` shows after we wrote these, if any. Other bandwidths
    /// that are not as they were read last, somebody else has written: they are limits from now on.
    pub(crate) fn saw_limits(&mut self, now: Limits, written: &Limits) {
        let mut changed = now.changed_bandwidths(&self.limits);
        changed.remove(written);
        let mut lines = now.changed_lines(&self.limits);
        lines.remove(written);
        self.limits = now;
        if self.set_by_others.leave(&lines) {
            tracing::warn!(
                target: "fairways::actuate", group = self.name, lines = lines.shown(),
                "a line of schemata that is not known has changed: it is left alone from now on"
            );
        }
        if changed.is_empty() {
            return;
        }
        tracing::warn!(
            target: "fairways::actuate", group = self.name, limits = changed.shown(),
            "somebody wrote a bandwidth: it is a limit from now on"
        );
        self.set_by_others.extend(changed);
        self.set_lately = true;
    }

    /// Lets it fill these ways, in each domain, by code and data alike; what it may fill in
    /// others is one of its [limits](Self::limits). Only what differs is written, all at once.
    pub(crate) fn set_masks(
        &mut self,
        tree: &Tree,
        sides: &[&'static str],
        wanted: &BTreeMap<u32, WayMask>,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let before = self.now.clone();
        let mask = |key: &(&'static str, u32)| Some((*key, *wanted.get(&key.1)?));
        let after: Masks = before.keys().filter_map(mask).collect();
        let known = self.known(&after);
        // It is noted first, since a step that fails may have been done.
        done.push(Step::Masks(self.name.clone(), before));
        if let Some(now) = write_masks(tree, sides, &self.name, &known, &after, reason)? {
            self.saw(now, &after);
        }
        self.wanted.clone_from(wanted);
        // What could not be done before may be possible now.
        self.rewriting.reset();
        self.removal.reset();
        Ok(())
    }

    /// Its masks. Where hardware took another mask than this request, it is the requested one,
    /// which is in force as far as possible.
    pub(crate) fn known(&self, asked: &Masks) -> Masks {
        let mut known = self.now.clone();
        for (key, mask) in &mut known {
            match (self.rounded.get(key), asked.get(key)) {
                (Some(&(asked, took)), Some(&wanted)) if asked == wanted && took == *mask => {
                    *mask = wanted;
                }
                _ => {}
            }
        }
        known
    }

    /// Records what was read after a request was written.
    pub(crate) fn saw(&mut self, now: Masks, asked: &Masks) {
        for (key, &mask) in asked {
            match now.get(key) {
                Some(&took) if took != mask => drop(self.rounded.insert(*key, (mask, took))),
                _ => drop(self.rounded.remove(key)),
            }
        }
        self.now = now;
    }
}

/// A step of carrying out a plan that was done, by which it is undone.
#[derive(Debug)]
pub(crate) enum Step {
    /// A class was made.
    Made(String),
    /// Masks of a group were changed from these; the root's name is empty.
    Masks(String, Masks),
    /// Limits of a class were changed from these.
    Limits(String, Limits),
    /// The planned levels of memory bandwidth of a class were changed from these.
    Levels(String, BTreeMap<u32, BandwidthLevel>),
    /// A program was moved from this class.
    Moved(AppId, String),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of two domains.
    fn mb(levels: [u32; 2]) -> Limits {
        let levels = levels.map(|level| BandwidthLevel::new(level).unwrap());
        Limits::of_levels((0..).zip(levels))
    }

    /// What changes beside our own write is somebody else's, even if it is seen with ours.
    #[test]
    fn a_bandwidth_that_changes_while_we_write_another_is_somebody_elses() {
        let mut class = Class { limits: mb([100, 100]), ..Class::default() };
        let written = mb([50, 100]).differing(&class.limits);
        class.saw_limits(mb([50, 30]), &written);
        assert_eq!(class.set_by_others, mb([100, 30]).differing(&mb([100, 100])));
        assert!(class.set_lately);
    }

    /// Hardware may take more ways than it is asked for; writing the same again changes nothing.
    #[test]
    fn masks_that_hardware_rounds_are_in_force_until_others_are_wanted() {
        let key = ("L3", 0);
        let masks = |bits: u32| Masks::from([(key, WayMask::from_bits(bits))]);
        let mut class = Class { now: masks(0xff), ..Class::default() };
        assert_eq!(class.known(&masks(0x1)), masks(0xff));
        class.saw(masks(0x3), &masks(0x1));
        assert_eq!(class.known(&masks(0x1)), masks(0x1), "as far as can be");
        assert_eq!(class.known(&masks(0x3)), masks(0x3));
        assert_eq!(class.known(&masks(0x4)), masks(0x3));
        // It is changed from outside.
        class.now = masks(0xf);
        assert_eq!(class.known(&masks(0x1)), masks(0xf));
        class.saw(masks(0x4), &masks(0x4));
        assert_eq!(class.known(&masks(0x1)), masks(0x4));
    }
}
