//! The masks of the root's group, where all programs in it are confined.

use super::class::Class;
use super::undo::Step;
use super::write_masks::write_masks;
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::ledger::note_change;
use crate::offer::findings::Findings;
use crate::tree::Tree;
use crate::tree::schemata::{Masks, masks};

/// The root's group, as far as others are confined in it.
#[derive(Debug, Default)]
pub(crate) struct Root(Class);

impl Root {
    /// Gives the root's group the ways that others are confined to, if they are confined.
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
            // What hardware took is ours as well, and is put back on exit.
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

/// The masks of the root's group, and what they are to be.
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
