//! The ways that devices fill under a class of their own (`io_alloc`, since Linux 6.19).
//!
//! The kernel uses the highest class of service for it. Its ways are in `info`, not in a group.
//! They are left to devices like those of `shareable_bits`, and can be reduced.

use std::collections::BTreeMap;

use fairways_core::WayMask;
use fairways_resctrl::language::{Line, Schemata, Value};
use rustix::io::Errno;

use super::Tree;
use crate::error::Error;

/// The ways by domain.
pub(crate) type IoMasks = BTreeMap<u32, WayMask>;

fn switch_file(line: &str) -> String {
    format!("info/{line}/io_alloc")
}

fn masks_file(line: &str) -> String {
    format!("info/{line}/io_alloc_cbm")
}

/// The ways that devices fill under the class of this line; `None` if they have no class of their
/// own.
pub(crate) fn read(tree: &Tree, line: &str) -> Result<Option<IoMasks>, Error> {
    let switch = match tree.read(&switch_file(line)) {
        Err(error) if error.is_gone() => return Ok(None),
        switch => switch?,
    };
    if switch.trim_end() != "enabled" {
        return Ok(None);
    }
    let file = masks_file(line);
    let text = match tree.read(&file) {
        // Devices may lose their class between the two readings.
        Err(error) if error.is_gone() || error.errno() == Some(Errno::INVAL) => return Ok(None),
        text => text?,
    };
    let masks = Schemata::parse(&format!("{line}:{text}"));
    let masks = masks.map_err(|why| tree.misread(&file, why))?;
    let domains = masks.lines.iter().flat_map(|line| &line.domains);
    Ok(Some(domains.filter_map(|&(id, value)| Some((id, mask_of(value)?))).collect()))
}

fn mask_of(value: Value) -> Option<WayMask> {
    match value {
        Value::Mask(mask) => Some(mask),
        Value::Number(_) => None,
    }
}

/// Sets the ways that devices may fill.
pub(crate) fn write(tree: &Tree, line: &str, masks: &IoMasks) -> Result<(), Error> {
    let domains = masks.iter().map(|(&id, &mask)| (id, Value::Mask(mask))).collect();
    let text = Line { resource: String::new(), domains }.to_string();
    tree.write(&masks_file(line), &format!("{}\n", text.trim_start_matches(':')))
}
