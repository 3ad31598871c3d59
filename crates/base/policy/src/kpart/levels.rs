//! The number of clusters, and the ways of each.

use alloc::vec::Vec;

use fairways_core::{Curve, Llc, Q32};

use super::merge::{Merging, ProgramTables};
use crate::lookahead::Lookahead;

/// Clusters, by the indices of their programs, and their ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) clusters: Vec<Vec<usize>>,
    pub(crate) ways: Vec<u32>,
}

/// Of all numbers of clusters, from every program alone to a single cluster, the one with the
/// largest sum of speedups; of equals, the one with the most clusters. Ways are divided among
/// clusters by lookahead.
pub(crate) fn best(llc: &Llc, tables: &[ProgramTables], lookahead: &mut Lookahead) -> Level {
    let mut merging = Merging::new(tables, llc.ways);
    let mut best: Option<(u64, Level)> = None;
    for count in (1..=tables.len()).rev() {
        if count <= llc.max_clusters() as usize {
            let clusters = &merging.clusters;
            let curves: Vec<Curve> = clusters.iter().map(|cluster| cluster.slowness).collect();
            let ways = lookahead.divide(&curves, llc.ways.get(), llc.min_ways());
            let slownesses = curves.iter().zip(ways).map(|(curve, &ways)| curve.at(ways).raw());
            let score: u64 =
                slownesses.map(|slowness| Q32::ratio(Q32::ONE.raw(), slowness).raw()).sum();
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                let members = clusters.iter().map(|cluster| cluster.members.clone());
                best = Some((score, Level { clusters: members.collect(), ways: ways.to_vec() }));
            }
        }
        merging.merge();
    }
    best.map_or_else(Level::default, |(_, level)| level)
}
