//! A latency in a line of text.

use std::time::Duration;

/// Parses milliseconds, or the given unit; `None` if it is no time, or more than 584 years.
pub(super) fn latency(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "s" => 1.0,
        "" | "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    let number: f64 = digits.trim_end().parse().ok()?;
    let latency = Duration::try_from_secs_f64(number * unit).ok()?;
    (latency <= Duration::from_nanos(u64::MAX)).then_some(latency)
}

/// Nanoseconds with the eleven highest binary digits kept and the rest rounded up: at most a
/// thousandth more than before.
pub(super) fn rounded(latency: Duration) -> u64 {
    const KEPT: u32 = 11;
    let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
    let low = (u64::BITS - nanos.leading_zeros()).saturating_sub(KEPT);
    let mask = (1_u64 << low) - 1;
    nanos.checked_add(mask).map_or(u64::MAX, |up| up & !mask)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> Option<u128> {
        latency(text).map(|latency| latency.as_nanos())
    }

    #[test]
    fn a_number_without_a_unit_is_milliseconds() {
        assert_eq!(nanos("1.5"), Some(1_500_000));
        assert_eq!(nanos("1.5ms"), Some(1_500_000));
        assert_eq!(nanos("200 us"), Some(200_000));
        assert_eq!(nanos("0.25s"), Some(250_000_000));
        assert_eq!(nanos("15ns"), Some(15));
        assert_eq!(nanos("0"), Some(0));
        for wrong in ["", "ms", "-1", "1m", "1,5", "1e400", "nan", "inf", "1 2", "1e12s"] {
            assert_eq!(nanos(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn rounding_adds_at_most_a_thousandth(nanos in 0_u64..u64::MAX / 2) {
            let rounded = rounded(Duration::from_nanos(nanos));
            prop_assert!(rounded >= nanos && rounded - nanos <= nanos / 1000);
        }
    }
}
