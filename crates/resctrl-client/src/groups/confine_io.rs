//! Confining what devices fill (`io_alloc_cbm`), written down before it is changed.

use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::ledger::note_change;
use crate::offer::findings::Findings;
use crate::offer::ways::highest;
use crate::tree::io_alloc::{IoMasks, read, write};

/// Confines devices to fewer ways, if that is configured and they have a class of their own. What
/// cannot be changed stays: no plan fails for it.
pub(crate) fn confine(mount: &mut Mount, found: &Findings, reason: &str) {
    if let Err(error) = try_to_confine(mount, found, reason) {
        tracing::warn!(target: "fairways::actuate", %error, "what devices fill was not confined");
        mount.errors.came(&error);
    }
}

fn try_to_confine(mount: &mut Mount, found: &Findings, reason: &str) -> Result<(), Error> {
    let survey = &found.survey;
    let Some(count) = mount.settings.confine_io else { return Ok(()) };
    let line = survey.sides[survey.sides.len() - 1];
    let Some(now) = read(&mount.tree, line)? else { return Ok(()) };
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
    write(&mount.tree, line, &masks)?;
    for (domain, before) in changed {
        tracing::info!(
            target: "fairways::actuate", domain, %before, after = %wanted, reason,
            "devices confined (io_alloc_cbm)"
        );
    }
    Ok(())
}
