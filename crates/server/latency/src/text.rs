//! The text formats of Prometheus and OpenMetrics, as far as a histogram's buckets need them.
//!
//! Sources: OpenMetrics 1.0, "Text format" and "Histogram"; Prometheus' "Exposition formats". Both
//! write `name_bucket{label="value",le="bound"} count`, then perhaps a time and an exemplar.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};
use std::time::Duration;

use super::UNBOUNDED;
use super::bounded::{Trouble, broken};
use super::histogram::Histogram;

/// The most bytes of a line, and buckets of a histogram: what is kept of a page has a limit.
const LONGEST_LINE: u64 = 16 << 10;
const MOST_BUCKETS: usize = 1 << 14;

/// A label and its value.
pub(super) type Label = (String, String);

/// Reads `name="value",...` up to the closing brace; `None` if it has another form. Returns the
/// labels and the rest.
pub(super) fn labels(mut text: &str) -> Option<(Vec<Label>, &str)> {
    let mut labels = Vec::new();
    loop {
        text = text.trim_start_matches([' ', ',']);
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, rest) = text.split_once('=')?;
        let mut characters = rest.trim_start().strip_prefix('"')?.chars();
        let mut value = String::new();
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => match characters.next()? {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                other => value.push(other),
            }
        }
        labels.push((name.trim().to_owned(), value));
        text = characters.as_str();
    }
}

