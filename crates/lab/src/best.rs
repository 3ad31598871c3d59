//! What the best partitions look like (LFOC §3, Figures 2 and 3).

use fairways_core::Llc;
use fairways_optimum::{Impossible, Kind, Objective, Problem, solve};
use fairways_policy::lfoc::Class;
use fairways_profiles::{Mix, Table};

use crate::draw::classes;

/// Programs of each class in the fairest clusterings of mixes, by the ways of their clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composition {
    /// At `ways - 1`: streaming, sensitive and light programs in clusters of so many ways.
    pub programs: Vec<[u32; 3]>,
    /// At `ways - 1`: clusters of so many ways.
    pub clusters: Vec<u32>,
    /// By mix: the ways of all clusters that hold a streaming program and no sensitive one.
    pub streaming_ways: Vec<u32>,
}

/// The classes in the order of [`Composition::programs`].
pub const CLASSES: [Class; 3] = [Class::Streaming, Class::Sensitive, Class::Light];

impl Composition {
    /// The share of the programs of a class, 0 to 1, that are in clusters of these ways; `None` if
    /// there is none of the class.
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

/// Figure 2: the fairest clustering of each mix, taken apart.
///
/// # Errors
/// If one can't be found: [`Impossible`].
pub fn composition(table: &Table, mixes: &[Mix], llc: Llc) -> Result<Composition, Impossible> {
    let classes = classes(table, llc.ways);
    let sizes = llc.ways.get() as usize;
    let mut found = Composition {
        programs: vec![[0; 3]; sizes],
        clusters: vec![0; sizes],
        streaming_ways: Vec::new(),
    };
    for mix in mixes {
        let best = best(table, mix, llc, Kind::Clustering)?.partition;
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

/// Figure 3: by mix, the unfairness of the fairest partitioning over that of the fairest clustering.
///
/// # Errors
/// If one can't be found: [`Impossible`].
pub fn partitioning_over_clustering(
    table: &Table,
    mixes: &[Mix],
    llc: Llc,
) -> Result<Vec<f64>, Impossible> {
    let ratio = |mix| {
        let apart = best(table, mix, llc, Kind::Partitioning)?.value;
        Ok(apart / best(table, mix, llc, Kind::Clustering)?.value)
    };
    mixes.iter().map(ratio).collect()
}

fn best(
    table: &Table,
    mix: &Mix,
    llc: Llc,
    kind: Kind,
) -> Result<fairways_optimum::Solution, Impossible> {
    let objective = Objective::Unfairness;
    let problem =
        Problem { profiles: table, mix: &mix.programs, llc, kind, bandwidth: None, objective };
    solve(&problem, None, |_, _| ())
}
