//! Draws mixes where the user names none.

use std::collections::BTreeSet;

use fairways_core::Ways;
use fairways_policy::lfoc::{Class, Parameters, classify};
use fairways_profiles::{Mix, ProfileTable, ProgramCatalog};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The sizes of drawn mixes, and the number of mixes of each size.
const SIZES: [usize; 4] = [4, 6, 8, 10];
const MIXES_PER_SIZE: usize = 3;

/// LFOC's class of each program of a table (Table 1) on a cache of `ways` ways.
#[must_use]
pub fn classes(table: &ProfileTable, ways: Ways) -> Vec<Class> {
    let parameters = Parameters::default();
    (0..table.names().len())
        .map(|program| classify(&table.profile(program), ways, &parameters))
        .collect()
}

/// Twelve mixes of 4, 6, 8 and 10 different programs, as far as the table has them, and fewer where
/// they would be the same; the same seed gives the same mixes.
///
/// As in the LFOC paper (§5, Figure 5), a mix has programs that suffer and programs that make them
/// suffer: about a quarter is streaming, at least a third sensitive, and the rest is of any class,
/// as far as the table has them.
#[must_use]
pub fn draw_mixes(table: &ProfileTable, ways: Ways, seed: u64) -> Vec<Mix> {
    let classes = classes(table, ways);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut mixes = Vec::new();
    let mut drawn = BTreeSet::new();
    for size in SIZES {
        for number in 1..=MIXES_PER_SIZE {
            let programs = draw(&mut rng, &classes, size, Vec::new());
            // A table of few programs has few different mixes.
            if !drawn.insert(programs.iter().copied().collect::<BTreeSet<usize>>()) {
                continue;
            }
            mixes.push(Mix { name: format!("M{size}-{number}"), programs });
        }
    }
    mixes
}

/// Programs in a mix like those of LFOC's Figure 5.
pub(crate) const WORKLOAD_SIZES: [usize; 3] = [8, 12, 16];

/// Mixes like the workloads of LFOC's Figure 5: of 8, 12 and 16 programs, `count` of each size and
/// kind; the same seed gives the same mixes.
///
/// In mixes whose names begin with S, every program keeps one class; in those with P, a quarter of
/// the programs is phased (§5.2). Otherwise they are drawn as by [`draw_mixes`].
#[must_use]
pub fn draw_workloads(programs: &ProgramCatalog, ways: Ways, count: usize, seed: u64) -> Vec<Mix> {
    let classes = classes(programs.table(), ways);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut mixes = Vec::new();
    for (kind, has_phases) in [("S", false), ("P", true)] {
        let mut number = 0;
        for size in WORKLOAD_SIZES {
            for _ in 0..count {
                number += 1;
                let mut phased: Vec<usize> = (classes.len()..programs.len()).collect();
                let mut first = Vec::new();
                while has_phases && first.len() < size / 4 {
                    let Some(place) = pick(&mut rng, phased.len()) else { break };
                    first.push(phased.remove(place));
                }
                let programs = draw(&mut rng, &classes, size, first);
                mixes.push(Mix { name: format!("{kind}{number}"), programs });
            }
        }
    }
    mixes
}

/// `count` mixes of each of these sizes, of any programs of the table, which may repeat; the same
/// seed gives the same mixes.
#[must_use]
pub fn random_mixes(table: &ProfileTable, sizes: &[usize], count: usize, seed: u64) -> Vec<Mix> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut mixes = Vec::new();
    for &size in sizes {
        for number in 1..=count {
            let programs = (0..size).filter_map(|_| pick(&mut rng, table.names().len()));
            mixes.push(Mix { name: format!("R{size}-{number}"), programs: programs.collect() });
        }
    }
    mixes
}

/// `count` mixes of each of these sizes, a third of whose programs streams, as far as the table has
/// such programs; the others are of other classes, and all may repeat. The same seed gives the same
/// mixes.
#[must_use]
pub fn streaming_mixes(
    table: &ProfileTable,
    ways: Ways,
    sizes: &[usize],
    count: usize,
    seed: u64,
) -> Vec<Mix> {
    let classes = classes(table, ways);
    let (streaming, others): (Vec<usize>, Vec<usize>) =
        (0..classes.len()).partition(|&program| classes[program] == Class::Streaming);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut mixes = Vec::new();
    for &size in sizes {
        for number in 1..=count {
            let programs = (0..size).filter_map(|place| {
                let group = if place < size / 3 { &streaming } else { &others };
                let group = if group.is_empty() { &others } else { group };
                pick(&mut rng, group.len()).map(|place| group[place])
            });
            mixes.push(Mix { name: format!("T{size}-{number}"), programs: programs.collect() });
        }
    }
    mixes
}

