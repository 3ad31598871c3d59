//! If there are more programs than clusters, the programs with the flattest curves share one.
//!
//! The papers do not cover this case (docs/decisions.md, LFOC 7). Programs whose curves fall least
//! lose least by sharing; the others keep their own clusters.

use alloc::vec::Vec;

use fairways_core::{Curve, Q32, Ways};

use crate::occupancy::{Occupancy, interpolate, sweep_step};

/// Programs gathered into at most as many clusters as there may be. It is reused, so that a
/// decision allocates nothing once it has seen a mix as large.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sharing {
    /// A curve for each cluster. The last one, of the shared cluster, is the sum over its members
    /// at the occupancies that they would have.
    pub(crate) curves: Vec<Curve>,
    /// Each program's cluster.
    pub(crate) cluster_of: Vec<u32>,
    order: Vec<u32>,
    occupancy: Vec<Occupancy>,
}

impl Sharing {
    /// Gathers programs with these curves and pressures (LLCMPKC), all for a cache of `ways` ways,
    /// into `limit` clusters at most; `limit` is at least 1.
    pub(crate) fn gather(&mut self, curves: &[Curve], pressures: &[Curve], ways: Ways, limit: u32) {
        let Self { curves: gathered, cluster_of, order, occupancy } = self;
        gathered.clear();
        cluster_of.clear();
        if curves.len() <= limit as usize {
            gathered.extend_from_slice(curves);
            cluster_of.extend((0..).take(curves.len()));
            return;
        }
        order.clear();
        order.extend((0..).take(curves.len()));
        order.sort_unstable_by_key(|&index| (fall(&curves[index as usize]), index));
        order.truncate(curves.len() + 1 - limit as usize);
        order.sort_unstable();

        let shared = limit - 1;
        let mut next = 0;
        for (index, curve) in (0..).zip(curves) {
            if order.binary_search(&index).is_ok() {
                cluster_of.push(shared);
            } else {
                gathered.push(*curve);
                cluster_of.push(next);
                next += 1;
            }
        }
        occupancy.clear();
        occupancy.resize(order.len(), Occupancy::default());
        let sum = Curve::from_fn(ways, |_| {
            let members = order.iter().map(|&index| index as usize);
            sweep_step(members.clone().map(|index| &pressures[index]), occupancy);
            let values =
                members.zip(&*occupancy).map(|(index, &x)| interpolate(&curves[index], x).raw());
            Q32::from_raw(values.fold(0, u64::saturating_add))
        });
        gathered.push(sum);
    }
}

impl Sharing {
    /// Divides the `ways` ways of the shared cluster among its members by these pressures; it has
    /// at least one member.
    pub(crate) fn settle(&mut self, pressures: &[Curve], ways: u32) {
        let Self { order, occupancy, .. } = self;
        occupancy.fill(Occupancy::default());
        for _ in 0..ways {
            sweep_step(order.iter().map(|&index| &pressures[index as usize]), occupancy);
        }
    }

    /// The value of a program's curve at its occupancy in the shared cluster; `None` if it does not
    /// share.
    pub(crate) fn shared(&self, curves: &[Curve], index: usize) -> Option<Q32> {
        let own = self.order.iter().position(|&member| member as usize == index)?;
        Some(interpolate(&curves[index], self.occupancy[own]))
    }
}

/// The distance between a curve's extremes.
fn fall(curve: &Curve) -> u64 {
    let raw = curve.values().iter().map(|value| value.raw());
    raw.clone().max().unwrap_or(0) - raw.min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: [u32; 2]) -> Curve {
        Curve::new(values.map(Q32::from_int)).unwrap()
    }

    #[test]
    fn the_flattest_share_the_last_cluster() {
        let curves = [curve([9, 1]), curve([4, 3]), curve([8, 2]), curve([6, 4])];
        let (mut sharing, two) = (Sharing::default(), Ways::new(2).unwrap());
        sharing.gather(&curves, &[curve([1, 1]); 4], two, 3);
        assert_eq!(sharing.cluster_of, [0, 2, 1, 2]);
        // Two members with equal pressure occupy half a way each after one way, and one after two:
        // 4.5 + 7 and 4 + 6.
        let shared = Q32::from_raw(23 << 31);
        assert_eq!(sharing.curves[..2], [curve([9, 1]), curve([8, 2])]);
        assert_eq!(sharing.curves[2].values(), [shared, Q32::from_int(10)]);
        sharing.settle(&[curve([1, 1]); 4], 2);
        let own = [0, 1, 2, 3].map(|index| sharing.shared(&curves, index));
        assert_eq!(own, [None, Some(Q32::from_int(4)), None, Some(Q32::from_int(6))]);
        sharing.gather(&curves, &[curve([1, 1]); 4], two, 4);
        assert_eq!(sharing.cluster_of, [0, 1, 2, 3]);
        sharing.gather(&curves, &[curve([1, 1]); 4], two, 1);
        assert_eq!((sharing.curves.len(), &sharing.cluster_of[..]), (1, &[0, 0, 0, 0][..]));
    }
}
