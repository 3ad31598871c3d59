//! Who holds what, and how it changes hands.

use fairways_core::MAX_WAYS;

/// The part of each way that a program holds, or comes to hold.
pub(crate) type Parts = [f64; MAX_WAYS];

/// What a program holds of the cache.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// The part of each way that it holds.
    pub(crate) held: Parts,
    /// The part of each way that the occupancy sweep gives it.
    pub(crate) target: Parts,
}

/// Less than this many ways is nothing: a 40 000th of a line.
const NOTHING: f64 = 1e-9;

impl Lines {
    pub(crate) const NONE: Self = Self { held: [0.0; MAX_WAYS], target: [0.0; MAX_WAYS] };

    /// Ways' worth of lines held.
    pub(crate) fn occupancy(&self) -> f64 {
        self.held.iter().sum()
    }

    /// Ways' worth of lines that are still to be filled.
    pub(crate) fn missing(&self) -> f64 {
        let missing = self.held.iter().zip(&self.target).map(|(held, target)| target - held);
        let missing: f64 = missing.filter(|&missing| missing > 0.0).sum();
        if missing < NOTHING { 0.0 } else { missing }
    }
}

/// Lets every program fill for `seconds`, at `fills` ways a second each; programs that hold what
/// they should stop. `shares` is scratch.
pub(crate) fn fill(
    programs: &mut [Lines],
    fills: impl Iterator<Item = f64>,
    ways: usize,
    seconds: f64,
    shares: &mut Vec<f64>,
) {
    shares.clear();
    shares.extend(programs.iter().zip(fills).map(|(lines, fill)| {
        let missing = lines.missing();
        if missing > 0.0 { (fill * seconds / missing).min(1.0) } else { 0.0 }
    }));
    for way in 0..ways {
        let (mut inflow, mut held, mut excess) = (0.0, 0.0, 0.0);
        for (lines, share) in programs.iter().zip(&*shares) {
            let more = lines.held[way] - lines.target[way];
            inflow += share * (-more).max(0.0);
            excess += more.max(0.0);
            held += lines.held[way];
        }
        if inflow == 0.0 {
            continue;
        }
        let taken = (inflow - (1.0 - held).max(0.0)).max(0.0);
        let lost = if excess > 0.0 { (taken / excess).min(1.0) } else { 0.0 };
        for (lines, share) in programs.iter_mut().zip(&*shares) {
            let more = lines.held[way] - lines.target[way];
            let part = if more > 0.0 { lost } else { *share };
            // All of it at once leaves no rounding behind.
            lines.held[way] =
                if part < 1.0 { lines.held[way] - part * more } else { lines.target[way] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(held: &[f64], target: &[f64]) -> Lines {
        let mut lines = Lines::NONE;
        lines.held[..held.len()].copy_from_slice(held);
        lines.target[..target.len()].copy_from_slice(target);
        lines
    }

    fn fill(programs: &mut [Lines], seconds: f64, fills: &[f64]) {
        super::fill(programs, fills.iter().copied(), 2, seconds, &mut Vec::new());
    }

    #[test]
    fn free_lines_are_filled_before_any_are_taken() {
        // Of way 0 a quarter is free, and the second program is to give a half.
        let mut programs = [lines(&[0.25], &[1.0]), lines(&[0.5], &[0.0])];
        fill(&mut programs, 0.25, &[1.0, 9.0]);
        assert_eq!([programs[0].held[0], programs[1].held[0]], [0.5, 0.5]);
        fill(&mut programs, 0.25, &[1.0, 9.0]);
        assert_eq!([programs[0].held[0], programs[1].held[0]], [0.75, 0.25]);
        fill(&mut programs, 9.0, &[1.0, 9.0]);
        assert_eq!([programs[0].held[0], programs[1].held[0]], [1.0, 0.0]);
    }

    #[test]
    fn who_holds_most_beyond_its_part_loses_most() {
        let mut programs = [lines(&[0.0], &[0.4]), lines(&[0.7], &[0.4]), lines(&[0.3], &[0.2])];
        fill(&mut programs, 0.2, &[1.0, 0.0, 0.0]);
        let held = programs.each_ref().map(|lines| (lines.held[0] * 1e6).round());
        assert_eq!(held, [200_000.0, 550_000.0, 250_000.0]);
    }

    #[test]
    fn lines_that_nobody_may_replace_stay() {
        let mut programs = [lines(&[0.5, 0.5], &[1.0, 0.0])];
        fill(&mut programs, 10.0, &[1.0]);
        assert_eq!(programs[0].held[..2], [1.0, 0.5]);
    }
}
