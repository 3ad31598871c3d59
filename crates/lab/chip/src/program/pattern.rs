//! Arrays.

use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, BATCH, Generate, Supply, below};

/// How an array is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Reads at random: dCat's MLR (§2.1).
    Random {
        /// Lines of the array.
        lines: u32,
    },
    /// Reads from the first word of 8 bytes to the last, again and again: dCat's MLOAD (§2.1).
    Sequential {
        /// Lines of the array.
        lines: u32,
    },
    /// Follows a chain of pointers that visits every line once, in an order without a pattern,
    /// again and again.
    Chase {
        /// Lines of the array.
        lines: u32,
    },
    /// Sweeps over a block several times before the next block.
    Blocked {
        /// Lines of the array.
        lines: u32,
        /// Lines of a block.
        block: u32,
        /// Sweeps over each.
        sweeps: u32,
    },
    /// No memory to speak of: lookbusy (dCat §5.1).
    Busy,
}

/// Instructions of a loop around a load: the load, the address, the count and the branch.
const LOOP: u32 = 4;

/// Loads of 8 bytes in a line.
const WORDS: u16 = 8;

/// Instructions of one entry where there are no accesses.
const STRETCH: u32 = 1000;

impl Pattern {
    pub(super) fn source(self) -> PatternSource {
        PatternSource { pattern: self, at: 0, sweep: 0 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct PatternSource {
    pattern: Pattern,
    at: u32,
    sweep: u32,
}

/// Loads of some words of a line, in a loop.
fn loads(line: u32, references: u16) -> Access {
    let instructions = LOOP * u32::from(references);
    Access { line, instructions, references, kind: AccessKind::Load }
}

impl Generate for PatternSource {
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        match self.pattern {
            Pattern::Random { lines } => {
                accesses.extend((0..BATCH).map(|_| loads(below(random, lines), 1)));
            }
            Pattern::Sequential { lines } => {
                for _ in 0..BATCH {
                    accesses.push(loads(self.at, WORDS));
                    self.at = if self.at + 1 < lines { self.at + 1 } else { 0 };
                }
            }
            Pattern::Chase { lines } => {
                // A full period (Hull and Dobell): an odd increment, a multiplier that is 1 modulo
                // 4. Past the array it goes on until it is back.
                let period = lines.next_power_of_two();
                for _ in 0..BATCH {
                    loop {
                        let next = self.at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        self.at = next & (period - 1);
                        if self.at < lines {
                            break;
                        }
                    }
                    accesses.push(loads(self.at, 1));
                }
            }
            Pattern::Blocked { lines, block, sweeps } => {
                for _ in 0..BATCH {
                    accesses.push(loads(self.at, WORDS));
                    let end = (self.at / block * block + block).min(lines);
                    self.at += 1;
                    if self.at == end {
                        self.sweep += 1;
                        if self.sweep < sweeps {
                            self.at = (end - 1) / block * block;
                        } else {
                            self.sweep = 0;
                            self.at = if end < lines { end } else { 0 };
                        }
                    }
                }
            }
            Pattern::Busy => accesses.push(Access {
                line: 0,
                instructions: STRETCH,
                references: u16::try_from(STRETCH / LOOP).unwrap_or(u16::MAX),
                kind: AccessKind::None,
            }),
        }
        Supply::More
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand_core::SeedableRng;

    use super::*;

    /// How often each line is accessed in `count` accesses.
    fn visits(pattern: Pattern, count: usize) -> BTreeMap<u32, usize> {
        let (mut source, mut random) = (pattern.source(), Pcg64Mcg::seed_from_u64(1));
        let mut accesses = Vec::new();
        while accesses.len() < count {
            assert_eq!(source.generate(&mut random, &mut accesses), Supply::More);
        }
        let mut visits = BTreeMap::new();
        accesses[..count].iter().for_each(|access| *visits.entry(access.line).or_default() += 1);
        visits
    }

    #[test]
    fn every_line_in_its_turn() {
        for lines in [1, 5, 64, 1000] {
            let once = |visits: BTreeMap<u32, usize>| {
                assert_eq!(visits.len(), lines as usize);
                assert!(visits.values().all(|&count| count == 3), "{lines}: {visits:?}");
            };
            once(visits(Pattern::Sequential { lines }, 3 * lines as usize));
            once(visits(Pattern::Chase { lines }, 3 * lines as usize));
            let blocked = Pattern::Blocked { lines, block: 7, sweeps: 3 };
            once(visits(blocked, 3 * lines as usize));
        }
        let random = visits(Pattern::Random { lines: 100 }, 100_000);
        assert!(random.len() == 100 && random.values().all(|count| (850..1150).contains(count)));
    }

    #[test]
    fn a_block_is_swept_before_the_next() {
        let mut accesses = Vec::new();
        let blocked = Pattern::Blocked { lines: 5, block: 2, sweeps: 2 };
        let _ = blocked.source().generate(&mut Pcg64Mcg::seed_from_u64(1), &mut accesses);
        let lines: Vec<u32> = accesses[..12].iter().map(|access| access.line).collect();
        assert_eq!(lines, [0, 1, 0, 1, 2, 3, 2, 3, 4, 4, 0, 1]);
    }
}
