//! All references of a program, before its first private caches.
//!
//! A [`Mixture`](super::Mixture) has single references behind private caches. A workload is the
//! full stream of a program, which private caches of a few KB then filter: loads and stores in
//! runs, and code.
//!
//! A *visit* is a number of consecutive references to a line. The region is drawn first, then the
//! line, then the number of stores among the references. The stores come after the loads, each as
//! its own access, since a write-through cache passes each one on. In between, lines of code are
//! fetched.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::access::{Access, AccessKind, BATCH, Generate, MOST_LINES, Supply};
use super::zipf::Alias;

/// The full stream of a program. Its lines, with those of its code, are fewer than [`MOST_LINES`].
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Loads and stores per instruction, above 0, up to 1.
    pub per_instruction: f64,
    /// The share of stores among the references, 0 to 1, the same in every region.
    pub stores: f64,
    /// The regions that the references go to, at least one.
    pub data: Vec<DataRegion>,
    /// The code.
    pub code: CodeRegion,
}

/// A region of a program's data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataRegion {
    /// Its share of all references, relative to the other regions.
    pub share: f64,
    /// Its lines, at least one; a stream has the remaining memory instead.
    pub lines: u32,
    /// The order of its lines.
    pub order: VisitOrder,
    /// Consecutive references to a line, at least one.
    pub run: u16,
}

/// The order in which the lines of a region are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitOrder {
    /// At random, all equally likely.
    Random,
    /// From the first to the last, again and again.
    Sweep,
    /// Through all remaining memory before a line repeats.
    Stream,
}

/// The code of a program: lines that are fetched at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodeRegion {
    /// Lines of the part that most fetches go to, at least one.
    pub hot: u32,
    /// Lines of the rest.
    pub cold: u32,
    /// The share of fetches that go to the hot part, 0 to 1; all do if there is no cold part.
    pub share: f64,
    /// Instructions from one line to the next that is not part of the same loop, at least one.
    pub every: u32,
}

impl Workload {
    pub(super) fn source(&self) -> WorkloadSource {
        let all = u32::try_from(MOST_LINES).unwrap_or(u32::MAX);
        let streams = self.data.iter().filter(|region| region.order == VisitOrder::Stream).count();
        let others = self.data.iter().filter(|region| region.order != VisitOrder::Stream);
        let code = self.code.hot + self.code.cold;
        let taken = code + others.map(|region| region.lines).sum::<u32>();
        let each = u32::try_from(streams).map_or(0, |count| (all - taken) / count.max(1));
        let mut first = code;
        let places = self.data.iter().map(|region| {
            let lines = if region.order == VisitOrder::Stream { each } else { region.lines };
            first += lines;
            PlacedRegion {
                first: first - lines,
                lines,
                random: region.order == VisitOrder::Random,
                at: 0,
                run: u32::from(region.run),
                stores: fixed(self.stores * f64::from(region.run)),
            }
        });
        let places = places.collect();
        let visits: Vec<f64> =
            self.data.iter().map(|region| region.share / f64::from(region.run)).collect();
        let share = if self.code.cold == 0 { 1.0 } else { self.code.share };
        WorkloadSource {
            places,
            alias: Alias::new(&visits),
            gap: fixed(1.0 / self.per_instruction),
            behind: 0,
            code: CodeRegion { every: self.code.every.max(1), ..self.code },
            hot: fixed(share),
            fetch_in: self.code.every.max(1),
        }
    }
}

/// A region with its position in memory, and the position of its sweep.
#[derive(Clone, Copy, Debug)]
struct PlacedRegion {
    first: u32,
    lines: u32,
    at: u32,
    run: u32,
    random: bool,
    /// Stores of a visit, in [`ONE`]s.
    stores: u64,
}

/// The unit of fixed-point counts. Remainders are carried over or rounded at random, so that totals
/// are right.
const ONE: u64 = 1 << 32;

#[derive(Clone, Debug)]
pub(super) struct WorkloadSource {
    places: Vec<PlacedRegion>,
    alias: Alias,
    /// Instructions from reference to reference, and the rest that is carried over, in [`ONE`]s.
    gap: u64,
    behind: u64,
    code: CodeRegion,
    /// The share of fetches that are hot, in [`ONE`]s.
    hot: u64,
    /// Instructions until code is fetched.
    fetch_in: u32,
}

impl Generate for WorkloadSource {
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
            // Whether there are references is random, so a branch would often be mispredicted: the
            // access is always written, and counted only if there are any.
            let room = end + place.run as usize + 1;
            if accesses.len() < room {
                accesses.resize(room + BATCH, NOTHING);
            }
            let mut generated = 0;
            let mut push = |references: u32, kind| {
                self.behind += self.gap * u64::from(references);
                let instructions = upper(self.behind);
                self.behind &= ONE - 1;
                generated += instructions;
                let references = (references & 0xffff) as u16;
                accesses[end] = Access { line, instructions, references, kind };
                end += usize::from(references > 0);
            };
            push(loads, AccessKind::Load);
            push(stores.min(1), AccessKind::Store);
            for _ in 1..stores {
                push(1, AccessKind::Store);
            }
            while generated >= self.fetch_in {
                generated -= self.fetch_in;
                self.fetch_in = self.code.every;
                let line = self.code.next(random.next_u64(), self.hot);
                if accesses.len() == end {
                    accesses.resize(end + BATCH, NOTHING);
                }
                accesses[end] = Access { line, kind: AccessKind::Fetch, ..NOTHING };
                end += 1;
            }
            self.fetch_in -= generated;
        }
        accesses.truncate(end);
        Supply::More
    }
}

/// A placeholder for an access.
const NOTHING: Access = Access { line: 0, instructions: 0, references: 0, kind: AccessKind::None };

impl CodeRegion {
    /// The line of a random number.
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

/// Scales the upper half to a number below `count` (Lemire).
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

    fn region(share: f64, lines: u32, order: VisitOrder, run: u16) -> DataRegion {
        DataRegion { share, lines, order, run }
    }

    fn workload() -> Workload {
        Workload {
            per_instruction: 0.36,
            stores: 0.3,
            data: vec![
                region(60.0, 100, VisitOrder::Random, 4),
                region(20.0, 1000, VisitOrder::Sweep, 8),
                region(5.0, 0, VisitOrder::Stream, 8),
                region(15.0, 5000, VisitOrder::Random, 1),
            ],
            code: CodeRegion { hot: 50, cold: 500, share: 0.9, every: 48 },
        }
    }

    fn accesses(workload: &Workload, batches: usize) -> Vec<Access> {
        let (mut source, mut random) = (workload.source(), Pcg64Mcg::seed_from_u64(1));
        let mut accesses = Vec::new();
        (0..batches)
            .for_each(|_| assert_eq!(source.generate(&mut random, &mut accesses), Supply::More));
        accesses
    }

    fn near(found: u64, expected: f64, what: &str) {
        assert!((found as f64 / expected - 1.0).abs() < 0.01, "{what}: {found}, not {expected}");
    }

    #[test]
    fn totals_are_as_given_by_the_workload() {
        let accesses = accesses(&workload(), 40_000);
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
        // Code has the first 550 lines, then come the regions; the stream has the rest except for
        // 5000 lines.
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
        let code = CodeRegion { hot: 8, cold: 0, share: 0.5, every: 1 };
        let workload = Workload { code, per_instruction: 1.0, stores: 1.0, ..workload() };
        for access in accesses(&workload, 10) {
            assert_eq!(access.kind == AccessKind::Fetch, access.line < 8);
            assert!(access.kind != AccessKind::Load);
        }
    }
}
