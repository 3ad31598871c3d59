//! All that a program does, in front of first private caches.
//!
//! A [`Mixture`](super::Mixture) tells of single references. This is the full stream of a program, from
//! which private caches of a few KB filter what the next one sees: loads and stores in runs, and code.
//!
//! A *visit* is some references to a line in a row. It is drawn which region it is in, then its line, then
//! how many of its references are stores. Those come after its loads and each by itself: a cache that is
//! written through passes every one on. In between, lines of code are fetched.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, BATCH, Generate, MOST_LINES, Supply};
use super::zipf::Alias;

/// The full stream of a program. Its lines, with those of its code, are fewer than [`MOST_LINES`].
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Loads and stores per instruction, above 0, up to 1.
    pub per_instruction: f64,
    /// The share of them that are stores, 0 to 1, the same in every region.
    pub stores: f64,
    /// Where they go: at least one region.
    pub data: Vec<Region>,
    /// The code that makes them.
    pub code: Code,
}

/// A region of a program's data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// How much of all references it is, relative to the other regions.
    pub share: f64,
    /// Its lines, at least one; a stream has what memory is left instead.
    pub lines: u32,
    /// Which line is next.
    pub order: Order,
    /// References to a line in a row, at least one.
    pub run: u16,
}

/// In which order the lines of a region are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each as likely as every other.
    Random,
    /// From the first to the last, again and again.
    Sweep,
    /// On and on, to no line twice before it has been through all the memory that is left.
    Stream,
}

/// The code of a program: lines that are fetched at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    /// Lines of the part that most fetches go to, at least one.
    pub hot: u32,
    /// Lines of the rest.
    pub cold: u32,
    /// The share of fetches that go to the hot part, 0 to 1; all do where there is no other.
    pub share: f64,
    /// Instructions from a line to another that is not fetched again and again, at least one.
    pub every: u32,
}

impl Workload {
    pub(super) fn source(&self) -> Source {
        let all = u32::try_from(MOST_LINES).unwrap_or(u32::MAX);
        let streams = self.data.iter().filter(|region| region.order == Order::Stream).count();
        let others = self.data.iter().filter(|region| region.order != Order::Stream);
        let code = self.code.hot + self.code.cold;
        let taken = code + others.map(|region| region.lines).sum::<u32>();
        let each = u32::try_from(streams).map_or(0, |count| (all - taken) / count.max(1));
        let mut first = code;
        let place = |region: &Region| {
            let lines = if region.order == Order::Stream { each } else { region.lines };
            first += lines;
            Place {
                first: first - lines,
                lines,
                random: region.order == Order::Random,
                at: 0,
                run: u32::from(region.run),
                stores: fixed(self.stores * f64::from(region.run)),
            }
        };
        let places = self.data.iter().map(place).collect();
        let visits = |region: &Region| region.share / f64::from(region.run);
        let share = if self.code.cold == 0 { 1.0 } else { self.code.share };
        Source {
            places,
            alias: Alias::new(&self.data.iter().map(visits).collect::<Vec<f64>>()),
            gap: fixed(1.0 / self.per_instruction),
            behind: 0,
            code: Code { every: self.code.every.max(1), ..self.code },
            hot: fixed(share),
            fetch_in: self.code.every.max(1),
        }
    }
}

/// A region: where it is, and where in it a sweep is.
#[derive(Clone, Copy, Debug)]
struct Place {
    first: u32,
    lines: u32,
    at: u32,
    run: u32,
    random: bool,
    /// Stores of a visit, in [`ONE`]s.
    stores: u64,
}

/// One, where parts of it count. What is left over is carried along or rounded at random: totals are right.
const ONE: u64 = 1 << 32;

#[derive(Clone, Debug)]
pub(super) struct Source {
    places: Vec<Place>,
    alias: Alias,
    /// Instructions from reference to reference, and how much of one is still to be told, in [`ONE`]s.
    gap: u64,
    behind: u64,
    code: Code,
    /// The share of fetches that are hot, in [`ONE`]s.
    hot: u64,
    /// Instructions until code is fetched.
    fetch_in: u32,
}

impl Generate for Source {
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply {
        let mut end = accesses.len();
        for _ in 0..BATCH {
            // One draw: its upper half picks the region, its lower one rounds the stores.
            let bits = random.next_u64();
            let place = &mut self.places[self.alias.pick(upper(bits)) as usize];
            let (at, anywhere) = (place.at, scaled(random.next_u64(), place.lines));
            place.at = if at + 1 < place.lines { at + 1 } else { 0 };
            let line = place.first + if place.random { anywhere } else { at };
            let stores = upper(place.stores + (bits & (ONE - 1)));
            let loads = place.run - stores;
            // What comes in no order that a branch could be foretold by is written in any case, and then
            // counts or not.
            let room = end + place.run as usize + 1;
            if accesses.len() < room {
                accesses.resize(room + BATCH, NOTHING);
            }
            let mut told = 0;
            let mut tell = |references: u32, kind| {
                self.behind += self.gap * u64::from(references);
                let instructions = upper(self.behind);
                self.behind &= ONE - 1;
                told += instructions;
                let references = (references & 0xffff) as u16;
                accesses[end] = Access { line, instructions, references, kind };
                end += usize::from(references > 0);
            };
            tell(loads, AccessKind::Load);
            tell(stores.min(1), AccessKind::Store);
            for _ in 1..stores {
                tell(1, AccessKind::Store);
            }
            while told >= self.fetch_in {
                told -= self.fetch_in;
                self.fetch_in = self.code.every;
                let line = self.code.next(random.next_u64(), self.hot);
                if accesses.len() == end {
                    accesses.resize(end + BATCH, NOTHING);
                }
                accesses[end] = Access { line, kind: AccessKind::Fetch, ..NOTHING };
                end += 1;
            }
            self.fetch_in -= told;
        }
        accesses.truncate(end);
        Supply::More
    }
}