/// Adds programs of these classes to `programs` up to `size`, as far as the classes have them.
fn draw(
    rng: &mut Pcg64Mcg,
    classes: &[Class],
    size: usize,
    mut programs: Vec<usize>,
) -> Vec<usize> {
    let mut left: Vec<usize> = (0..classes.len()).collect();
    let wanted = [
        (Some(Class::Streaming), size.div_ceil(4)),
        (Some(Class::Sensitive), size.div_ceil(3)),
        (None, size),
    ];
    for (class, count) in wanted {
        for _ in 0..count.min(size - programs.len()) {
            let fits = |&place: &usize| class.is_none_or(|c| classes[left[place]] == c);
            let places: Vec<usize> = (0..left.len()).filter(fits).collect();
            if let Some(place) = pick(rng, places.len()) {
                programs.push(left.remove(places[place]));
            }
        }
    }
    programs
}

/// A number below `count`, or `None` if `count` is 0.
pub(crate) fn pick(rng: &mut Pcg64Mcg, count: usize) -> Option<usize> {
    let below = u64::try_from(count).ok()?;
    // Multiply and shift (Lemire): the bias is below 2^-32 for any table.
    let picked = (u128::from(rng.next_u64()) * u128::from(below)) >> 64;
    (below > 0).then(|| usize::try_from(picked).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use fairways_profiles::{embedded, read_table_to_score};

    use super::*;

    #[test]
    fn drawn_mixes_are_of_different_programs_and_of_every_kind() {
        let table = embedded();
        let classes = classes(table, table.ways());
        let mixes = draw_mixes(table, table.ways(), 1);
        assert_eq!(mixes.len(), SIZES.len() * MIXES_PER_SIZE);
        for mix in &mixes {
            let mut programs = mix.programs.clone();
            programs.sort_unstable();
            programs.dedup();
            assert_eq!(programs.len(), mix.programs.len());
            let count = |class| programs.iter().filter(|&&p| classes[p] == class).count();
            assert!(count(Class::Streaming) >= 1 && count(Class::Sensitive) >= 2, "{mix:?}");
        }
        assert_eq!(mixes, draw_mixes(table, table.ways(), 1));
        assert_ne!(mixes, draw_mixes(table, table.ways(), 2));
    }

    #[test]
    fn a_mix_is_drawn_once() {
        let few = "BENCH,NR_WAYS,ipc,llcmpki\n".to_owned()
            + &["a", "b", "c"].map(|name| format!("{name},1,0.5,20\n{name},2,1,10\n")).concat();
        let table = read_table_to_score(few.as_bytes(), "few.csv").unwrap();
        let mixes = draw_mixes(&table, table.ways(), 1);
        let sizes: Vec<usize> = mixes.iter().map(|mix| mix.programs.len()).collect();
        assert_eq!(sizes, [3], "of three programs there is one mix: {mixes:?}");
    }

    #[test]
    fn a_third_of_a_streaming_mix_streams() {
        let table = embedded();
        let classes = classes(table, table.ways());
        let mixes = streaming_mixes(table, table.ways(), &[8, 12], 5, 1);
        assert_eq!(mixes.len(), 10);
        for mix in mixes {
            let streaming = mix.programs.iter().filter(|&&p| classes[p] == Class::Streaming);
            assert_eq!(streaming.count(), mix.programs.len() / 3, "{mix:?}");
        }
    }

    #[test]
    fn the_embedded_programs_are_of_every_class() {
        let classes = classes(embedded(), embedded().ways());
        let counts = [Class::Streaming, Class::Sensitive, Class::Light]
            .map(|class| classes.iter().filter(|&&c| c == class).count());
        assert_eq!(
            counts,
            [7, 11, 12],
            "{:?}",
            embedded().names().iter().zip(&classes).collect::<Vec<_>>()
        );
    }
}
