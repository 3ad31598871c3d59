//! Warns of objectives for which a histogram's buckets are too coarse.

use std::time::Duration;

use fairways_command_kit::plain::plain;
use fairways_latency::{Bounds, UNBOUNDED};
use humantime::format_duration;

use super::{Config, ProgramConfig};

/// A bucket wider than this share of the objective is worth a warning.
const COARSE: u32 = 4;

/// A line for each objective that lies well within a bucket, with the bucket's bounds. Fetches the
/// pages of latency sources over HTTP to find the buckets.
pub(super) fn too_coarse(config: &Config) -> Vec<String> {
    config.program.iter().filter_map(of_program).collect()
}

fn of_program(program: &ProgramConfig) -> Option<String> {
    let spec = program.latency.as_ref()?.value.as_ref()?;
    let slo = program.objective.as_ref()?.value.slo;
    let name = plain(&program.name);
    match spec.bucket_around(slo) {
        Ok(around) => {
            around.and_then(|bounds| of_bounds(slo, bounds)).map(|line| format!("{name}: {line}"))
        }
        Err(why) => {
            let unknown = "whether its histogram is fine enough for its objective is not known";
            Some(format!("{name}: {unknown}: {}", plain(&why)))
        }
    }
}

fn of_bounds(slo: Duration, (above, bound): Bounds) -> Option<String> {
    let (objective, above_text) = (format_duration(slo), format_duration(above));
    if bound == UNBOUNDED {
        return Some(format!(
            "its objective of {objective} is beyond the last bound of its histogram, {above_text}: every slower request counts as one \
             that missed it; choose an objective up to {above_text}, or add a bucket"
        ));
    }
    if bound == slo || bound - above <= slo / COARSE {
        return None;
    }
    let nearest = match above.is_zero() {
        true => format_duration(bound).to_string(),
        false => format!("{above_text} or {}", format_duration(bound)),
    };
    Some(format!(
        "its objective of {objective} lies between two bounds of its histogram, {above_text} and {}: where requests lie in between is \
         estimated; an objective of {nearest} is judged exactly",
        format_duration(bound)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn an_objective_is_coarse_well_within_a_bucket() {
        let warning =
            |slo: u32, above: u32, bound: u32| of_bounds(MS * slo, (MS * above, MS * bound));
        assert_eq!(warning(25, 10, 25), None, "on a bound");
        assert_eq!(warning(100, 90, 110), None, "fine enough");
        assert_eq!(
            warning(20, 10, 25).unwrap(),
            "its objective of 20ms lies between two bounds of its histogram, 10ms and 25ms: where requests lie in between is estimated; \
             an objective of 10ms or 25ms is judged exactly"
        );
        assert!(warning(3, 0, 5).unwrap().ends_with("an objective of 5ms is judged exactly"));
        let beyond = of_bounds(MS * 20, (MS * 10, UNBOUNDED)).unwrap();
        assert!(beyond.contains("beyond the last bound of its histogram, 10ms"), "{beyond}");
    }
}