/// Where an access will be.
const NOTHING: Access = Access { line: 0, instructions: 0, references: 0, kind: AccessKind::None };

impl Code {
    /// A line, of a random number.
    fn next(&self, bits: u64, hot: u64) -> u32 {
        if bits & (ONE - 1) < hot {
            scaled(bits, self.hot)
        } else {
            self.hot + scaled(bits, self.cold)
        }
    }
}

/// The upper half.
fn upper(bits: u64) -> u32 {
    (bits >> 32) as u32
}

/// The upper half as a number below `count` (Lemire).
fn scaled(bits: u64, count: u32) -> u32 {
    upper((bits >> 32) * u64::from(count))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares and gaps are not negative; the cast saturates"
)]
fn fixed(value: f64) -> u64 {
    (value * ONE as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    fn workload() -> Workload {
        let region = |share, lines, order, run| Region { share, lines, order, run };
        Workload {
            per_instruction: 0.36,
            stores: 0.3,
            data: vec![
                region(60.0, 100, Order::Random, 4),
                region(20.0, 1000, Order::Sweep, 8),
                region(5.0, 0, Order::Stream, 8),
                region(15.0, 5000, Order::Random, 1),
            ],
            code: Code { hot: 50, cold: 500, share: 0.9, every: 48 },
        }
    }

    fn accesses(workload: &Workload, batches: usize) -> Vec<Access> {
        let (mut source, mut random) = (workload.source(), Pcg64Mcg::seed_from_u64(1));
        let mut accesses = Vec::new();
        (0..batches)
            .for_each(|_| assert_eq!(source.generate(&mut random, &mut accesses), Supply::More));
        accesses
    }

    #[test]
    fn totals_are_as_told() {
        let accesses = accesses(&workload(), 40_000);
        let near = |found: u64, expected: f64, what: &str| {
            assert!(
                (found as f64 / expected - 1.0).abs() < 0.01,
                "{what}: {found}, not {expected}"
            );
        };
        let references_where = |picked: &dyn Fn(&Access) -> bool| {
            let picked = accesses.iter().filter(|access| picked(access));
            picked.map(|access| u64::from(access.references)).sum::<u64>()
        };
        let instructions: u64 = accesses.iter().map(|access| u64::from(access.instructions)).sum();
        let references = references_where(&|_| true);
        // To the last instruction, in fact.
        assert!((references as f64 / 0.36 - instructions as f64).abs() < 1.0);
        let references = references as f64;
        near(
            references_where(&|access| access.kind == AccessKind::Store),
            references * 0.3,
            "stores",
        );
        // Code has the first 550 lines, then come the regions; the stream has the rest but 5000 lines.
        let last = u32::try_from(MOST_LINES).unwrap() - 5000;
        for (lines, share) in
            [(550..650, 0.6), (650..1650, 0.2), (1650..last, 0.05), (last..last + 5000, 0.15)]
        {
            let inside = |access: &Access| lines.contains(&access.line);
            near(references_where(&inside), references * share, "references of a region");
        }
        let fetches = |hot: bool| {
            let fetch =
                |access: &&Access| access.kind == AccessKind::Fetch && (access.line < 50) == hot;
            accesses.iter().filter(fetch).count() as u64
        };
        near(fetches(true), instructions as f64 / 48.0 * 0.9, "hot fetches");
        near(fetches(true) + fetches(false), instructions as f64 / 48.0, "fetches");
    }

    #[test]
    fn a_sweep_visits_every_line_in_turn_and_a_stream_none_twice() {
        let accesses = accesses(&workload(), 400);
        let visits = |lines: core::ops::Range<u32>| {
            let inside = accesses.iter().filter(move |access| lines.contains(&access.line));
            let mut visits: Vec<(u32, u32)> = Vec::new();
            for Access { line, references, .. } in inside {
                match visits.last_mut() {
                    Some((last, count)) if last == line => *count += u32::from(*references),
                    _ => visits.push((*line, u32::from(*references))),
                }
            }
            visits
        };
        for (place, visit) in visits(650..1650).into_iter().enumerate() {
            assert_eq!(visit, (650 + u32::try_from(place).unwrap() % 1000, 8));
        }
        let stream = visits(1650..u32::try_from(MOST_LINES).unwrap() - 5000);
        assert!(stream.len() > 100);
        assert!(stream.iter().zip(1650..).all(|(&visit, line)| visit == (line, 8)));
    }

    #[test]
    fn code_that_is_all_hot_is_fetched_from_there() {
        let code = Code { hot: 8, cold: 0, share: 0.5, every: 1 };
        let workload = Workload { code, per_instruction: 1.0, stores: 1.0, ..workload() };
        for access in accesses(&workload, 10) {
            assert_eq!(access.kind == AccessKind::Fetch, access.line < 8);
            assert!(access.kind != AccessKind::Load);
        }
    }
}
