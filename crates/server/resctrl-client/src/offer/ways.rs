//! The ways that policies are offered.

use fairways_core::{BandwidthLever, WayMask};
use fairways_resctrl::language::Cache;

/// Which masks a cache accepts, and which ways may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Every way (`cbm_mask`).
    pub(crate) full: WayMask,
    /// The fewest ways of a mask, at least 1.
    pub(crate) min_bits: u32,
    /// Whether a mask must be one run.
    pub(crate) contiguous: bool,
    /// Ways that hardware other than CPUs fills, too, if these are not to be used.
    pub(crate) avoided: WayMask,
    /// Ways that the root's programs are confined to, if they are confined.
    pub(crate) confined: Option<u32>,
}

/// What a domain offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The ways that policies may give out.
    pub(crate) ways: WayMask,
    /// The ways of all programs in the root's group, if they are confined: the lowest of the free
    /// ones, so that the others stay one run.
    pub(crate) others: Option<WayMask>,
    /// Whether the ways are free. If not, they are only shown to a policy, and none is assigned.
    pub(crate) is_free: bool,
}

/// A domain in the form that classes need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// The ways on offer, the cache's bits.
    pub(crate) ways: WayMask,
    /// Whether a mask must be one run.
    pub(crate) contiguous: bool,
    /// The fewest ways of a mask.
    pub(crate) min_bits: u32,
    /// How memory bandwidth can be limited, if it can.
    pub(crate) bandwidth: Option<BandwidthLever>,
}

/// The free ways except those that others have `reserved`; if masks must be one run, the longest
/// run of them, the lowest of several. `None` if fewer are left than a mask needs.
///
/// If all ways are shareable (Arm MPAM), or devices may fill them all, none is avoided, as it would
/// make no difference.
pub(crate) fn offer(rules: &Rules, reserved: WayMask) -> Option<Offer> {
    let full = rules.full.bits();
    let avoided = if rules.avoided == rules.full { 0 } else { rules.avoided.bits() };
    let free = full & !avoided & !reserved.bits();
    let free = if rules.contiguous { longest_run(free) } else { free };
    let (others, ways) = match rules.confined {
        Some(count) => {
            let others = lowest(free, count.max(rules.min_bits));
            (Some(others), free & !others)
        }
        None => (None, free),
    };
    let enough = |mask: u32| mask.count_ones() >= rules.min_bits.max(1);
    (enough(ways) && others.is_none_or(enough)).then(|| Offer {
        ways: WayMask::from_bits(ways),
        others: others.map(WayMask::from_bits),
        is_free: true,
    })
}

/// The highest `count` ways of a cache, but at least as many as a mask needs.
pub(crate) fn highest(cache: WayMask, count: u32, min_bits: u32) -> WayMask {
    let ways = 32 - cache.bits().leading_zeros();
    let count = count.max(min_bits).min(ways);
    WayMask::span(ways - count, count)
}

/// Whether a mask must be one run. Kernels before Linux 6.7 do not show that; with those, only
/// AMD's masks, which may also be empty, can have gaps.
pub(crate) fn is_contiguous(cache: &Cache) -> bool {
    !cache.sparse.unwrap_or(cache.min_bits == 0)
}

/// The longest run of 1-bits, the lowest of several.
fn longest_run(mask: u32) -> u32 {
    let (mut rest, mut best) = (mask, 0_u32);
    while rest != 0 {
        let lowest = rest.trailing_zeros();
        let run = WayMask::span(lowest, (rest >> lowest).trailing_ones()).bits();
        if run.count_ones() > best.count_ones() {
            best = run;
        }
        rest &= !run;
    }
    best
}

/// The lowest `count` of a mask's bits, or all.
fn lowest(mask: u32, count: u32) -> u32 {
    let mut rest = mask;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    mask & !rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULES: Rules = Rules {
        full: WayMask::from_bits(0xf_ffff),
        min_bits: 1,
        contiguous: true,
        avoided: WayMask::from_bits(0xc_0000),
        confined: None,
    };

    fn ways(rules: &Rules, reserved: u32) -> Option<u32> {
        offer(rules, WayMask::from_bits(reserved)).map(|offer| offer.ways.bits())
    }

    #[test]
    fn what_others_hold_is_planned_around() {
        assert_eq!(ways(&RULES, 0), Some(0x3_ffff));
        assert_eq!(ways(&RULES, 0xf), Some(0x3_fff0));
        assert_eq!(ways(&RULES, 0x3c0), Some(0x3_fc00), "the longer run");
        assert_eq!(ways(&RULES, 0x3_ffff), None);
        let sparse = Rules { contiguous: false, ..RULES };
        assert_eq!(ways(&sparse, 0x3c0), Some(0x3_fc3f));
        let used = Rules { avoided: WayMask::default(), ..RULES };
        assert_eq!(ways(&used, 0), Some(0xf_ffff));
        let all_shared = Rules { avoided: RULES.full, ..RULES };
        assert_eq!(ways(&all_shared, 0), Some(0xf_ffff), "MPAM says so of every way");
        let two = Rules { min_bits: 2, ..RULES };
        assert_eq!(ways(&two, 0x3_fffe), None, "one way is no mask there");
    }

    #[test]
    fn those_who_are_confined_get_the_lowest_ways() {
        let confined = Rules { confined: Some(3), ..RULES };
        let Some(got) = offer(&confined, WayMask::from_bits(0x1)) else { panic!("nothing") };
        assert_eq!((got.ways.bits(), got.others), (0x3_fff0, Some(WayMask::from_bits(0xe))));
        let all = Rules { confined: Some(18), ..RULES };
        assert_eq!(offer(&all, WayMask::default()), None, "nothing would be left for policies");
    }

    proptest! {
        #[test]
        fn nothing_is_offered_that_others_hold(
            reserved: u32, avoided: u32, ways in 1_u32..=32, min_bits in 1_u32..4,
            contiguous: bool, confined in proptest::option::of(0_u32..8),
        ) {
            let full = WayMask::span(0, ways);
            let avoided = WayMask::from_bits(avoided & full.bits() & !1);
            let rules = Rules { full, min_bits, contiguous, avoided, confined };
            if let Some(offer) = offer(&rules, WayMask::from_bits(reserved)) {
                let all = offer.ways.bits() | offer.others.map_or(0, WayMask::bits);
                prop_assert_eq!(all & reserved, 0);
                prop_assert_eq!(all & avoided.bits(), 0);
                prop_assert_eq!(all & !full.bits(), 0);
                prop_assert!(offer.ways.count() >= min_bits);
                prop_assert!(!contiguous || offer.ways.is_contiguous());
                let others = offer.others.unwrap_or_default();
                prop_assert!(!others.overlaps(offer.ways));
                prop_assert!(!contiguous || others.is_empty() || others.is_contiguous());
            }
        }
    }
}
