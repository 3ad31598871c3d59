//! Objectives as users write them: `p99.9:2ms@10s+1ms`.

use std::time::Duration;

use fairways_core::{Objective, Q32, Time};

/// The shortest and the longest latency: from a microsecond to an hour.
const LEAST: Duration = Duration::from_micros(1);
const MOST: Duration = Duration::from_secs(3600);

/// Parses objectives, each with the time from which it applies: stages with `+` between them. Each
/// stage has `@` and its length, except the last, which stays.
///
/// # Errors
/// If it is not a list of objectives: what was expected.
pub fn parse(text: &str) -> Result<Vec<(Time, Objective)>, String> {
    let stages: Vec<&str> = text.split('+').collect();
    let mut from = Time::ZERO;
    let mut objectives = Vec::with_capacity(stages.len());
    for (index, stage) in stages.iter().enumerate() {
        let (what, length) = stage.split_once('@').map_or((*stage, None), |(a, b)| (a, Some(b)));
        objectives.push((from, objective(what.trim())?));
        match (length, index + 1 == stages.len()) {
            (None, true) => {}
            (Some(length), false) => {
                let message = || format!("expected a length such as 10s, found {length:?}");
                from = from.after(time(length).ok_or_else(message)?);
            }
            (None, false) => {
                return Err(format!(
                    "expected a length (@10s) of every stage but the last, found {text:?}"
                ));
            }
            (Some(_), true) => {
                return Err(format!(
                    "expected no length of the last stage, which stays, found {text:?}"
                ));
            }
        }
    }
    Ok(objectives)
}

/// Parses one objective: `2ms`, for 99 % of requests, or `p99.9:2ms`.
///
/// # Errors
/// A description of the expected value.
pub fn objective(text: &str) -> Result<Objective, String> {
    let (percentile, slo) = match text.strip_prefix('p').and_then(|rest| rest.split_once(':')) {
        Some((percentile, slo)) => (self::percentile(percentile)?, slo),
        None => (Q32::from_int(99), text),
    };
    let slo = time(slo).filter(|slo| (LEAST..=MOST).contains(slo)).ok_or_else(|| {
        format!("expected a time from 1us to 1h, such as 2ms or p99.9:2ms, found {text:?}")
    })?;
    Ok(Objective { slo, percentile })
}

fn percentile(text: &str) -> Result<Q32, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && *number <= 100.0);
    // Rounded down: 99.9 % of 1000 requests are 999 of them.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
    let percentile = number.map(|number| Q32::from_raw((number * (1_u64 << 32) as f64) as u64));
    percentile.filter(|percentile| *percentile > Q32::default()).ok_or_else(|| {
        format!(
            "expected a percentile above 0 and up to 100, such as p99.9, found {:?}",
            format!("p{text}")
        )
    })
}

fn time(text: &str) -> Option<Duration> {
    humantime::parse_duration(text.trim()).ok().filter(|span| !span.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let ms = |ms, percentile| Objective { slo: Duration::from_micros(ms), percentile };
        let of = |text: &str| parse(text).unwrap();
        assert_eq!(of("2ms"), [(Time::ZERO, ms(2000, Q32::from_int(99)))]);
        assert_eq!(of("p99.9:1.5ms"), [(Time::ZERO, ms(1500, Q32::ratio(999, 10)))]);
        assert_eq!(of("p100:250us"), [(Time::ZERO, ms(250, Q32::from_int(100)))]);
        let changing = of("p95:2ms@10s + 1ms@500ms+p95:3ms");
        let at = |ms| Time::ZERO.after(Duration::from_millis(ms));
        let p95 = Q32::from_int(95);
        let expected = [
            (at(0), ms(2000, p95)),
            (at(10_000), ms(1000, Q32::from_int(99))),
            (at(10_500), ms(3000, p95)),
        ];
        assert_eq!(changing, expected);
    }

    #[test]
    fn what_is_no_objective_is_refused_in_one_line() {
        for text in [
            "",
            "2",
            "soon",
            "0ms",
            "-1ms",
            "999ns",
            "2h",
            "p0:2ms",
            "p101:2ms",
            "pnan:2ms",
            "p-1:2ms",
            "p1e-12:2ms",
            "p:2ms",
            "p99",
            "p99:",
            "99:2ms",
            "2ms+1ms",
            "2ms@10s",
            "2ms@0s+1ms",
            "2ms@soon+1ms",
            "2ms@10s+",
            "2ms@10s@5s+1ms",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("expected") && error.lines().count() == 1, "{text}: {error}");
        }
    }
}
