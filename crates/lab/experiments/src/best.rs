//! The shape of the best partitions (LFOC §3, Figures 2 and 3).

use fairways_core::{AppId, Llc, WayMask};
use fairways_optimum::{Goal, Impossible, Problem, SharingKind, Solution, solve};
use fairways_policy::lfoc::Class;
use fairways_profiles::{FairnessMetrics, MemoryBandwidth, Mix, ProfileTable, Scorer};

use crate::draw::classes;

/// Programs of each class in the fairest clusterings of mixes, by the ways of their clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Composition {
    /// At `ways - 1`: streaming, sensitive and light programs in clusters of `ways` ways.
    pub programs: Vec<[u32; 3]>,
    /// At `ways - 1`: clusters of `ways` ways.
    pub clusters: Vec<u32>,
    /// By mix: the ways of all clusters with a streaming program and no sensitive one.
    pub streaming_ways: Vec<u32>,
    /// By class: the rise of unfairness, as a share, when one program of the class moves to another
    /// cluster.
    pub moves: [Vec<f64>; 3],
}

/// The classes in the order of [`Composition::programs`].
pub const CLASSES: [Class; 3] = [Class::Streaming, Class::Sensitive, Class::Light];

impl Composition {
    /// The share of a class's programs, 0 to 1, that are in clusters of these ways; `None` if the
    /// class has no program.
    #[must_use]
    pub fn share(&self, class: Class, ways: impl Fn(usize) -> bool) -> Option<f64> {
        let index = CLASSES.iter().position(|&other| other == class)?;
        let count = |all: bool| -> u32 {
            let sizes = (1..).zip(&self.programs).filter(|(size, _)| all || ways(*size));
            sizes.map(|(_, programs)| programs[index]).sum()
        };
        (count(true) > 0).then(|| f64::from(count(false)) / f64::from(count(true)))
    }
}

/// Figure 2: analyses the fairest clustering of each mix.
///
/// # Errors
/// If a clustering can't be found: [`Impossible`].
pub fn composition(
    table: &ProfileTable,
    mixes: &[Mix],
    llc: Llc,
    bandwidth: Option<MemoryBandwidth>,
) -> Result<Composition, Impossible> {
    let classes = classes(table, llc.ways);
    let sizes = llc.ways.get() as usize;
    let mut found = Composition {
        programs: vec![[0; 3]; sizes],
        clusters: vec![0; sizes],
        streaming_ways: Vec::new(),
        moves: Default::default(),
    };
    for mix in mixes {
        let Solution { mut plans, value, .. } =
            best(table, mix, llc, bandwidth, SharingKind::Clustering)?;
        let best = plans.swap_remove(0);
        fn app(index: usize) -> AppId {
            AppId(u32::try_from(index).unwrap_or(u32::MAX))
        }
        let of = |index| best.mask_of(app(index)).expect("every program is placed");
        let mut masks: Vec<WayMask> = (0..mix.programs.len()).map(of).collect();
        let mut scorer = Scorer::new(table, &mix.programs, llc.ways, bandwidth);
        for (index, &program) in mix.programs.iter().enumerate() {
            let own = masks[index];
            // The ways of a program alone in its cluster would be in no use.
            if masks.iter().filter(|mask| **mask == own).count() == 1 {
                continue;
            }
            let class = CLASSES.iter().position(|class| *class == classes[program]);
            let moves = &mut found.moves[class.expect("one of three")];
            for other in best.masks().filter(|mask| *mask != own) {
                masks[index] = other;
                // Memory can't serve the program there.
                let Ok(slowdowns) = scorer.score(&masks) else { continue };
                moves.push(FairnessMetrics::from_slowdowns(slowdowns).unfairness / value - 1.0);
            }
            masks[index] = own;
        }
        let mut streaming_ways = 0;
        for (cluster, mask) in (0..).zip(best.masks()) {
            let size = mask.count() as usize - 1;
            found.clusters[size] += 1;
            let members = best.members(cluster).map(|app| classes[mix.programs[app.0 as usize]]);
            let members: Vec<Class> = members.collect();
            for (count, class) in found.programs[size].iter_mut().zip(CLASSES) {
                *count += members.iter().map(|&member| u32::from(member == class)).sum::<u32>();
            }
            if members.contains(&Class::Streaming) && !members.contains(&Class::Sensitive) {
                streaming_ways += mask.count();
            }
        }
        found.streaming_ways.push(streaming_ways);
    }
    Ok(found)
}

/// Figure 3: by mix, the unfairness of the fairest partitioning over that of the fairest
/// clustering.
///
/// # Errors
/// If a partition can't be found: [`Impossible`].
pub fn partitioning_over_clustering(
    table: &ProfileTable,
    mixes: &[Mix],
    llc: Llc,
    bandwidth: Option<MemoryBandwidth>,
) -> Result<Vec<f64>, Impossible> {
    mixes
        .iter()
        .map(|mix| {
            let apart = best(table, mix, llc, bandwidth, SharingKind::Partitioning)?.value;
            Ok(apart / best(table, mix, llc, bandwidth, SharingKind::Clustering)?.value)
        })
        .collect()
}

fn best(
    table: &ProfileTable,
    mix: &Mix,
    llc: Llc,
    bandwidth: Option<MemoryBandwidth>,
    kind: SharingKind,
) -> Result<Solution, Impossible> {
    let goal = Goal::Unfairness;
    let problem = Problem { bandwidth, ..Problem::new(table, &mix.programs, llc, kind, goal) };
    solve(&problem, None, |_, _| ())
}
