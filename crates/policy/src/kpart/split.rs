//! What two clusters miss when ways are divided between them.

use fairways_core::Curve;

/// Two miss curves, among which lookahead divides any number of ways, at least one each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Split {
    curves: [Option<Curve>; 2],
}

impl Split {
    pub(crate) fn start(&mut self, one: &Curve, other: &Curve) {
        self.curves = [Some(*one), Some(*other)];
    }

    /// What both miss with `ways` ways, at least 2, divided by lookahead.
    pub(crate) fn of(&self, ways: u32) -> u64 {
        let [Some(one), Some(other)] = &self.curves else { return 0 };
        let curves = [one, other];
        let mut owned = [1; 2];
        let mut free = ways - 2;
        while free > 0 {
            let steps = [0, 1].map(|place| steepest(curves[place], owned[place], free));
            // The first of equals.
            let [(fall, more), (other_fall, other_more)] = steps;
            let second = u128::from(other_fall) * u128::from(more)
                > u128::from(fall) * u128::from(other_more);
            let (fall, more) = steps[usize::from(second)];
            if fall == 0 {
                break;
            }
            owned[usize::from(second)] += more;
            free -= more;
        }
        // What no curve falls for is split evenly; the odd way is the first's.
        owned[0] += free.div_ceil(2);
        owned[1] += free / 2;
        one.at(owned[0]).raw() + other.at(owned[1]).raw()
    }
}

/// How far a curve falls within the next ways, and how many, where it falls most a way.
fn steepest(curve: &Curve, owned: u32, free: u32) -> (u64, u32) {
    let values = &curve.values()[owned as usize - 1..];
    let here = values[0].raw();
    let mut best = (0, 1);
    for (more, value) in (1..=free).zip(&values[1..]) {
        let fall = here.saturating_sub(value.raw());
        // Values are below 2^56 and ways below 2^6.
        if fall * u64::from(best.1) > best.0 * u64::from(more) {
            best = (fall, more);
        }
    }
    best
}
