//! Masks that a group's `schemata` shows.

use std::collections::BTreeMap;

use fairways_core::WayMask;
use fairways_resctrl::language::{Schemata, Value};

use super::{Tree, of};
use crate::error::Error;

/// The names of a cache's lines in `schemata`: one, or two where code and data are apart (CDP). The
/// L2's are managed where no ways of an L3 can be shared out.
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
