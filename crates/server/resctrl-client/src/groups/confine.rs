//! Confines the programs in the root's group, and devices (`io_alloc_cbm`). Each change is recorded
//! before it is made.

use super::classes::{Class, Step};
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::ledger::note_change;
use crate::offer::findings::Findings;
use crate::offer::ways::highest;
use crate::tree::Tree;
use crate::tree::io_alloc::{self, IoMasks};
use crate::tree::schemata::{Masks, masks, write_masks};

/// The root's group, as far as its programs are confined.
#[derive(Debug, Default)]
pub(crate) struct Root(Class);

impl Root {
    /// Confines the programs in the root's group to their ways, if the settings say so.
    pub(crate) fn confine(
        &mut self,
        mount: &mut Mount,
        found: &Findings,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        if mount.settings.confine_others.is_none() {
            return Ok(());
        }
        let (before, after) = confinement(&mount.tree, found)?;
        self.0.now.clone_from(&before);
        let known = self.0.known(&after);
        if known == after {
            return Ok(());
        }
        mount.state.record(|ledger| {
            for (key @ &(line, domain), mask) in &after {
                let was = before.get(key).copied().unwrap_or_default().bits();
                note_change(&mut ledger.values, line, domain, was, mask.bits());
            }
        })?;
        done.push(Step::Masks(String::new(), before));
        let sides = found.survey.sides;
        if let Some(now) = write_masks(&mount.tree, sides, "", &known, &after, reason)? {
            // The masks that hardware set instead are ours as well, and are restored on exit.
            mount.state.record(|ledger| {
                for of in &mut ledger.values {
                    let key = now.iter().find(|(key, _)| key.0 == of.line && key.1 == of.domain);
                    let took = key.filter(|(key, took)| after.get(*key) != Some(*took));
                    of.ours.extend(took.map(|(_, took)| took.bits()));
                }
            })?;
            self.0.saw(now, &after);
        }
        Ok(())
    }
}

/// The masks of the root's group now, and the ones to set.
pub(crate) fn confinement(tree: &Tree, found: &Findings) -> Result<(Masks, Masks), Error> {
    let before = masks(tree, "", found.survey.sides)?.unwrap_or_default();
    let mut after = before.clone();
    for ((_, domain), mask) in &mut after {
        if let Some(others) = found.offers.of.get(domain).and_then(|offer| offer.others) {
            *mask = others;
        }
    }
    Ok((before, after))
}

/// Confines devices to fewer ways, if that is configured and they have a class of their own. A
/// failure leaves them as they are, and does not make a plan fail.
pub(crate) fn confine_io(mount: &mut Mount, found: &Findings, reason: &str) {
    if let Err(error) = try_to_confine_io(mount, found, reason) {
        tracing::warn!(target: "fairways::actuate", %error, "what devices fill was not confined");
        mount.errors.came(&error);
    }
}

fn try_to_confine_io(mount: &mut Mount, found: &Findings, reason: &str) -> Result<(), Error> {
    let survey = &found.survey;
    let Some(count) = mount.settings.confine_io else { return Ok(()) };
    let line = survey.sides[survey.sides.len() - 1];
    let Some(now) = io_alloc::read(&mount.tree, line)? else { return Ok(()) };
    let wanted = highest(survey.cache.mask, count, survey.cache.min_bits);
    let changed: IoMasks = now.into_iter().filter(|(_, mask)| *mask != wanted).collect();
    if changed.is_empty() {
        return Ok(());
    }
    mount.state.record(|ledger| {
        for (&domain, before) in &changed {
            note_change(&mut ledger.io, line, domain, before.bits(), wanted.bits());
        }
    })?;
    let masks: IoMasks = changed.keys().map(|&domain| (domain, wanted)).collect();
    io_alloc::write(&mount.tree, line, &masks)?;
    for (domain, before) in changed {
        tracing::info!(
            target: "fairways::actuate", domain, %before, after = %wanted, reason,
            "devices confined (io_alloc_cbm)"
        );
    }
    Ok(())
}
