//! Masks in a group's `schemata`: reading and writing them.

use std::collections::BTreeMap;

use fairways_core::WayMask;
use fairways_resctrl::language::{Line, Schemata, Value};

use super::{Tree, of};
use crate::error::Error;

/// The names of a cache's lines in `schemata`: one, or two if code and data are separate (CDP). L2s
/// are managed only if no ways of an L3 can be assigned.
pub(crate) const SIDES: [&[&str]; 4] =
    [&["L3"], &["L3CODE", "L3DATA"], &["L2"], &["L2CODE", "L2DATA"]];

/// Masks by line and domain, as `schemata` has them.
pub(crate) type Masks = BTreeMap<(&'static str, u32), WayMask>;

/// A group's `schemata`; `None` if the group is gone.
pub(crate) fn schemata(tree: &Tree, group: &str) -> Result<Option<Schemata>, Error> {
    let Some(text) = tree.read_of(group, "schemata")? else { return Ok(None) };
    Schemata::parse(&text).map(Some).map_err(|why| tree.misread(&of(group, "schemata"), why))
}

/// A group's masks of these lines; `None` if the group is gone.
pub(crate) fn masks(
    tree: &Tree,
    group: &str,
    sides: &[&'static str],
) -> Result<Option<Masks>, Error> {
    Ok(schemata(tree, group)?.map(|schemata| masks_in(&schemata, sides)))
}

/// The masks of these lines.
pub(crate) fn masks_in(schemata: &Schemata, sides: &[&'static str]) -> Masks {
    let mut masks = Masks::new();
    for &side in sides {
        for (id, value) in schemata.line(side).into_iter().flat_map(|line| &line.domains) {
            if let Value::Mask(mask) = value {
                masks.insert((side, *id), *mask);
            }
        }
    }
    masks
}

/// Writes the masks that differ, and reads the result: hardware may set more bits than requested.
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
