//! Writing masks to a group's `schemata`.

use std::collections::BTreeMap;

use fairways_core::WayMask;
use fairways_resctrl::language::{Line, Schemata, Value};

use super::classes::Classes;
use super::others_changes::{Changes, note};
use super::undo::Step;
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::offer::findings::Findings;
use crate::tree::schemata::{Masks, masks};
use crate::tree::{Tree, of};

impl Classes {
    /// Lets a class fill these ways, in each domain, by code and data alike; what it may fill in
    /// others is one of its [limits](Class::limits). Only what differs is written, all at once.
    pub(crate) fn set_masks(
        &mut self,
        tree: &Tree,
        found: &Findings,
        name: &str,
        wanted: &BTreeMap<u32, WayMask>,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(class) = self.get_mut(name) else { return Ok(()) };
        let before = class.now.clone();
        let mask = |key: &(&'static str, u32)| Some((*key, *wanted.get(&key.1)?));
        let after: Masks = before.keys().filter_map(mask).collect();
        let known = class.known(&after);
        // It is noted first, since a step that fails may have been done.
        done.push(Step::Masks(name.to_owned(), before));
        if let Some(now) = write_masks(tree, found.survey.sides, name, &known, &after, reason)? {
            class.saw(now, &after);
        }
        class.wanted.clone_from(wanted);
        // What could not be done before may be possible now.
        class.rewriting.reset();
        class.removal.reset();
        Ok(())
    }

    /// Gives a group the masks again that it had before a plan.
    pub(crate) fn masks_again(
        &mut self,
        tree: &Tree,
        sides: &[&'static str],
        group: &str,
        before: &Masks,
    ) -> Result<(), Error> {
        let now = masks(tree, group, sides)?.unwrap_or_default();
        let reason = "the plan was refused";
        let now = write_masks(tree, sides, group, &now, before, reason)?.unwrap_or(now);
        if let Some(class) = self.get_mut(group) {
            class.wanted.retain(|domain, _| before.contains_key(&(sides[0], *domain)));
            for (domain, mask) in &mut class.wanted {
                *mask = before.get(&(sides[0], *domain)).copied().unwrap_or(*mask);
            }
            class.now = now;
        }
        Ok(())
    }

    /// Gives our classes the masks that they are to have, if these are still possible.
    pub(crate) fn write_again(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        changes: &mut Changes,
    ) {
        let offers = &found.offers.of;
        for class in self.list.iter_mut().filter(|class| !class.rewriting.is_waiting()) {
            let after: Masks = class
                .now
                .keys()
                .filter_map(|&(side, domain)| {
                    let mask = *class.wanted.get(&domain)?;
                    let possible = offers.get(&domain).filter(|offer| offer.is_free)?.ways;
                    let fits = mask.bits() & !possible.bits() == 0;
                    fits.then_some(((side, domain), mask))
                })
                .collect();
            let (sides, known) = (found.survey.sides, class.known(&after));
            let reason = "it was changed by others, or its domain returned";
            match write_masks(&mount.tree, sides, &class.name, &known, &after, reason) {
                Ok(Some(now)) => {
                    note(&mut changes.rewritten, class.name.clone());
                    class.rewriting.reset();
                    class.saw(now, &after);
                }
                Ok(None) => class.rewriting.reset(),
                // The next plan tries again, and reports a failure.
                Err(error) => {
                    class.rewriting.fail();
                    tracing::warn!(target: "fairways::actuate", group = class.name, %error, "masks not written again");
                    mount.errors.came(&error);
                }
            }
        }
    }
}

/// Writes the masks that differ, and reads the result: hardware may give more bits than requested.
/// `None` if none differs.
pub(crate) fn write_masks(
    tree: &Tree,
    sides: &[&'static str],
    group: &str,
    before: &Masks,
    after: &Masks,
    reason: &str,
) -> Result<Option<Masks>, Error> {
    let mut lines = Vec::new();
    for &side in sides {
        let changed =
            after.iter().filter(|(key, mask)| key.0 == side && before.get(key) != Some(mask));
        let domains = changed.map(|(key, mask)| (key.1, Value::Mask(*mask))).collect();
        lines.push(Line { resource: side.to_owned(), domains });
    }
    let text = Schemata::from(lines).to_string();
    if text.is_empty() {
        return Ok(None);
    }
    tree.write(&of(group, "schemata"), &text).inspect_err(|error| {
        tracing::error!(target: "fairways::actuate", group, reason, %error, "masks refused");
    })?;
    let now = masks(tree, group, sides)?.unwrap_or_default();
    for (key @ (resource, domain), mask) in after {
        let (old, got) = (before.get(key), now.get(key).unwrap_or(mask));
        if old != Some(mask) {
            let before = old.map(ToString::to_string).unwrap_or_default();
            tracing::info!(
                target: "fairways::actuate", group, resource, domain, before, after = %got, reason, "mask changed"
            );
        }
        if got != mask {
            tracing::warn!(
                target: "fairways::actuate", group, domain, requested = %mask, got = %got, "hardware took another mask"
            );
        }
    }
    Ok(Some(now))
}