/// The sum of the series of the histogram `name` that have all the `labels`; its bounds are in
/// units of `unit`.
///
/// # Errors
/// If there is no such series, or one can't be read.
pub(super) fn histogram(
    mut text: impl BufRead,
    name: &str,
    required: &[Label],
    unit: Duration,
) -> Result<Histogram, Trouble> {
    let (mut bytes, mut buckets) = (Vec::new(), 0);
    let mut series: BTreeMap<Vec<Label>, BTreeMap<Duration, u64>> = BTreeMap::new();
    for number in 1_u64.. {
        bytes.clear();
        let read = text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        if read.map_err(|why| Trouble::at(name, &why))? == 0 {
            break;
        }
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 == LONGEST_LINE {
            let expected = format!("line {number}: expected at most {LONGEST_LINE} bytes");
            return Err(Trouble::at(name, &broken(expected)));
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\r', '\n']);
        let rest = line.strip_prefix(name).and_then(|rest| rest.strip_prefix("_bucket{"));
        let Some(rest) = rest else { continue };
        let unreadable = || format!("{name}: line {number} is no bucket of a histogram");
        let (mut labels, rest) = labels(rest).ok_or_else(unreadable)?;
        if !required.iter().all(|label| labels.contains(label)) {
            continue;
        }
        let le = labels.iter().position(|(name, _)| name == "le").ok_or_else(unreadable)?;
        let bound = bound(&labels.swap_remove(le).1, unit).ok_or_else(unreadable)?;
        let requests = rest.split_whitespace().next().and_then(count).ok_or_else(unreadable)?;
        buckets += 1;
        if buckets > MOST_BUCKETS {
            let expected = format!("expected at most {MOST_BUCKETS} buckets");
            return Err(Trouble::at(name, &broken(expected)));
        }
        labels.sort_unstable();
        series.entry(labels).or_default().insert(bound, requests);
    }
    if series.is_empty() {
        return Err(format!("no histogram {name} with the requested labels is reported").into());
    }
    let mut sum = Histogram::default();
    for (labels, buckets) in &series {
        sum.add_cumulative(format!("{labels:?}"), buckets, |_| Duration::ZERO)
            .ok_or_else(|| format!("{name}: a bucket counts fewer than a shorter one"))?;
    }
    Ok(sum)
}

fn bound(text: &str, unit: Duration) -> Option<Duration> {
    let bound: f64 = text.parse().ok()?;
    if bound == f64::INFINITY {
        return Some(UNBOUNDED);
    }
    Duration::try_from_secs_f64(bound * unit.as_secs_f64()).ok()
}

/// A count, which may be written as `17`, `17.0` or `1.7e+01`.
fn count(text: &str) -> Option<u64> {
    if let Ok(count) = text.parse() {
        return Some(count);
    }
    let count: f64 = text.parse().ok().filter(|count: &f64| count.fract() == 0.0)?;
    // Whole seconds, to the last digit that an f64 keeps.
    Duration::try_from_secs_f64(count).ok().map(|seconds| seconds.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The bounds of the histogram below, in thousandths of its unit.
    const BOUNDS: [u32; 2] = [5, 100];

    const METRICS: &str = r#"# HELP rpc_duration_seconds Time.
# TYPE rpc_duration_seconds histogram
rpc_duration_seconds_bucket{handler="/",code="200",le="0.005"} 10
rpc_duration_seconds_bucket{handler="/",code="200",le="0.1"} 12.0
rpc_duration_seconds_bucket{handler="/",code="200",le="+Inf"} 13 # {trace="a{b\""} 7 1520879607.789
rpc_duration_seconds_sum{handler="/",code="200"} 9
rpc_duration_seconds_bucket{le="0.005",code="500",handler="/"} 1e+00 1520879607789
rpc_duration_seconds_bucket{le="+Inf",code="500",handler="/"} 1
rpc_duration_seconds_bucket{handler="/a,\"}\\",le="+Inf"} 100
rpc_duration_seconds_bucket_bucket{le="1"} nonsense
# EOF
"#;

    fn labels_of(text: &str) -> Vec<Label> {
        labels(text).unwrap().0
    }

    fn read(wanted: &str, unit: Duration) -> Result<Vec<(Duration, u64)>, Trouble> {
        let histogram =
            histogram(METRICS.as_bytes(), "rpc_duration_seconds", &labels_of(wanted), unit)?;
        let grown = histogram.since(&Histogram::default()).unwrap();
        let mut sums = BTreeMap::new();
        for answered in grown {
            let bound = BOUNDS.into_iter().find(|&bound| answered.latency <= unit * bound / 1000);
            let bound = bound.map_or(UNBOUNDED, |bound| unit * bound / 1000);
            *sums.entry(bound).or_default() += answered.requests;
        }
        Ok(sums.into_iter().collect())
    }

    #[test]
    fn the_series_that_match_are_summed() {
        let ms = Duration::from_millis;
        let both = read(r#"handler="/"}"#, SECOND).unwrap();
        assert_eq!(both, [(ms(5), 11), (ms(100), 2), (UNBOUNDED, 1)]);
        let one = read(r#"code="500"}"#, SECOND).unwrap();
        assert_eq!(one, [(ms(5), 1)]);
        let odd = read(r#"handler="/a,\"}\\"}"#, SECOND).unwrap();
        assert_eq!(odd, [(UNBOUNDED, 100)]);
    }

    #[test]
    fn bounds_have_the_requested_unit() {
        let micros = Duration::from_micros;
        let both = read(r#"handler="/"}"#, Duration::from_millis(1)).unwrap();
        assert_eq!(both, [(micros(5), 11), (micros(100), 2), (UNBOUNDED, 1)]);
    }

    #[test]
    fn a_missing_or_broken_histogram_is_an_error() {
        assert!(read(r#"handler="/b"}"#, SECOND).unwrap_err().to_string().contains("no histogram"));
        for wrong in [
            "x_bucket{le=\"1\"} -1",
            "x_bucket{le=\"1\"} 1.5",
            "x_bucket{le=\"1\"}",
            "x_bucket{le=\"-1\"} 1",
            "x_bucket{le=\"NaN\"} 1",
            "x_bucket{a=\"1\"} 1",
            "x_bucket{le=\"1\" 1",
            "x_bucket{le=\"1\"} 2\nx_bucket{le=\"2\"} 1",
        ] {
            let error = histogram(wrong.as_bytes(), "x", &[], SECOND).unwrap_err().to_string();
            assert!(!error.contains('\n') && !error.is_empty(), "{error}");
        }
    }
    fn breaks_limit(text: String) -> bool {
        matches!(histogram(text.as_bytes(), "x", &[], SECOND), Err(Trouble::Limit(_)))
    }

    fn series(count: usize) -> String {
        (0..count)
            .map(|number| format!("x_bucket{{a=\"{number}\",le=\"+Inf\"}} 1\n"))
            .collect::<String>()
    }

    #[test]
    fn too_large_a_page_breaks_a_limit() {
        assert!(!breaks_limit(series(MOST_BUCKETS)));
        assert!(breaks_limit(series(MOST_BUCKETS + 1)));
        assert!(breaks_limit("x".repeat(1 << 20)));
    }
}
