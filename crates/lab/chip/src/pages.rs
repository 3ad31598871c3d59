//! Where the operating system puts a program's pages.

/// How large pages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// 4 KB.
    Small,
    /// 2 MB.
    Huge,
}

/// The frames that pages get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagePlacement {
    /// Each page gets a random frame, as in memory that has been in use for a while.
    Random,
    /// Frames follow each other.
    Sequential,
}

impl PageSize {
    /// The lines of a page, as a power of two.
    fn shift(self) -> u32 {
        match self {
            Self::Small => 6,
            Self::Huge => 15,
        }
    }
}

/// The set of the last-level cache that a program's first line of each page falls into. A line's
/// set is its physical number modulo the number of sets, without a hash.
#[derive(Clone, Debug)]
pub(crate) struct PageMap {
    first_sets: Vec<u32>,
    shift: u32,
    /// The first of the sets into which pages fall, and how many those are.
    from: u32,
    sets: u32,
    placement: PagePlacement,
    seed: u64,
}

/// The number of physical frames, as a power of two: more than any machine has, so that every set
/// is equally likely.
const FRAMES: u32 = 32;

/// The range of frames in which a program's first page lies if frames follow each other.
const APART: u64 = 0xffff;

impl PageMap {
    pub(crate) fn new(size: PageSize, placement: PagePlacement, sets: u32, seed: u64) -> Self {
        Self { first_sets: Vec::new(), shift: size.shift(), from: 0, sets, placement, seed }
    }

    /// In the memory of node `node` of `nodes` that share the cache.
    pub(crate) fn of_node(self, node: u32, nodes: u32) -> Self {
        let sets = self.sets / nodes.max(1);
        Self { from: sets * node, sets, ..self }
    }

    /// The set of a line.
    #[inline]
    pub(crate) fn set_of(&mut self, line: u32) -> usize {
        let page = (line >> self.shift) as usize;
        if page >= self.first_sets.len() {
            self.place_pages(page);
        }
        let within = line & ((1 << self.shift) - 1);
        let set = self.first_sets[page] + within;
        // A huge page may have more lines than the cache has sets.
        (self.from + if set < self.sets { set } else { set % self.sets }) as usize
    }

    #[cold]
    fn place_pages(&mut self, page: usize) {
        for page in self.first_sets.len()..=page {
            let frame = match self.placement {
                PagePlacement::Random => mix(self.seed ^ mix(page as u64)) >> (64 - FRAMES),
                // Programs start at different frames.
                PagePlacement::Sequential => page as u64 + (self.seed & APART),
            };
            let first = (frame << self.shift) % u64::from(self.sets);
            self.first_sets.push(u32::try_from(first).unwrap_or(0));
        }
    }
}

/// The number of sets, at index `n`, that get `n` lines of a working set of `lines` lines whose
/// pages lie in random frames (dCat Figure 3).
#[must_use]
pub fn lines_per_set(size: PageSize, sets: u32, lines: u32, seed: u64) -> Vec<u32> {
    histogram(size, PagePlacement::Random, sets, lines, seed)
}

fn histogram(
    size: PageSize,
    placement: PagePlacement,
    sets: u32,
    lines: u32,
    seed: u64,
) -> Vec<u32> {
    let mut pages = PageMap::new(size, placement, sets, seed);
    let mut lines_by_set = vec![0u32; sets as usize];
    for line in 0..lines {
        lines_by_set[pages.set_of(line)] += 1;
    }
    let mut counts = vec![0; 1 + lines_by_set.iter().max().copied().unwrap_or(0) as usize];
    lines_by_set.iter().for_each(|&lines| counts[lines as usize] += 1);
    counts
}

/// Mixes bits so that each depends on all (splitmix64's finish).
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_or_more(size: PageSize, sets: u32, lines: u32, seed: u64) -> f64 {
        let counts = histogram(size, PagePlacement::Random, sets, lines, seed);
        100.0 * f64::from(counts.iter().skip(3).sum::<u32>()) / f64::from(sets)
    }

    const MB: u32 = 1 << 14;

    fn mean_and_spread(size: PageSize, sets: u32, lines: u32) -> (f64, f64) {
        let each = (0..400).map(|seed| three_or_more(size, sets, lines, seed));
        let each: Vec<f64> = each.collect();
        let mean = each.iter().sum::<f64>() / 400.0;
        let spread = each.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 399.0;
        (mean, spread.sqrt())
    }

    /// dCat Figure 3: the sets with three lines or more of a working set of two ways.
    #[test]
    fn figure_3_of_dcat() {
        // Xeon-D, 2 MB: 32.5 % published; of 512 pages on 256 colours, 1 - 5 / e^2.
        let (xeon_d, spread) = mean_and_spread(PageSize::Small, 16_384, 2 * MB);
        assert!((xeon_d - 32.33).abs() < 0.4 && (1.4..2.0).contains(&spread), "{xeon_d} {spread}");
        // Xeon-E5, 4.5 decimal MB: 29 % published.
        let (xeon_e5, spread) = mean_and_spread(PageSize::Small, 36_864, 4_500_000 / 64);
        assert!((xeon_e5 - 29.8).abs() < 0.4 && (0.8..1.4).contains(&spread), "{xeon_e5} {spread}");
        // A huge page on Xeon-D: exactly two lines in every set.
        assert_eq!(
            histogram(PageSize::Huge, PagePlacement::Random, 16_384, 2 * MB, 1),
            [0, 0, 16_384]
        );
    }

    /// 4.5 MB in three huge pages on 36,864 sets: a page covers eight of nine blocks of sets, so
    /// 22.2 % of sets have three lines, or 11.1 % (11.2 % published), or none.
    #[test]
    fn three_huge_pages_on_nine_blocks() {
        let mut seen = [0; 3];
        for seed in 0..3000 {
            let share = three_or_more(PageSize::Huge, 36_864, 9 * MB / 2, seed);
            let ninths = share / 100.0 * 9.0;
            assert!((ninths - ninths.round()).abs() < 1e-9, "{share}");
            let place =
                (0u32..).zip(&mut seen).find(|(n, _)| (ninths - f64::from(*n)).abs() < 1e-9);
            *place.expect("at most two ninths").1 += 1;
        }
        let shares = seen.map(|count| f64::from(count) / 3000.0);
        for (share, expected) in shares.into_iter().zip([0.02, 0.37, 0.61]) {
            assert!((share - expected).abs() < 0.03, "{shares:?}");
        }
    }

    #[test]
    fn pages_of_a_node_fall_into_its_part_of_the_sets() {
        let sets = 3 * 1024;
        for size in [PageSize::Small, PageSize::Huge] {
            let mut used = [0_u64; 3];
            for node in 0..3 {
                let pages = PageMap::new(size, PagePlacement::Random, sets, u64::from(node));
                let mut pages = pages.of_node(node, 3);
                for line in 0..MB {
                    let set = pages.set_of(line);
                    assert_eq!(set / 1024, node as usize);
                    used[node as usize] |= 1 << (set % 1024 / 16);
                }
            }
            assert!(used.iter().all(|&used| used == u64::MAX), "every set of a part is used");
        }
    }

    #[test]
    fn pages_in_a_row_do_not_conflict() {
        let counts = histogram(PageSize::Small, PagePlacement::Sequential, 36_864, 9 * MB / 2, 1);
        assert_eq!(counts, [0, 0, 36_864]);
    }
}
