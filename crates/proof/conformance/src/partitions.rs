//! Partitions that keep every rule, and partitions that break one.

use fairways_core::{AppId, Llc, Partition, WayMask};

use crate::rng::Rng;

/// A rule of [`Partition::check`] to break.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BrokenRule {
    TooManyClusters,
    EmptyMask,
    WideMask,
    NarrowMask,
    SplitMask,
    NoMember,
    NoCluster,
    PlacedTwice,
    NotPlaced,
    NotRunning,
}

impl BrokenRule {
    pub(crate) const ALL: [Self; 10] = [
        Self::TooManyClusters,
        Self::EmptyMask,
        Self::WideMask,
        Self::NarrowMask,
        Self::SplitMask,
        Self::NoMember,
        Self::NoCluster,
        Self::PlacedTwice,
        Self::NotPlaced,
        Self::NotRunning,
    ];

    /// A partition that breaks this rule on this cache, where `running` run and `stranger` does
    /// not; `None` if none can.
    pub(crate) fn partition(
        self,
        llc: &Llc,
        running: &[AppId],
        stranger: AppId,
    ) -> Option<Partition> {
        let full = WayMask::full(llc.ways);
        let mut mask = full;
        match self {
            Self::EmptyMask => mask = WayMask::default(),
            Self::WideMask => mask = WayMask::from_bits(u32::MAX),
            Self::NarrowMask => mask = WayMask::span(0, llc.min_ways() - 1),
            Self::SplitMask => mask = WayMask::from_bits(full.bits() & !2),
            _ => {}
        }
        let mut partition = Partition::default();
        partition.add_cluster(mask);
        let placed = if let Self::NotPlaced = self { running.get(1..)? } else { running };
        partition.place_all(placed.iter().copied(), 0..=0);
        match self {
            Self::TooManyClusters => (0..llc.clos).for_each(|_| _ = partition.add_cluster(full)),
            Self::NoMember => _ = partition.add_cluster(full),
            Self::NoCluster => partition.place(stranger, 1),
            Self::PlacedTwice => partition.place(*running.first()?, 0),
            Self::NotRunning => partition.place(stranger, 0),
            _ => {}
        }
        partition.check(llc, running.iter().copied()).is_err().then_some(partition)
    }
}

/// All programs in one cluster that may fill every way.
pub(crate) fn shared(llc: &Llc, running: &[AppId]) -> Partition {
    let mut partition = Partition::default();
    partition.add_cluster(WayMask::full(llc.ways));
    partition.place_all(running.iter().copied(), 0..=0);
    partition
}

/// The first program alone on one half of the cache, the others on the other; at least 2 run.
pub(crate) fn halves(llc: &Llc, running: &[AppId]) -> Partition {
    let half = llc.ways.get() / 2;
    let mut partition = Partition::default();
    partition.add_cluster(WayMask::span(half, llc.ways.get() - half));
    partition.add_cluster(WayMask::span(0, half));
    partition.place_all(running.iter().take(1).copied(), 0..=0);
    partition.place_all(running.iter().skip(1).copied(), 1..=1);
    partition
}

/// Any partition that keeps every rule, overlaps included; at least one program runs.
pub(crate) fn random(rng: &mut Rng, llc: &Llc, running: &[AppId]) -> Partition {
    let count = u32::try_from(running.len()).unwrap_or(u32::MAX);
    let clusters = 1 + rng.below(count.min(llc.clos));
    let mut partition = Partition::default();
    for _ in 0..clusters {
        let ways = llc.min_ways() + rng.below(llc.ways.get() - llc.min_ways() + 1);
        partition.add_cluster(WayMask::span(rng.below(llc.ways.get() - ways + 1), ways));
    }
    for (index, &app) in (0..).zip(running) {
        partition.place(app, if index < clusters { index } else { rng.below(clusters) });
    }
    partition
}
