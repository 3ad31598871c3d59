//! Cached lines, and how they change hands.

use fairways_core::MAX_WAYS;

/// The part of each way that a program occupies, or moves toward.
pub(crate) type WayParts = [f64; MAX_WAYS];

/// The cache lines of a program.
#[derive(Clone, Debug)]
pub(crate) struct CachedLines {
    /// The part of each way that it occupies.
    pub(crate) occupied: WayParts,
    /// The part of each way that the occupancy sweep gives it.
    pub(crate) target: WayParts,
}

/// Fewer ways than this count as none: a 40 000th of a line.
const NOTHING: f64 = 1e-9;

impl CachedLines {
    pub(crate) const NONE: Self = Self { occupied: [0.0; MAX_WAYS], target: [0.0; MAX_WAYS] };

    /// Occupancy, in ways' worth of lines.
    pub(crate) fn occupancy(&self) -> f64 {
        self.occupied.iter().sum()
    }

    /// Ways' worth of lines that are still to be filled.
    pub(crate) fn missing(&self) -> f64 {
        let missing =
            self.occupied.iter().zip(&self.target).map(|(occupied, target)| target - occupied);
        let missing: f64 = missing.filter(|&missing| missing > 0.0).sum();
        if missing < NOTHING { 0.0 } else { missing }
    }
}

/// Lets every program fill for `seconds`, at `fills` ways a second each; programs that have reached
/// their target stop. `shares` is scratch.
pub(crate) fn fill(
    programs: &mut [CachedLines],
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
        let (mut inflow, mut occupied, mut excess) = (0.0, 0.0, 0.0);
        for (lines, share) in programs.iter().zip(&*shares) {
            let more = lines.occupied[way] - lines.target[way];
            inflow += share * (-more).max(0.0);
            excess += more.max(0.0);
            occupied += lines.occupied[way];
        }
        if inflow == 0.0 {
            continue;
        }
        let taken = (inflow - (1.0 - occupied).max(0.0)).max(0.0);
        let lost = if excess > 0.0 { (taken / excess).min(1.0) } else { 0.0 };
        for (lines, share) in programs.iter_mut().zip(&*shares) {
            let more = lines.occupied[way] - lines.target[way];
            let part = if more > 0.0 { lost } else { *share };
            // All of it at once leaves no rounding behind.
            lines.occupied[way] =
                if part < 1.0 { lines.occupied[way] - part * more } else { lines.target[way] };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(occupied: &[f64], target: &[f64]) -> CachedLines {
        let mut lines = CachedLines::NONE;
        lines.occupied[..occupied.len()].copy_from_slice(occupied);
        lines.target[..target.len()].copy_from_slice(target);
        lines
    }

    fn fill(programs: &mut [CachedLines], seconds: f64, fills: &[f64]) {
        super::fill(programs, fills.iter().copied(), 2, seconds, &mut Vec::new());
    }

    #[test]
    fn free_lines_are_filled_before_any_are_taken() {
        // A quarter of way 0 is free, and the second program is to lose a half.
        let mut programs = [lines(&[0.25], &[1.0]), lines(&[0.5], &[0.0])];
        fill(&mut programs, 0.25, &[1.0, 9.0]);
        assert_eq!([programs[0].occupied[0], programs[1].occupied[0]], [0.5, 0.5]);
        fill(&mut programs, 0.25, &[1.0, 9.0]);
        assert_eq!([programs[0].occupied[0], programs[1].occupied[0]], [0.75, 0.25]);
        fill(&mut programs, 9.0, &[1.0, 9.0]);
        assert_eq!([programs[0].occupied[0], programs[1].occupied[0]], [1.0, 0.0]);
    }

    #[test]
    fn who_holds_most_beyond_its_part_loses_most() {
        let mut programs = [lines(&[0.0], &[0.4]), lines(&[0.7], &[0.4]), lines(&[0.3], &[0.2])];
        fill(&mut programs, 0.2, &[1.0, 0.0, 0.0]);
        let occupied = programs.each_ref().map(|lines| (lines.occupied[0] * 1e6).round());
        assert_eq!(occupied, [200_000.0, 550_000.0, 250_000.0]);
    }

    #[test]
    fn lines_that_nobody_may_replace_stay() {
        let mut programs = [lines(&[0.5, 0.5], &[1.0, 0.0])];
        fill(&mut programs, 10.0, &[1.0]);
        assert_eq!(programs[0].occupied[..2], [1.0, 0.5]);
    }
}
