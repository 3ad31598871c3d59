//! One class of service.

use std::collections::BTreeMap;

use fairways_core::{AppId, WayMask};

use super::limits::Limits;
use super::masks::Masks;

/// A class of service of ours.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Its group's.
    pub(super) name: String,
    /// What its `schemata` said last.
    pub(super) now: Masks,
    /// What it is to be, in the domains that were planned.
    pub(super) wanted: BTreeMap<u32, WayMask>,
    /// What others decide on, as its `schemata` said last.
    pub(super) limits: Limits,
    /// Limits that were asked for last, and what was read then.
    pub(super) limits_taken: Option<(Limits, Limits)>,
    /// Programs that it was said of that these are stricter than where they came from.
    pub(super) tightened: Vec<AppId>,
    /// Where hardware took other bits than it was asked for: what was asked, and what it took.
    pub(super) rounded: BTreeMap<(&'static str, u32), (WayMask, WayMask)>,
}

impl Class {
    /// Its masks, where hardware took others for these those that were asked for: they are in force
    /// as far as can be.
    pub(super) fn known(&self, asked: &Masks) -> Masks {
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

    /// What was read after these were written.
    pub(super) fn saw(&mut self, now: Masks, asked: &Masks) {
        for (key, &mask) in asked {
            match now.get(key) {
                Some(&took) if took != mask => drop(self.rounded.insert(*key, (mask, took))),
                _ => drop(self.rounded.remove(key)),
            }
        }
        self.now = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // Somebody changes it.
        class.now = masks(0xf);
        assert_eq!(class.known(&masks(0x1)), masks(0xf));
        class.saw(masks(0x4), &masks(0x4));
        assert_eq!(class.known(&masks(0x1)), masks(0x4));
    }
}
