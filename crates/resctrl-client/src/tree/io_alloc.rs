//! The ways that devices fill under a class of their own (`io_alloc`, since Linux 6.19).
//!
//! The kernel takes the highest class of service for it. Its ways are in `info`, not in a group:
//! they are left to devices like those of `shareable_bits`, and can be made fewer.

use std::collections::BTreeMap;

use fairways_core::WayMask;
use fairways_resctrl::language::{Line, Schemata, Value};
use rustix::io::Errno;

use super::Tree;
use crate::error::Error;
use crate::ledger::ChangedMask;

/// The ways by domain.
pub(crate) type IoMasks = BTreeMap<u32, WayMask>;

fn switch_file(line: &str) -> String {
    format!("info/{line}/io_alloc")
}

fn masks_file(line: &str) -> String {
    format!("info/{line}/io_alloc_cbm")
}

/// What devices fill under the class of this line; `None` where they have no class of their own.
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

/// Lets devices fill these.
pub(crate) fn write(tree: &Tree, line: &str, masks: &IoMasks) -> Result<(), Error> {
    let domains = masks.iter().map(|(&id, &mask)| (id, Value::Mask(mask))).collect();
    let text = Line { resource: String::new(), domains }.to_string();
    tree.write(&masks_file(line), &format!("{}\n", text.trim_start_matches(':')))
}

/// The highest ways of a cache, as many as devices are confined to; at least as many as a mask
/// needs.
pub(crate) fn highest(cache: WayMask, count: u32, min_bits: u32) -> WayMask {
    let ways = 32 - cache.bits().leading_zeros();
    let count = count.max(min_bits).min(ways);
    WayMask::span(ways - count, count)
}

/// Gives devices back what they filled, if it is still as Fairways left it. Returns why it was not
/// given back, if so; that is empty where it is as it was.
pub(crate) fn give_back(tree: &Tree, change: &ChangedMask) -> Result<Option<String>, Error> {
    let ChangedMask { line, domain, before, ours } = change;
    let now = read(tree, line)?.and_then(|masks| masks.get(domain).copied());
    let Some(now) = now else {
        return Ok(Some("devices have no class of their own there now".to_owned()));
    };
    if now.bits() == *before {
        return Ok(Some(String::new()));
    }
    if !ours.contains(&now.bits()) {
        return Ok(Some(format!("it is {now}, which others wrote")));
    }
    write(tree, line, &IoMasks::from([(*domain, WayMask::from_bits(*before))]))?;
    Ok(None)
}
