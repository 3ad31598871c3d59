//! A program that follows a miss curve.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use thiserror::Error;

use super::access::{Access, AccessKind, BATCH, Generate, MOST_LINES, Supply, below};
use super::mixture::whole;

/// LLC references with a given hit ratio for each number of ways, whatever the cache's sets.
///
/// A reference goes to a random set, and there to the d-th most recently used line: with LRU
/// replacement it hits if the program has d ways or more. The probability of d is the rise of the
/// hit ratio from d - 1 ways to d.
#[derive(Clone, Debug, PartialEq)]
pub struct MissCurve {
    /// At `d - 1`: the share of references that hit with `d` ways and not with fewer.
    rises: Vec<f64>,
    per_kilo_instructions: f64,
}

/// The error for a curve that no program can have.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct MissCurveError(String);

impl MissCurve {
    /// A curve from LLC references per 1000 instructions and LLC misses at 1, 2, ... ways. Misses
    /// that rise with ways count as not rising, and misses above the references count as the
    /// references.
    ///
    /// # Errors
    /// If there are no references, or no number of ways.
    pub fn new(llcrpki: f64, llcmpki: &[f64]) -> Result<Self, MissCurveError> {
        if !(llcrpki > 0.0 && llcrpki <= 1000.0) {
            return Err(MissCurveError(
                "expected LLC references per 1000 instructions above 0, up to 1000".to_owned(),
            ));
        }
        if llcmpki.is_empty() || llcmpki.iter().any(|misses| !misses.is_finite()) {
            return Err(MissCurveError("expected misses with every number of ways".to_owned()));
        }
        let mut fewest = llcrpki;
        let rises = llcmpki.iter().map(|misses| {
            let before = fewest;
            fewest = fewest.min(misses.max(0.0));
            (before - fewest) / llcrpki
        });
        Ok(Self { rises: rises.collect(), per_kilo_instructions: llcrpki })
    }

    /// The share of references that hit with this many ways.
    #[cfg(test)]
    pub(super) fn hit_ratio(&self, ways: usize) -> f64 {
        self.rises[..ways].iter().sum()
    }

    pub(super) fn source(&self, sets: u32) -> CurveSource {
        let depths = self.rises.len();
        let mut total = 0.0;
        let up_to = self.rises.iter().map(|rise| {
            total += rise;
            whole(total * f64::from(u32::MAX))
        });
        CurveSource {
            up_to: up_to.collect(),
            used: vec![0; depths * sets as usize],
            newest: vec![0; sets as usize],
            depths,
            sets,
            gap: 1000.0 / self.per_kilo_instructions,
            behind: 0.0,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct CurveSource {
    /// By depth: the share of references, in 2^-32, that go no deeper.
    up_to: Vec<u32>,
    /// By set: the most recently used lines, the latest first, as numbers within the set; 0 is
    /// none.
    used: Vec<u16>,
    /// By set: the newest line.
    newest: Vec<u16>,
    depths: usize,
    sets: u32,
    gap: f64,
    behind: f64,
}

impl CurveSource {
    /// The number of lines of a set before they repeat: so many more than the ways that lines of
    /// the round before are gone.
    fn round(&self) -> u16 {
        u16::try_from(MOST_LINES / u64::from(self.sets)).unwrap_or(u16::MAX) - 1
    }
}

impl Generate for CurveSource {
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let round = self.round();
        for _ in 0..BATCH {
            let set = below(random, self.sets);
            let drawn = random.next_u32();
            let depth = self.up_to.iter().position(|&up_to| drawn < up_to);
            let used = &mut self.used[set as usize * self.depths..][..self.depths];
            let newest = &mut self.newest[set as usize];
            // Until the set is full, deep references use new lines.
            let known = depth.filter(|&depth| used[depth] != 0);
            let place = known.unwrap_or(self.depths - 1);
            let line = match known {
                Some(depth) => used[depth],
                None => {
                    *newest = *newest % round + 1;
                    *newest
                }
            };
            used.copy_within(..place, 1);
            used[0] = line;
            self.behind += self.gap;
            let instructions = whole(self.behind).max(1);
            self.behind -= f64::from(instructions);
            accesses.push(Access {
                line: u32::from(line) * self.sets + set,
                instructions,
                references: 1,
                kind: AccessKind::Missed,
            });
        }
        Supply::More
    }
}
