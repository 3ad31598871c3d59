//! Confining what devices fill (`io_alloc_cbm`), written down before it is changed.

use fairways_core::WayMask;

use super::error::Error;
use super::findings::Findings;
use super::io_fills::{IoMasks, highest, write};
use super::ledger::ChangedMask;
use super::mount::Mount;

/// Confines devices to fewer ways, if that is configured and they have a class of their own. What
/// cannot be changed stays: no plan fails for it.
pub(super) fn confine(mount: &mut Mount, found: &Findings, reason: &str) {
    if let Err(error) = try_to_confine(mount, found, reason) {
        tracing::warn!(target: "fairways::actuate", %error, "what devices fill was not confined");
        mount.errors.came(&error);
    }
}

fn try_to_confine(mount: &mut Mount, found: &Findings, reason: &str) -> Result<(), Error> {
    let survey = &found.survey;
    let (Some(count), Some(now)) = (mount.settings.confine_io, &survey.io) else { return Ok(()) };
    let line = survey.sides[survey.sides.len() - 1];
    let wanted = highest(survey.cache.mask, count, survey.cache.min_bits);
    let changed: Vec<(u32, WayMask)> =
        now.iter().filter(|(_, mask)| **mask != wanted).map(|(&id, &mask)| (id, mask)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    mount.state.record(|ledger| {
        for &(domain, before) in &changed {
            let (was, ours) = (before.bits(), vec![wanted.bits()]);
            match ledger.io.iter_mut().find(|of| of.domain == domain && of.line == line) {
                Some(of) if of.ours.contains(&was) || of.before == was => of.ours.extend(ours),
                // Others have written it since: that is what is to be restored.
                Some(of) => (of.before, of.ours) = (was, ours),
                None => {
                    let line = line.to_owned();
                    ledger.io.push(ChangedMask { line, domain, before: was, ours });
                }
            }
        }
    })?;
    let masks: IoMasks = changed.iter().map(|&(domain, _)| (domain, wanted)).collect();
    write(&mount.tree, line, &masks)?;
    for (domain, before) in changed {
        tracing::info!(
            target: "fairways::actuate", domain, %before, after = %wanted, reason,
            "devices confined (io_alloc_cbm)"
        );
    }
    Ok(())
}
