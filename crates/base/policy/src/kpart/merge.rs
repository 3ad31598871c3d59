//! Merging clusters, and the curves of a cluster.

use alloc::vec::Vec;

use fairways_core::{Curve, MAX_WAYS, Q32, Ways};

use super::split::Split;
use crate::occupancy::{QuickSweep, interpolate_raw};

/// A program's tables: its misses, and its speed relative to an equal share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramTables {
    /// LLC misses per 1000 instructions.
    pub(crate) llcmpki: Curve,
    /// IPC over the IPC with an equal share of the ways.
    pub(crate) speedup: Curve,
}

impl ProgramTables {
    /// The tables of a program with these curves, one of `programs` in a cache of `ways` ways.
    pub(crate) fn new(llcmpki: &Curve, ipc: &Curve, ways: Ways, programs: usize) -> Self {
        let programs = u32::try_from(programs).unwrap_or(u32::MAX).max(1);
        // Rounded to the nearest.
        let share = (2 * ways.get() + programs) / (2 * programs);
        let equal = ipc.at(share.max(1)).raw();
        Self {
            llcmpki: llcmpki.resized(ways),
            speedup: Curve::from_fn(ways, |ways| Q32::ratio(ipc.at(ways).raw(), equal)),
        }
    }
}

/// Programs that share ways, with their curves.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// The programs, by index.
    pub(crate) members: Vec<usize>,
    /// The sum of their LLC misses per 1000 instructions.
    llcmpki: Curve,
    /// 1 over the sum of their speedups: the curve that lookahead makes fall.
    pub(crate) slowness: Curve,
}

impl Cluster {
    /// The cluster of these programs. Its curves follow from the occupancy sweep of the static
    /// model, with MPKI as the pressure (Whirlpool's combination of miss curves).
    pub(crate) fn new(members: Vec<usize>, tables: &[ProgramTables], ways: Ways) -> Self {
        let one = Q32::ONE.raw();
        if let [index] = *members {
            // It occupies every way.
            let ProgramTables { llcmpki, speedup } = tables[index];
            let slowness = Curve::from_fn(ways, |ways| Q32::ratio(one, speedup.at(ways).raw()));
            return Self { members, llcmpki, slowness };
        }
        let mut sweep = QuickSweep::default();
        sweep.restart(members.iter().map(|&index| &tables[index].llcmpki));
        let mut slowness = [Q32::default(); MAX_WAYS];
        let llcmpki = Curve::from_fn(ways, |ways| {
            sweep.step();
            let parts = members.iter().zip(sweep.occupancy());
            let speedup = parts.map(|(&index, x)| interpolate_raw(&tables[index].speedup, x)).sum();
            slowness[ways as usize - 1] = Q32::ratio(one, speedup);
            Q32::from_raw(sweep.pressure())
        });
        let slowness = Curve::from_fn(ways, |ways| slowness[ways as usize - 1]);
        Self { members, llcmpki, slowness }
    }

    /// How much more two clusters miss when they share ways than when the ways are divided between
    /// them, added up over every number of ways.
    fn distance<'a>(
        &self,
        other: &Self,
        tables: &'a [ProgramTables],
        ways: Ways,
        sweep: &mut QuickSweep<'a>,
    ) -> u64 {
        let members = self.members.iter().chain(&other.members);
        sweep.restart(members.map(|&index| &tables[index].llcmpki));
        // One way can't be divided.
        if ways.get() < 2 {
            return 0;
        }
        sweep.step();
        let mut split = Split::new([&self.llcmpki, &other.llcmpki], ways.get());
        let mut sum = 0u64;
        for size in 2..=ways.get() {
            sweep.step();
            sum = sum.saturating_add(sweep.pressure().abs_diff(split.misses(size)));
        }
        sum
    }
}

/// Clusters that are merged one by one: the two nearest, and of equals the first.
#[derive(Clone, Debug)]
pub(crate) struct Merging<'a> {
    tables: &'a [ProgramTables],
    ways: Ways,
    pub(crate) clusters: Vec<Cluster>,
    /// By cluster: its distance to each after it.
    distances: Vec<Vec<u64>>,
    sweep: QuickSweep<'a>,
}

impl<'a> Merging<'a> {
    /// Starts with every program alone.
    pub(crate) fn new(tables: &'a [ProgramTables], ways: Ways) -> Self {
        let clusters: Vec<Cluster> =
            (0..tables.len()).map(|index| Cluster::new([index].into(), tables, ways)).collect();
        let mut merging =
            Self { tables, ways, clusters, distances: Vec::new(), sweep: QuickSweep::default() };
        for index in 0..merging.clusters.len() {
            let distances = merging.distances_from(index);
            merging.distances.push(distances);
        }
        merging
    }

    fn distances_from(&mut self, index: usize) -> Vec<u64> {
        let Self { tables, ways, clusters, sweep, .. } = self;
        let (one, rest) = (&clusters[index], &clusters[index + 1..]);
        rest.iter().map(|other| one.distance(other, tables, *ways, sweep)).collect()
    }

    /// Merges the two nearest clusters, if there are two; the merged one comes first.
    pub(crate) fn merge(&mut self) {
        let pairs = self.distances.iter().enumerate().flat_map(|(one, distances)| {
            (one + 1..).zip(distances).map(move |(other, &distance)| (distance, one, other))
        });
        let Some((_, one, other)) = pairs.min() else { return };
        let mut members = self.clusters[one].members.clone();
        members.extend(&self.clusters[other].members);
        for gone in [other, one] {
            self.clusters.remove(gone);
            self.distances.remove(gone);
            for (before, distances) in self.distances[..gone].iter_mut().enumerate() {
                distances.remove(gone - before - 1);
            }
        }
        self.clusters.insert(0, Cluster::new(members, self.tables, self.ways));
        let distances = self.distances_from(0);
        self.distances.insert(0, distances);
    }
}
