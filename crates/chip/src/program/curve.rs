//! A program that misses as a curve says.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use thiserror::Error;

use super::access::{Access, AccessKind, BATCH, Generate, MOST_LINES, Supply, below};
use super::mixture::whole;

/// LLC references of which so many hit with each number of ways, whatever the cache's sets.
///
/// A reference goes to a random set, and there to the line that was the d-th last to be used: with least
/// recently used replacement it hits if the program holds d ways or more. How often d is drawn is how
/// much the hit ratio rises from d - 1 ways to d.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// At `d - 1`: the share of references that hit with `d` ways and not with fewer.
    rises: Vec<f64>,
    per_kilo_instructions: f64,
}

/// A curve that no program can have.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct CurveError(String);

impl Curve {
    /// Of LLC references per 1000 instructions and LLC misses at 1, 2, ... ways. Misses that rise with
    /// ways, and more than the references, are taken for the fewest, and the most, they can be.
    ///
    /// # Errors
    /// If there is no reference, or no number of ways.
    pub fn new(llcrpki: f64, llcmpki: &[f64]) -> Result<Self, CurveError> {
        let refused = |what: &str| Err(CurveError(what.to_owned()));
        if !(llcrpki > 0.0 && llcrpki <= 1000.0) {
            return refused("expected LLC references per 1000 instructions above 0, up to 1000");
        }
        if llcmpki.is_empty() || llcmpki.iter().any(|misses| !misses.is_finite()) {
            return refused("expected misses with every number of ways");
        }
        let mut fewest = llcrpki;
        let rise = |misses: &f64| {
            let before = fewest;
            fewest = fewest.min(misses.max(0.0));
            (before - fewest) / llcrpki
        };
        Ok(Self { rises: llcmpki.iter().map(rise).collect(), per_kilo_instructions: llcrpki })
    }

    pub(super) fn source(&self, sets: u32) -> Source {
        let depths = self.rises.len();
        let mut total = 0.0;
        let up_to = |rise: &f64| {
            total += rise;
            whole(total * f64::from(u32::MAX))
        };
        Source {
            up_to: self.rises.iter().map(up_to).collect(),
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
pub(super) struct Source {
    /// By depth: the share of references, of 2^32, that go no deeper.
    up_to: Vec<u32>,
    /// By set: the lines used last, the latest first, as numbers within the set; 0 is none.
    used: Vec<u16>,
    /// By set: the line that was new last.
    newest: Vec<u16>,
    depths: usize,
    sets: u32,
    gap: f64,
    behind: f64,
}

impl Source {
    /// The lines of a set, before they are taken again: so many more than there are ways that those of
    /// the first round are gone.
    fn round(&self) -> u16 {
        u16::try_from(MOST_LINES / u64::from(self.sets)).unwrap_or(u16::MAX) - 1
    }
}

impl Generate for Source {
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let round = self.round();
        for _ in 0..BATCH {
            let set = below(random, self.sets);
            let drawn = random.next_u32();
            let depth = self.up_to.iter().position(|&up_to| drawn < up_to);
            let used = &mut self.used[set as usize * self.depths..][..self.depths];
            let newest = &mut self.newest[set as usize];
            // Until the set has been filled, what is deep is new.
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
