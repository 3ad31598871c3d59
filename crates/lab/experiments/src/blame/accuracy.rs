//! How near what is found comes to the truth.

use super::estimate::VictimEstimate;
use super::truth::VictimTruth;

/// A slowdown from which on a program is a victim, one from which on it is to be known, and one up
/// to which it is none.
const VICTIM: f64 = 1.05;
const SLOWED: f64 = 1.1;
const UNHARMED: f64 = 1.02;

/// Two slowdowns that differ by less are the same.
const POINT: f64 = 0.01;

/// How near an attribution comes to the truth, over many programs. Shares are 0 to 1, `None` of
/// none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlameAccuracy {
    /// Programs.
    pub programs: usize,
    /// Those whose slowdown is said to be known.
    pub known: usize,
    /// The share of them among those that lose 10 % or more.
    pub victims_known: Option<f64>,
    /// By how much slowdowns that are known are off, in the median.
    pub median_error: f64,
    /// The same for 19 of 20 programs.
    pub p95_error: f64,
    /// The share of slowdowns within the interval.
    pub within: f64,
    /// The median width of the interval.
    pub width: f64,
    /// By how many ways occupancies are off, in the median, and for 19 of 20 programs.
    pub occupancy_error: [f64; 2],
    /// Programs that lose 5 % or more.
    pub victims: usize,
    /// The share of them of which the larger part, cache or bus, was named right.
    pub parts_right: Option<f64>,
    /// Victims whose slowdown falls by 2 points or more if the right neighbour is taken away.
    pub with_culprit: usize,
    /// The share of them whose worst culprit is named: the neighbour whose absence helps most, to a
    /// point. By this attribution, by CPI², and by misses.
    pub culprit_right: [Option<f64>; 3],
    /// Programs that lose less than 2 %.
    pub unharmed: usize,
    /// The share of them for which no neighbour is blamed.
    pub none_blamed: Option<f64>,
}

/// How near the estimates come to the truth.
///
/// # Panics
/// If none is known.
#[must_use]
pub fn accuracy_of_blame(all: &[(VictimTruth, VictimEstimate)]) -> BlameAccuracy {
    let known = all.iter().filter(|(_, found)| found.is_known);
    let mut errors: Vec<f64> =
        known.map(|(truth, found)| (found.slowdown[1] - truth.slowdown).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let mut occupancies: Vec<f64> =
        all.iter().map(|(_, found)| (found.occupancy[0] - found.occupancy[1]).abs()).collect();
    occupancies.sort_by(f64::total_cmp);
    let mut widths: Vec<f64> =
        all.iter().map(|(_, found)| found.slowdown[2] - found.slowdown[0]).collect();
    widths.sort_by(f64::total_cmp);
    let victims: Vec<_> = all.iter().filter(|(truth, _)| truth.slowdown >= VICTIM).collect();
    let slowed: Vec<_> = all.iter().filter(|(truth, _)| truth.slowdown >= SLOWED).collect();
    let blamable: Vec<_> =
        victims.iter().filter(|(truth, _)| worst(truth) >= 2.0 * POINT).collect();
    let unharmed: Vec<_> = all.iter().filter(|(truth, _)| truth.slowdown < UNHARMED).collect();
    let named: [fn(&VictimEstimate) -> Option<usize>; 3] = [
        |found| found.culprit.map(|(place, _)| place),
        |found| found.cpi2,
        |found| found.most_misses,
    ];
    BlameAccuracy {
        programs: all.len(),
        known: errors.len(),
        victims_known: share(&slowed, |(_, found)| found.is_known),
        median_error: errors[errors.len() / 2],
        p95_error: errors[errors.len() * 95 / 100],
        within: share(all, |(truth, found)| is_within(truth, found)).unwrap_or(0.0),
        width: widths[widths.len() / 2],
        occupancy_error: [50, 95].map(|of| occupancies[occupancies.len() * of / 100]),
        victims: victims.len(),
        parts_right: share(&victims, |(truth, found)| is_part_right(truth, found)),
        with_culprit: blamable.len(),
        culprit_right: named.map(|named| {
            share(&blamable, |(truth, found)| {
                named(found).is_some_and(|place| truth.caused()[place] >= worst(truth) - POINT)
            })
        }),
        unharmed: unharmed.len(),
        none_blamed: share(&unharmed, |(_, found)| found.culprit.is_none()),
    }
}

/// Whether the slowdown is within the interval; it is known itself to a third of a point.
fn is_within(truth: &VictimTruth, found: &VictimEstimate) -> bool {
    let [least, _, most] = found.slowdown;
    (least - POINT / 3.0..=most + POINT / 3.0).contains(&truth.slowdown)
}

/// By how much the slowdown falls without the neighbour that costs most.
fn worst(truth: &VictimTruth) -> f64 {
    truth.caused().into_iter().fold(0.0, f64::max)
}

/// Whether the larger part is the right one, cache or bus; or both are equal, to a point.
fn is_part_right(truth: &VictimTruth, found: &VictimEstimate) -> bool {
    let (cache, bus) = (truth.by_cache - 1.0, truth.slowdown - truth.by_cache);
    let [lines, ways, found_bus] = found.parts;
    (cache - bus).abs() < POINT || (cache > bus) == (lines + ways > found_bus)
}

fn share<T>(all: &[T], is_one: impl Fn(&T) -> bool) -> Option<f64> {
    (!all.is_empty())
        .then(|| all.iter().filter(|one| is_one(one)).count() as f64 / all.len() as f64)
}
