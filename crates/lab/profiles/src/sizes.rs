//! Profiles on caches whose ways have another size than those that were measured.

/// The value with `ways` of the measured ways, which need not be whole: `values` are those with 1,
/// 2, ... ways, `none` the one without cache. Between them it is on the line from one to the next;
/// beyond the last, it stays.
#[must_use]
pub fn between_ways(none: f64, values: &[f64], ways: f64) -> f64 {
    let mut before = none;
    for (measured, &value) in (1_u32..).zip(values) {
        let beyond = f64::from(measured) - ways;
        if beyond >= 0.0 {
            return beyond * before + (1.0 - beyond) * value;
        }
        before = value;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_and_beyond_the_measured_sizes() {
        let read = [0.0, 0.5, 1.0, 1.25, 2.0, 5.0].map(|ways| between_ways(8.0, &[6.0, 2.0], ways));
        assert_eq!(read, [8.0, 7.0, 6.0, 5.0, 2.0, 2.0]);
    }
}
