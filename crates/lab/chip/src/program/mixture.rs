//! Regions of memory, and streams through it.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, BATCH, Generate, MOST_LINES, Supply, below};
use super::zipf::Alias;

/// Accesses in parts, each of which goes to its own region.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// The parts, at least one.
    pub parts: Vec<MixturePart>,
    /// Accesses per 1000 instructions, at most 1000.
    pub per_kilo_instructions: f64,
    /// The share that are stores, 0 to 1.
    pub stores: f64,
    /// Whether these are the accesses that have missed the private caches.
    pub missed: bool,
}

/// A part of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixturePart {
    /// Its share of all accesses, relative to the other parts.
    pub share: f64,
    /// The lines of its region, all equally likely; 0: a stream, which goes through all remaining
    /// memory before it repeats a line.
    pub lines: u32,
}

/// A region's first line, its number of lines, and the position of a stream.
#[derive(Clone, Copy, Debug)]
struct MixtureRegion {
    first: u32,
    lines: u32,
    streams: bool,
    at: u32,
}

impl Mixture {
    pub(super) fn source(&self) -> MixtureSource {
        let all = u32::try_from(MOST_LINES).unwrap_or(u32::MAX);
        let streams = self.parts.iter().filter(|part| part.lines == 0).count();
        let regions: u32 = self.parts.iter().map(|part| part.lines).sum();
        let each = u32::try_from(streams).map_or(0, |count| (all - regions) / count.max(1));
        let mut first = 0;
        let regions = self.parts.iter().map(|part| {
            let streams = part.lines == 0;
            let lines = if streams { each } else { part.lines };
            first += lines;
            MixtureRegion { first: first - lines, lines, streams, at: 0 }
        });
        let regions = regions.collect();
        let shares: Vec<f64> = self.parts.iter().map(|part| part.share).collect();
        MixtureSource {
            regions,
            alias: Alias::new(&shares),
            gap: 1000.0 / self.per_kilo_instructions,
            behind: 0.0,
            stores: self.stores,
            kind: if self.missed { AccessKind::Missed } else { AccessKind::Load },
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct MixtureSource {
    regions: Vec<MixtureRegion>,
    alias: Alias,
    /// Instructions from access to access, and the rest that is carried over.
    gap: f64,
    behind: f64,
    stores: f64,
    kind: AccessKind,
}

impl Generate for MixtureSource {
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        // In registers rather than in memory: each access waits for the ones before.
        let (mut behind, mut drawing) = (self.behind, random.clone());
        accesses.reserve(BATCH);
        for _ in 0..BATCH {
            let region = &mut self.regions[self.alias.draw(&mut drawing) as usize];
            let line = if region.streams {
                region.at = if region.at + 1 < region.lines { region.at + 1 } else { 0 };
                region.first + region.at
            } else {
                region.first + below(&mut drawing, region.lines)
            };
            let store = self.stores > 0.0
                && f64::from(drawing.next_u32()) < self.stores * f64::from(u32::MAX);
            let kind = if store { AccessKind::Store } else { self.kind };
            behind += self.gap;
            let instructions = whole(behind).max(1);
            behind -= f64::from(instructions);
            accesses.push(Access { line, instructions, references: 1, kind });
        }
        (self.behind, *random) = (behind, drawing);
        Supply::More
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "instructions between accesses are not negative; the cast saturates"
)]
pub(super) fn whole(value: f64) -> u32 {
    value as u32
}
