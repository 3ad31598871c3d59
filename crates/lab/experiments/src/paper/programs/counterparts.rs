//! Which real programs stand for the benchmarks of CASC's and Cache-fair's papers.
//!
//! Chosen by the first of these rules that finds a program with a profile. They were written before
//! any policy ran on real programs; later, gnugo took the place of stockfish, which had left the
//! corpus:
//!
//! 1. Its living counterpart, as the corpus has it (`stands_for` in corpus/programs.toml).
//! 2. A program of the same kind: crafty searches the tree of a board game, as gnugo does; Berkeley
//!    DB is an embedded database and vortex one in memory, as sqlite3 is with `:memory:`.
//! 3. The program whose misses per 1000 instructions with 1 MB are nearest, as a ratio, to the
//!    published figures of the benchmark, those that its model was held to (docs/workloads.md): to
//!    their geometric mean if there are two. The papers themselves state no benchmark's misses at
//!    a size of its own. Programs that rules 1 and 2 chose, that stand for an earlier benchmark of
//!    this list, or that are kernels of ours are left out.
//!
//! A benchmark for which none finds a program keeps its model.

use fairways_profiles::ProfileTable;

use super::resized::misses_at;

/// The size of published misses, KB.
const PUBLISHED_KB: f64 = 1024.0;

/// A benchmark of the papers.
struct Benchmark {
    name: &'static str,
    /// A program of the same kind.
    kind: Option<&'static str>,
    /// Published misses per 1000 instructions with 1 MB: the lower and the upper figure.
    published: Option<(f64, f64)>,
}

const fn benchmark(
    name: &'static str,
    kind: Option<&'static str>,
    published: Option<(f64, f64)>,
) -> Benchmark {
    Benchmark { name, kind, published }
}

const BENCHMARKS: [Benchmark; 11] = [
    benchmark("apsi", None, Some((0.3, 4.4))),
    benchmark("art", None, Some((65.0, 65.0))),
    benchmark("berkeley-db", Some("sqlite3"), None),
    benchmark("crafty", Some("gnugo"), Some((0.1, 0.1))),
    benchmark("gcc", None, Some((5.4, 5.4))),
    benchmark("gzip", None, Some((0.1, 0.1))),
    benchmark("mcf", None, Some((136.0, 202.5))),
    benchmark("parser", None, Some((1.6, 5.1))),
    benchmark("twolf", None, Some((3.6, 7.9))),
    benchmark("vortex", Some("sqlite3"), Some((1.2, 1.2))),
    benchmark("vpr", None, Some((2.2, 11.2))),
];

/// A benchmark's program, as its index in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::paper) struct Counterpart {
    pub(in crate::paper) benchmark: &'static str,
    /// `None` if it keeps its model.
    pub(in crate::paper) program: Option<usize>,
}

/// The program for every benchmark. `living` is the corpus' own counterpart of a benchmark,
/// `is_ours` whether a program is a kernel of ours.
pub(super) fn choose(
    table: &ProfileTable,
    living: impl Fn(&str) -> Option<&'static str>,
    is_ours: impl Fn(&str) -> bool,
) -> Vec<Counterpart> {
    let mut chosen = BENCHMARKS.each_ref().map(|benchmark| {
        let named = living(benchmark.name).and_then(|name| table.find(name));
        named.or_else(|| table.find(benchmark.kind?))
    });
    for (place, benchmark) in BENCHMARKS.iter().enumerate() {
        if let (None, Some((low, high))) = (chosen[place], benchmark.published) {
            let free = (0..table.names().len()).filter(|program| {
                !chosen.contains(&Some(*program)) && !is_ours(&table.names()[*program])
            });
            chosen[place] = nearest(table, (low * high).sqrt(), free);
        }
    }
    let names = BENCHMARKS.iter().map(|benchmark| benchmark.name);
    names.zip(chosen).map(|(benchmark, program)| Counterpart { benchmark, program }).collect()
}

/// The one of these programs with the nearest misses, as a ratio.
fn nearest(
    table: &ProfileTable,
    mpki: f64,
    programs: impl Iterator<Item = usize>,
) -> Option<usize> {
    let apart = programs.map(|program| {
        let ratio = misses_at(table, program, PUBLISHED_KB) / mpki;
        (program, ratio.ln().abs())
    });
    apart.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(program, _)| program)
}

#[cfg(test)]
mod tests {
    use fairways_core::Ways;
    use fairways_profiles::ProfileMetric;

    use super::*;

    /// Programs with these misses with every size.
    fn table(programs: &[(&str, f64)]) -> ProfileTable {
        let ways = Ways::new(32).expect("a number of ways");
        let tables = programs.iter().map(|&(name, misses)| {
            ProfileTable::measured(name, ways, 400.0, |metric, _| match metric {
                ProfileMetric::Llcrpki | ProfileMetric::Llcmpki => misses,
                _ => 1.0,
            })
        });
        let all = tables.reduce(|mut all, one| {
            all.put(one);
            all
        });
        all.expect("a program")
    }

    fn chosen(programs: &[(&str, f64)], benchmark: &str) -> Option<String> {
        let table = table(programs);
        fn living(name: &str) -> Option<&'static str> {
            (name == "gcc").then_some("cc1")
        }
        let all = choose(&table, living, |name| name == "stream");
        let found = all.iter().find(|one| one.benchmark == benchmark).expect("a benchmark");
        found.program.map(|program| table.names()[program].clone())
    }

    #[test]
    fn a_living_counterpart_comes_first_and_then_one_of_the_same_kind() {
        let programs = [("cc1", 50.0), ("gnugo", 50.0), ("sqlite3", 50.0)];
        assert_eq!(chosen(&programs, "gcc").as_deref(), Some("cc1"));
        assert_eq!(chosen(&programs, "crafty").as_deref(), Some("gnugo"));
        for database in ["berkeley-db", "vortex"] {
            assert_eq!(chosen(&programs, database).as_deref(), Some("sqlite3"));
        }
        // All are taken.
        assert_eq!(chosen(&programs, "art"), None);
    }

    #[test]
    fn otherwise_the_nearest_misses_count_as_a_ratio_and_once() {
        let programs = [("stream", 65.0), ("a", 40.0), ("b", 1.0), ("c", 6.0), ("gnugo", 5.4)];
        // A kernel of ours is nearer.
        assert_eq!(chosen(&programs, "art").as_deref(), Some("a"));
        // What plays a board game is nearer, and taken.
        assert_eq!(chosen(&programs, "gcc").as_deref(), Some("c"));
        // An earlier benchmark has what is nearer.
        assert_eq!(chosen(&programs, "apsi").as_deref(), Some("b"));
        assert_eq!(chosen(&programs, "gzip"), None);
        // Nothing is published of it.
        assert_eq!(chosen(&programs, "berkeley-db"), None);
    }
}
