//! Draws ways in the cache's own geometry: the highest first, as the bits of a mask are read.

use fairways_command_kit::partition::{NOBODY, SEVERAL, letter};

use fairways_record::status::{DomainStatus, ProgramStatus};

/// The sign of a way that is not given out.
pub(super) const OTHERS: char = '-';

/// A cache's ways: all, those that are given out, and each cluster's.
pub(super) struct DrawnCache {
    all: u64,
    offered: u64,
    clusters: Vec<u64>,
}

/// The bits of a mask, as a line of schemata shows them.
fn bits(mask: &str) -> Option<u64> {
    u64::from_str_radix(mask.trim_start_matches("0x"), 16).ok()
}

impl DrawnCache {
    pub(super) fn new(domain: &DomainStatus) -> Self {
        let all = domain.cache.as_deref().and_then(bits);
        let all = all.unwrap_or_else(|| (1_u64 << domain.ways.min(63)) - 1);
        let offered = domain.offered.as_deref().and_then(bits).unwrap_or(all);
        let clusters =
            domain.clusters.iter().map(|cluster| bits(&cluster.mask).unwrap_or(0)).collect();
        Self { all, offered, clusters }
    }

    /// The number of all ways.
    pub(super) fn ways(&self) -> u32 {
        64 - self.all.leading_zeros()
    }

    /// The number of ways that are given out.
    pub(super) fn offered(&self) -> u32 {
        self.offered.count_ones()
    }

    /// How many clusters may fill a way, and the first of them.
    fn fillers(&self, way: u32) -> (usize, usize) {
        let mut fillers = self.clusters.iter().enumerate();
        let first = fillers
            .find(|(_, mask): &(usize, &u64)| *mask >> way & 1 == 1)
            .map_or(0, |(cluster, _)| cluster);
        (self.clusters.iter().filter(|mask| **mask >> way & 1 == 1).count(), first)
    }

    /// A cell for each way, or for `ways_per_cell` adjacent ways: its sign, and the cluster if only
    /// one may fill it.
    pub(super) fn cells(&self, a_cell: u32) -> Vec<(char, Option<usize>)> {
        fn sign(way: u32, cache: &DrawnCache) -> (char, Option<usize>) {
            match cache.fillers(way) {
                (0, _) if cache.offered >> way & 1 == 0 => (OTHERS, None),
                (0, _) => (NOBODY, None),
                (1, cluster) => (letter(cluster), Some(cluster)),
                (_, _) => (SEVERAL, None),
            }
        }
        self.grouped(a_cell)
            .into_iter()
            .map(|ways: Vec<u32>| {
                let first = ways.first().map_or((NOBODY, None), |&way| sign(way, self));
                let alike = ways.iter().all(|&way| sign(way, self) == first);
                let is_empty = ways.iter().all(|&way| self.fillers(way).0 == 0);
                match (alike, is_empty) {
                    (true, _) => first,
                    (false, true) => (NOBODY, None),
                    (false, false) => (SEVERAL, None),
                }
            })
            .collect()
    }

    /// A program's bar: a cell is full where only its cluster may fill the ways, shaded where
    /// others may as well or only a part is its cluster's.
    pub(super) fn program_bar(&self, program: &ProgramStatus, a_cell: u32) -> String {
        let mask = program.mask.as_deref().and_then(bits).unwrap_or(0);
        self.grouped(a_cell)
            .into_iter()
            .map(|ways: Vec<u32>| {
                let own = ways.iter().filter(|&&way| mask >> way & 1 == 1).count();
                let alone = ways.iter().all(|&way| self.fillers(way).0 == 1);
                let offered = ways.iter().any(|&way| self.offered >> way & 1 == 1);
                match own {
                    0 if offered => '·',
                    0 => OTHERS,
                    own if own == ways.len() && alone => '█',
                    _ => '▒',
                }
            })
            .collect()
    }

    fn grouped(&self, a_cell: u32) -> Vec<Vec<u32>> {
        let ways: Vec<u32> = (0..self.ways()).rev().collect();
        let a_cell = usize::try_from(a_cell.max(1)).unwrap_or(1);
        ways.chunks(a_cell).map(<[u32]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use fairways_record::status::ClusterStatus;

    use super::*;

    #[test]
    fn ways_are_drawn_as_they_lie_and_cells_say_what_they_stand_for() {
        let clusters = ["0x1c00", "0x3e0", "0x60"]
            .map(|mask: &str| ClusterStatus { mask: mask.to_owned(), ..ClusterStatus::default() })
            .to_vec();
        let (cache, offered) = (Some("0x1fff".to_owned()), Some("0x1ffc".to_owned()));
        let domain = DomainStatus { cache, offered, ways: 11, clusters, ..DomainStatus::default() };
        let cache = DrawnCache::new(&domain);
        assert_eq!((cache.ways(), cache.offered()), (13, 11));
        fn drawn(a_cell: u32, cache: &DrawnCache) -> String {
            cache.cells(a_cell).iter().map(|(sign, _)| *sign).collect::<String>()
        }
        assert_eq!(
            (drawn(1, &cache).as_str(), drawn(2, &cache).as_str()),
            ("AAABBB##...--", "A#B#..-")
        );
        assert_eq!(cache.cells(1)[3].1, Some(1));
        assert_eq!(cache.cells(1)[6].1, None);
        fn program(mask: &str) -> ProgramStatus {
            ProgramStatus { mask: Some(mask.to_owned()), ..ProgramStatus::default() }
        }
        assert_eq!(cache.program_bar(&program("0x3e0"), 1), "···███▒▒···--");
        assert_eq!(cache.program_bar(&program("0x1c00"), 2), "█▒····-");
        assert_eq!(cache.program_bar(&ProgramStatus::default(), 1), "···········--");
        // Where only the number of ways is known, all are shown as given out.
        let plain = DomainStatus { ways: 4, ..DomainStatus::default() };
        assert_eq!(DrawnCache::new(&plain).cells(1), [(NOBODY, None); 4]);
    }
}
