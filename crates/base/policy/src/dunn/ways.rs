//! The number of ways of a cluster.

/// The ways of a cluster whose centroid is x = `part` / `whole` of the largest, in a cache of
/// `ways` ways: round(1 + (ways - 1)^x), the exponential model that Dunn's manager has for 20 ways.
/// At least 2 ways, if there are as many, and all for x = 1.
///
/// Every number of ways w from 3 up is reached where x log(ways - 1) >= log(w - 1.5).
pub(crate) fn ways_for(part: u128, whole: u128, ways: u32) -> u32 {
    if whole == 0 || part >= whole {
        return ways;
    }
    let most = i128::from(log2(u64::from(ways.max(2) - 1) << 32));
    let exponent = i128::try_from(part).unwrap_or(0) * most;
    let whole = i128::try_from(whole).unwrap_or(1);
    let reached = (3..=ways).rev().find(|&w| {
        let needed = i128::from(log2((u64::from(w) << 32) - (3 << 31)));
        exponent >= needed * whole
    });
    reached.unwrap_or(2).min(ways)
}

/// The logarithm to the base 2 of `raw` / 2^32, which is above 0, times 2^32.
fn log2(raw: u64) -> i64 {
    let whole = 63 - i64::from(raw.leading_zeros()) - 32;
    // A number from 1 up to 2, times 2^63.
    let mut rest = raw << raw.leading_zeros();
    let mut log = whole << 32;
    for bit in (0..32).rev() {
        let square = u128::from(rest) * u128::from(rest);
        let carry = square >> 127;
        log += i64::from(carry == 1) << bit;
        rest = u64::try_from(square >> (63 + carry)).unwrap_or(u64::MAX);
    }
    log
}

#[cfg(test)]
#[allow(clippy::float_arithmetic)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        for raw in [1, 77, 1 << 31, 1 << 32, 3 << 31, 9 << 32, (19 << 32) + 5, u64::MAX] {
            let exact = (raw as f64 / (1u64 << 32) as f64).log2();
            let log = log2(raw) as f64 / (1u64 << 32) as f64;
            assert!((log - exact).abs() < 1e-8, "{raw}: {log} {exact}");
        }
    }

    #[test]
    fn the_managers_model_at_20_ways_and_its_like_at_others() {
        for ways in [2_u32, 4, 11, 20, 32] {
            for x in 0..=100 {
                let exact = 1.0 + (f64::from(ways) - 1.0).powf(f64::from(x) / 100.0);
                let expected = (2..ways).find(|&w| f64::from(w) + 0.5 > exact).unwrap_or(ways);
                // Halves may fall to either side.
                if (exact.fract() - 0.5).abs() > 1e-6 {
                    assert_eq!(ways_for(x.try_into().unwrap(), 100, ways), expected, "{ways} {x}");
                }
            }
        }
        // The exponents that the manager prints: 1 + exp(x ln 19).
        assert_eq!([0, 50, 100].map(|x| ways_for(x, 100, 20)), [2, 5, 20]);
        assert_eq!((ways_for(1, 2, 1), ways_for(0, 0, 11)), (1, 11));
    }
}
