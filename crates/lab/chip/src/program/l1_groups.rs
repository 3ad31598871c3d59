//! L1s for which a real program has the same trace.

use fairways_tracer::l1_filter;

use crate::geometry::CacheShape;

/// The L1s to trace for, the smallest first, and which of them stands for each chip's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct L1Groups {
    pub(crate) l1s: Vec<(u32, u32)>,
    pub(crate) of_each: Vec<usize>,
}

impl L1Groups {
    /// At least one L1.
    pub(crate) fn new(shapes: &[CacheShape]) -> Self {
        let each = shapes.iter().map(|shape| l1_filter((shape.sets, shape.ways)));
        let smallest = each.clone().reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)));
        let mut l1s: Vec<(u32, u32)> = smallest.into_iter().collect();
        let mut of_each = Vec::new();
        for l1 in each {
            of_each.push(l1s.iter().position(|&other| other == l1).unwrap_or(l1s.len()));
            if !l1s.contains(&l1) {
                l1s.push(l1);
            }
        }
        Self { l1s, of_each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(sizes: &[(u32, u32)]) -> L1Groups {
        let shapes: Vec<CacheShape> =
            sizes.iter().map(|&(kb, ways)| CacheShape::from_kb(kb, ways)).collect();
        L1Groups::new(&shapes)
    }

    #[test]
    fn a_trace_is_for_the_smallest_l1_and_each_larger_one() {
        let (l1s, of_each) = (vec![(64, 2)], vec![0, 0]);
        assert_eq!(groups(&[(32, 8), (64, 8)]), L1Groups { l1s, of_each });
        let (l1s, of_each) = (vec![(32, 2), (64, 2)], vec![1, 1, 0]);
        assert_eq!(groups(&[(32, 8), (32, 8), (8, 4)]), L1Groups { l1s, of_each });
        let (l1s, of_each) = (vec![(32, 1), (64, 1), (32, 2)], vec![1, 2]);
        assert_eq!(groups(&[(4, 1), (4, 2)]), L1Groups { l1s, of_each });
    }
}
