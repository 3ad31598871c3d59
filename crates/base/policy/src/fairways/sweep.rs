//! Divides ways among the programs of a set, one way after another: the sweep of `occupancy.rs`,
//! with both curves of a program side by side, so that one look-up returns its slowdown with this
//! way and its pressure for the next.

use alloc::vec::Vec;

use super::program::{SharingProgram, members};
use crate::occupancy::between;

/// The curves of programs at each whole number of occupied ways, from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct PressedCurves {
    points: Vec<PressedPoint>,
    /// How many points each program has.
    each: usize,
}

/// A program's slowdown at some occupancy, and its pressure for another way.
#[derive(Clone, Copy, Debug)]
struct PressedPoint {
    slowdown: u64,
    pressure: u64,
}

/// A program of the set that is being evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweptProgram {
    pub(crate) program: usize,
    /// The ways that it occupies, times 2^32, and its slowdown there.
    pub(crate) occupancy: u64,
    pub(crate) slowdown: u64,
    /// Its pressure for the next way.
    pressure: u64,
}

impl PressedCurves {
    /// Starts again with these programs, for sets that have up to this many ways.
    pub(crate) fn restart(&mut self, ways: u32, programs: &[SharingProgram]) {
        self.each = ways as usize + 2;
        self.points.clear();
        for SharingProgram { slowdowns, pressures, slowest, .. } in programs {
            self.points.extend((0..ways + 2).map(|whole| PressedPoint {
                slowdown: if whole == 0 { *slowest } else { slowdowns.at(whole).raw() },
                pressure: pressures.at(whole + 1).raw(),
            }));
        }
    }

    /// Begins a set whose programs occupy these ways, times 2^32.
    pub(crate) fn gather(
        &self,
        set: u64,
        occupancies: impl Iterator<Item = u64>,
        swept: &mut Vec<SweptProgram>,
    ) {
        swept.clear();
        swept.extend(members(set).zip(occupancies).map(|(program, occupancy)| {
            let program = program as usize;
            let PressedPoint { slowdown, pressure } = self.at(program, occupancy);
            SweptProgram { program, occupancy, slowdown, pressure }
        }));
    }

    /// Divides one more way among the programs of a set.
    pub(crate) fn divide_way(&self, swept: &mut [SweptProgram]) {
        let bits = swept.iter().fold(0, |bits, one| bits | one.pressure);
        // Each has 31 bits: sums of 2^15 programs, and 32 bits more for one, fit.
        let spare = (u64::BITS - bits.leading_zeros()).saturating_sub(31);
        let total: u64 = swept.iter().map(|one| one.pressure >> spare).sum();
        let even = (1 << 32) / swept.len().max(1) as u64;
        for one in swept {
            one.occupancy += ((one.pressure >> spare) << 32).checked_div(total).unwrap_or(even);
            let PressedPoint { slowdown, pressure } = self.at(one.program, one.occupancy);
            (one.slowdown, one.pressure) = (slowdown, pressure);
        }
    }

    /// Interpolates between the points of a program.
    fn at(&self, program: usize, occupancy: u64) -> PressedPoint {
        let place = program * self.each + usize::try_from(occupancy >> 32).unwrap_or(0);
        let (here, next) = (self.points[place], self.points[place + 1]);
        let rest = occupancy & 0xffff_ffff;
        PressedPoint {
            slowdown: between(here.slowdown, next.slowdown, rest),
            pressure: between(here.pressure, next.pressure, rest),
        }
    }
}
