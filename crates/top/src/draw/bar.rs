//! Ways, drawn in the cache's own geometry: the highest first, as the bits of a mask are read.

use fairways_command_kit::partition::{NOBODY, SEVERAL, letter};

use fairways_record::status::{Domain, Program};

/// A way that is not given out.
pub(super) const OTHERS: char = '-';

/// A cache's ways: those there are, those that are given out, and each cluster's.
pub(super) struct Cache {
    all: u64,
    offered: u64,
    clusters: Vec<u64>,
}

/// The bits of a mask, as a line of schemata has them.
fn bits(mask: &str) -> Option<u64> {
    u64::from_str_radix(mask.trim_start_matches("0x"), 16).ok()
}

impl Cache {
    pub(super) fn of(domain: &Domain) -> Self {
        let all = domain.cache.as_deref().and_then(bits);
        let all = all.unwrap_or_else(|| (1_u64 << domain.ways.min(63)) - 1);
        let offered = domain.offered.as_deref().and_then(bits).unwrap_or(all);
        let clusters = domain.clusters.iter().map(|of| bits(&of.mask).unwrap_or(0)).collect();
        Self { all, offered, clusters }
    }

    /// How many ways it has.
    pub(super) fn ways(&self) -> u32 {
        64 - self.all.leading_zeros()
    }

    /// How many of them are given out.
    pub(super) fn offered(&self) -> u32 {
        self.offered.count_ones()
    }

    /// Who may fill a way: no cluster, one, or several.
    fn fillers(&self, way: u32) -> (usize, usize) {
        let mut fillers = self.clusters.iter().enumerate();
        let is_filler = |(_, mask): &(usize, &u64)| *mask >> way & 1 == 1;
        let first = fillers.find(is_filler).map_or(0, |(cluster, _)| cluster);
        (self.clusters.iter().filter(|mask| **mask >> way & 1 == 1).count(), first)
    }

    /// A cell for each way, or for so many ways next to each other: its sign, and the cluster if it is one's alone.
    pub(super) fn cells(&self, a_cell: u32) -> Vec<(char, Option<usize>)> {
        let sign = |way: u32| match self.fillers(way) {
            (0, _) if self.offered >> way & 1 == 0 => (OTHERS, None),
            (0, _) => (NOBODY, None),
            (1, cluster) => (letter(cluster), Some(cluster)),
            (_, _) => (SEVERAL, None),
        };
        let cell = |ways: Vec<u32>| {
            let first = ways.first().map_or((NOBODY, None), |&way| sign(way));
            let alike = ways.iter().all(|&way| sign(way) == first);
            let is_empty = ways.iter().all(|&way| self.fillers(way).0 == 0);
            match (alike, is_empty) {
                (true, _) => first,
                (false, true) => (NOBODY, None),
                (false, false) => (SEVERAL, None),
            }
        };
        self.in_cells(a_cell).into_iter().map(cell).collect()
    }

    /// A program's ways: full where the cell is the program's cluster's, shaded where others may fill it as well or only a part of it is.
    pub(super) fn own(&self, program: &Program, a_cell: u32) -> String {
        let mask = program.mask.as_deref().and_then(bits).unwrap_or(0);
        let cell = |ways: Vec<u32>| {
            let own = ways.iter().filter(|&&way| mask >> way & 1 == 1).count();
            let alone = ways.iter().all(|&way| self.fillers(way).0 == 1);
            let offered = ways.iter().any(|&way| self.offered >> way & 1 == 1);
            match own {
                0 if offered => '·',
                0 => OTHERS,
                own if own == ways.len() && alone => '█',
                _ => '▒',
            }
        };
        self.in_cells(a_cell).into_iter().map(cell).collect()
    }

    fn in_cells(&self, a_cell: u32) -> Vec<Vec<u32>> {
        let ways: Vec<u32> = (0..self.ways()).rev().collect();
        let a_cell = usize::try_from(a_cell.max(1)).unwrap_or(1);
        ways.chunks(a_cell).map(<[u32]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use fairways_record::status::Cluster;

    use super::*;

    #[test]
    fn ways_are_drawn_as_they_lie_and_cells_say_what_they_stand_for() {
        let cluster = |mask: &str| Cluster { mask: mask.to_owned(), ..Cluster::default() };
        let clusters = ["0x1c00", "0x3e0", "0x60"].map(cluster).to_vec();
        let (cache, offered) = (Some("0x1fff".to_owned()), Some("0x1ffc".to_owned()));
        let domain = Domain { cache, offered, ways: 11, clusters, ..Domain::default() };
        let cache = Cache::of(&domain);
        assert_eq!((cache.ways(), cache.offered()), (13, 11));
        let drawn = |a_cell| cache.cells(a_cell).iter().map(|(sign, _)| *sign).collect::<String>();
        assert_eq!((drawn(1).as_str(), drawn(2).as_str()), ("AAABBB##...--", "A#B#..-"));
        assert_eq!(cache.cells(1)[3].1, Some(1));
        assert_eq!(cache.cells(1)[6].1, None);
        let of = |mask: &str| Program { mask: Some(mask.to_owned()), ..Program::default() };
        assert_eq!(cache.own(&of("0x3e0"), 1), "···███▒▒···--");
        assert_eq!(cache.own(&of("0x1c00"), 2), "█▒····-");
        assert_eq!(cache.own(&Program::default(), 1), "···········--");
        // Nothing is known but how many there are.
        let plain = Domain { ways: 4, ..Domain::default() };
        assert_eq!(Cache::of(&plain).cells(1), [(NOBODY, None); 4]);
    }
}
