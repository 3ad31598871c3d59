//! Records, some of which are more popular than others.

use std::sync::Arc;

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, BATCH, Generate, Supply, below};

/// A store of records, read one after the other. The n-th most popular record is read in proportion
/// to n^-exponent. Popular records are anywhere in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Zipf {
    records: u32,
    lines: u32,
    exponent: f64,
    per_line: u32,
    alias: Arc<Alias>,
}

impl Zipf {
    /// `records` records, at least one, of `lines` lines each, all of which are read, with
    /// `per_line` instructions a line. YCSB's exponent is 0.99.
    #[must_use]
    pub fn new(records: u32, lines: u32, exponent: f64, per_line: u32) -> Self {
        let weights = (1..=records).map(|rank| f64::from(rank).powf(-exponent));
        let alias = Arc::new(Alias::new(&weights.collect::<Vec<_>>()));
        Self { records, lines, exponent, per_line, alias }
    }

    /// The number of records.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Lines of a record.
    #[must_use]
    pub fn lines(&self) -> u32 {
        self.lines
    }

    /// The exponent.
    #[must_use]
    pub fn exponent(&self) -> f64 {
        self.exponent
    }

    pub(super) fn source(&self) -> ZipfSource {
        ZipfSource { zipf: self.clone(), first: 0, read: self.lines }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ZipfSource {
    zipf: Zipf,
    /// The first line of the current record, and the number of its lines that have been read.
    first: u32,
    read: u32,
}

impl Generate for ZipfSource {
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let Zipf { records, lines, per_line, .. } = self.zipf;
        for _ in 0..BATCH {
            if self.read == lines {
                let rank = self.zipf.alias.draw(random);
                // Its position: an order without a pattern, the same every time.
                let place = u64::from(rank) * 2_654_435_761 % u64::from(records);
                self.first = u32::try_from(place).unwrap_or(0) * lines;
                self.read = 0;
            }
            let line = self.first + self.read;
            self.read += 1;
            let (instructions, references, kind) = (per_line, 1, AccessKind::Load);
            accesses.push(Access { line, instructions, references, kind });
        }
        Supply::More
    }
}

/// Draws by weight with two table look-ups (Walker; Vose).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alias {
    /// By column: the number, of 2^32, up to which the column itself is drawn, and the column drawn
    /// beyond it.
    columns: Vec<(u32, u32)>,
}

impl Alias {
    /// A table for weights that are not all 0; their sum need not be 1.
    pub(super) fn new(weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut left: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut columns: Vec<(u32, u32)> =
            (0..weights.len()).map(|column| (u32::MAX, number(column))).collect();
        let (mut less, mut more): (Vec<usize>, Vec<usize>) =
            (0..left.len()).partition(|&column| left[column] < 1.0);
        while let (Some(small), Some(&large)) = (less.pop(), more.last()) {
            columns[small] = (share(left[small]), number(large));
            left[large] -= 1.0 - left[small];
            if left[large] < 1.0 {
                more.pop();
                less.push(large);
            }
        }
        Self { columns }
    }

    pub(super) fn draw(&self, random: &mut Pcg64Mcg) -> u32 {
        let count = u32::try_from(self.columns.len()).unwrap_or(u32::MAX);
        let column = below(random, count);
        let (own, other) = self.columns[column as usize];
        if random.next_u32() <= own { column } else { other }
    }

    /// Draws with one random number, for few weights: its upper bits give the column, the others
    /// the position in it.
    pub(super) fn pick(&self, bits: u32) -> u32 {
        let both = u64::from(bits) * self.columns.len() as u64;
        let (column, within) = ((both >> 32) as u32, (both & 0xffff_ffff) as u32);
        let (own, other) = self.columns[column as usize];
        if within <= own { column } else { other }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// A share, in 2^-32.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share is from 0 to 1; the cast saturates"
)]
fn share(share: f64) -> u32 {
    (share * (f64::from(u32::MAX) + 1.0)) as u32
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn as_often_as_weights_say() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let weights: [f64; 6] = [5.0, 0.0, 1.0, 0.5, 3.0, 0.5];
        let alias = Alias::new(&weights);
        let mut counts = [0u32; 6];
        (0..100_000).for_each(|_| counts[alias.draw(&mut random) as usize] += 1);
        for (count, weight) in counts.into_iter().zip(weights) {
            assert!((f64::from(count) / 10_000.0 - weight).abs() < 0.08, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
    }

    #[test]
    fn all_lines_of_a_record() {
        let zipf = Zipf::new(1000, 3, 0.99, 100);
        let mut accesses = Vec::new();
        let _ = zipf.source().generate(&mut Pcg64Mcg::seed_from_u64(1), &mut accesses);
        for record in accesses.chunks_exact(3) {
            let lines: Vec<u32> = record.iter().map(|access| access.line).collect();
            assert!(
                lines[0].is_multiple_of(3) && lines[1] == lines[0] + 1 && lines[2] == lines[0] + 2
            );
            assert!(lines[0] < 3000 && record[0].instructions == 100);
        }
    }
}
