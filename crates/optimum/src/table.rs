//! What every cluster would be, with every number of ways.

use fairways_core::Ways;
use fairways_profiles::Program;
use rayon::prelude::*;

use crate::Kind;

/// A set of programs: bit `i` is program `i`.
pub(crate) type Set = u32;

/// For every set of programs and number of ways, how it fares as a cluster: its smallest and its
/// largest slowdown, and what it adds to a sum over programs.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) programs: usize,
    pub(crate) ways: usize,
    /// At `[set * ways + w - 1]`; sets that are not clusters of the kind have infinite slowdowns.
    pub(crate) lo: Vec<f64>,
    pub(crate) hi: Vec<f64>,
    pub(crate) sum: Vec<f64>,
}

/// What is summed up over programs with these slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summed {
    /// 1 / slowdown: STP.
    Progress,
    /// Minus slowdown: ANTT, so that more is better.
    Slowdown,
}

impl Table {
    pub(crate) fn new(programs: &[Program], ways: Ways, kind: Kind, summed: Summed) -> Self {
        let (count, stride) = (programs.len(), ways.get() as usize);
        let cells = stride << count;
        let mut table = Self {
            programs: count,
            ways: stride,
            lo: vec![f64::INFINITY; cells],
            hi: vec![f64::INFINITY; cells],
            sum: vec![0.0; cells],
        };
        let Self { lo, hi, sum, .. } = &mut table;
        let rows = lo.par_chunks_mut(stride).zip(hi.par_chunks_mut(stride));
        let rows = rows.zip(sum.par_chunks_mut(stride)).with_min_len(64).enumerate();
        rows.for_each_init(
            || (Vec::new(), Vec::new()),
            |(members, occupancy), (set, ((lo, hi), sum))| {
                if set == 0 || (kind == Kind::Partitioning && !set.is_power_of_two()) {
                    return;
                }
                members.clear();
                members.extend(
                    programs
                        .iter()
                        .enumerate()
                        .filter_map(|(index, program)| (set >> index & 1 == 1).then_some(program)),
                );
                occupancy.clear();
                occupancy.resize(members.len(), 0.0);
                sweep(members, occupancy, summed, lo, hi, sum);
            },
        );
        table
    }

    /// The cells of a set, from one way up.
    pub(crate) fn row(&self, set: usize) -> std::ops::Range<usize> {
        set * self.ways..(set + 1) * self.ways
    }
}

/// The occupancy sweep of the static model, and after each way what the cluster is with so many.
fn sweep(
    members: &[&Program],
    occupancy: &mut [f64],
    summed: Summed,
    lo: &mut [f64],
    hi: &mut [f64],
    sum: &mut [f64],
) {
    let even = 1.0 / members.len() as f64;
    let mut pressures = [0.0; Set::BITS as usize];
    for way in 0..lo.len() {
        let mut total = 0.0;
        for ((pressure, program), &x) in pressures.iter_mut().zip(members).zip(&*occupancy) {
            *pressure = program.pressure(x);
            total += *pressure;
        }
        let (mut least, mut most, mut added) = (f64::INFINITY, 0.0f64, 0.0);
        for ((x, program), pressure) in occupancy.iter_mut().zip(members).zip(pressures) {
            *x += if total > 0.0 { pressure / total } else { even };
            let slowdown = program.slowdown(*x);
            least = least.min(slowdown);
            most = most.max(slowdown);
            added += match summed {
                Summed::Progress => 1.0 / slowdown,
                Summed::Slowdown => -slowdown,
            };
        }
        (lo[way], hi[way], sum[way]) = (least, most, added);
    }
}
