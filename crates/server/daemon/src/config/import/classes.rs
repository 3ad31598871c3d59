//! Classes of other managers: their ways, and the programs in them.

use std::collections::{BTreeMap, BTreeSet};

use super::SourceKind;

/// A class of another manager.
#[derive(Clone, Debug)]
pub(super) struct ImportedClass {
    /// As its owner writes it.
    pub(super) name: String,
    pub(super) by: SourceKind,
    /// `FILE:LINE`.
    pub(super) place: String,
    pub(super) ways: ClassWays,
    /// Whether its ways are masks or sizes, rather than shares that were rounded to ways.
    pub(super) is_exact: bool,
    /// Whether its ways are a limit for background work, rather than a promise.
    pub(super) is_background: bool,
    /// Its limit of memory bandwidth, in percent.
    pub(super) bandwidth: Option<u32>,
    pub(super) members: BTreeSet<ClassMember>,
}

/// The mask in each cache, by resctrl's number; `None` stands for all other caches.
pub(super) type CacheMasks = BTreeMap<Option<u32>, u32>;

/// The ways of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClassWays {
    Unknown,
    Masks(CacheMasks),
    /// A number of ways that no other class has; it does not matter which.
    Own(u32),
}

/// Which programs are in a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClassMember {
    /// One that a selector finds.
    Selected { name: String, select: String },
    /// The pods of a namespace that have some labels.
    Pods { namespace: String, labels: String },
}

impl ImportedClass {
    pub(super) fn new(name: String, by: SourceKind, place: String) -> Self {
        Self {
            name,
            by,
            place,
            ways: ClassWays::Unknown,
            is_exact: false,
            is_background: false,
            bandwidth: None,
            members: BTreeSet::new(),
        }
    }

    /// The number of its programs; all matching pods of a namespace count as one.
    pub(super) fn programs(&self) -> u32 {
        let mut namespaces = BTreeSet::new();
        let mut count = 0;
        for member in &self.members {
            match member {
                ClassMember::Selected { .. } => count += 1,
                ClassMember::Pods { namespace, .. } => {
                    count += u32::from(namespaces.insert(namespace));
                }
            }
        }
        count
    }
}

/// The ways that only one class may fill (docs/decisions.md, Other managers' configurations 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExclusiveWays {
    /// Their number in the cache where it is smallest.
    pub(super) least: u32,
    /// Their number in the cache where it is largest.
    pub(super) most: u32,
    /// The number of ways that the class may fill, in the cache where it is largest.
    pub(super) width: u32,
    /// Whether it shares no ways, and has equally many in each cache.
    pub(super) is_all: bool,
}

/// The ways that only this class may fill; `confined` has those of everything else. `None` if its
/// ways are not known.
pub(super) fn own_ways(
    classes: &[ImportedClass],
    index: usize,
    confined: Option<&CacheMasks>,
) -> Option<ExclusiveWays> {
    let own = match &classes[index].ways {
        ClassWays::Unknown => return None,
        ClassWays::Own(ways) => {
            return Some(ExclusiveWays { least: *ways, most: *ways, width: *ways, is_all: true });
        }
        ClassWays::Masks(own) => own,
    };
    let others: Vec<&CacheMasks> = classes
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != index)
        .filter_map(|(_, class)| match &class.ways {
            ClassWays::Masks(masks) => Some(masks),
            _ => None,
        })
        .chain(confined)
        .collect();
    let caches: BTreeSet<Option<u32>> =
        others.iter().flat_map(|masks| masks.keys()).chain(own.keys()).copied().collect();
    let mut counts = Vec::new();
    for cache in caches {
        let Some(mask) = mask_in(own, cache) else { continue };
        let shared = others.iter().filter_map(|masks| mask_in(masks, cache));
        let shared = shared.fold(0, |all, mask| all | mask);
        counts.push(((mask & !shared).count_ones(), mask.count_ones()));
    }
    let least = counts.iter().map(|(own, _)| *own).min()?;
    let most = counts.iter().map(|(own, _)| *own).max()?;
    let width = counts.iter().map(|(_, width)| *width).max()?;
    let is_all = counts.iter().all(|(own, all)| own == all && *own == most);
    Some(ExclusiveWays { least, most, width, is_all })
}

fn mask_in(masks: &CacheMasks, cache: Option<u32>) -> Option<u32> {
    masks.get(&cache).or_else(|| masks.get(&None)).copied()
}

/// The lowest ways of a mask.
pub(super) const fn low_ways(count: u32) -> u32 {
    match 1_u32.checked_shl(count) {
        Some(above) => above - 1,
        None => u32::MAX,
    }
}
