//! Loads as users write them: `1400@10s+2800@5s+closed:4`.

use std::time::Duration;

use thiserror::Error;

use super::load::{RequestLoad, Stage};

/// The forms of loads, for people.
pub const LOADS: &str = "RATE (requests a second, a Poisson process), closed:CLIENTS[:THINK], \
                         bursty:RATE:TIMES:SHARE%:LENGTH";

/// The error for a text that is not a load.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("load {load:?}: expected {what}")]
pub struct LoadError {
    load: String,
    what: String,
}

/// Parses loads: stages with `+` between them, each with `@` and its length, except for a last one
/// that lasts to the end of the run. After the last stage comes the first again.
///
/// # Errors
/// If it is not a load: [`LoadError`].
pub fn parse_loads(text: &str) -> Result<Vec<Stage>, LoadError> {
    stages(text).map_err(|what| LoadError { load: text.to_owned(), what })
}

fn stages(text: &str) -> Result<Vec<Stage>, String> {
    let stages = text.split('+').map(stage).collect::<Result<Vec<Stage>, String>>()?;
    if let [first @ .., _] = &stages[..]
        && first.iter().any(|stage| stage.length.is_none())
    {
        return Err("a length (@10s) of every stage but the last".to_owned());
    }
    Ok(stages)
}

fn stage(text: &str) -> Result<Stage, String> {
    let (load, length) = text.split_once('@').unzip();
    let length = length.map(|length| {
        time_of(length.trim()).ok_or_else(|| format!("a length such as 10s, found {length:?}"))
    });
    let length = length.transpose()?;
    let stage = Stage { load: load_of(load.unwrap_or(text).trim())?, length };
    stage.check().map_err(str::to_owned)?;
    Ok(stage)
}

fn load_of(text: &str) -> Result<RequestLoad, String> {
    let load = parse_load(text);
    load.ok_or_else(|| format!("one of {LOADS}, found {text:?}"))
}

fn parse_load(text: &str) -> Option<RequestLoad> {
    match &text.split(':').collect::<Vec<&str>>()[..] {
        ["closed", clients, more @ ..] if more.len() <= 1 => {
            let think = more.first().map_or(Some(Duration::ZERO), |text| time_of(text))?;
            Some(RequestLoad::Closed { clients: clients.parse().ok()?, think })
        }
        ["bursty", rate, times, share, length] => Some(RequestLoad::Bursty {
            per_second: rate.parse().ok()?,
            times: times.parse().ok()?,
            share: share.strip_suffix('%')?.parse::<f64>().ok()? / 100.0,
            length: time_of(length)?,
        }),
        [rate] => Some(RequestLoad::Poisson { per_second: rate.parse().ok()? }),
        _ => None,
    }
}

/// Parses `2s`, `100ms`: more than 0.
pub(crate) fn time_of(text: &str) -> Option<Duration> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    units.into_iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?.parse::<f64>().ok()?;
        Duration::try_from_secs_f64(number * seconds).ok().filter(|span| !span.is_zero())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage_of(load: RequestLoad, length: Duration) -> Stage {
        Stage { load, length: Some(length) }
    }

    fn poisson(per_second: f64) -> RequestLoad {
        RequestLoad::Poisson { per_second }
    }

    #[test]
    fn every_form() {
        let loads = parse_loads("1400@10s + 0@500ms+bursty:900.5:4:10%:50ms@1s+closed:8:2ms");
        let secs = Duration::from_secs;
        let busy = RequestLoad::Bursty {
            per_second: 900.5,
            times: 4.0,
            share: 0.1,
            length: Duration::from_millis(50),
        };
        let closed = RequestLoad::Closed { clients: 8, think: Duration::from_millis(2) };
        let expected = vec![
            stage_of(poisson(1400.0), secs(10)),
            stage_of(poisson(0.0), Duration::from_millis(500)),
            stage_of(busy, secs(1)),
            Stage::of(closed),
        ];
        assert_eq!(loads, Ok(expected));
        assert_eq!(parse_loads("closed:1"), Ok(vec![Stage::SATURATED]));
    }

    #[test]
    fn what_is_no_load_is_refused_in_one_line() {
        for text in [
            "",
            "many",
            "-1",
            "nan",
            "inf",
            "closed",
            "closed:0",
            "closed:2:x",
            "closed:1:2s:3",
            "bursty:1:2:3%",
            "bursty:100:0.5:10%:50ms",
            "bursty:100:4:100%:50ms",
            "bursty:100:4:10:50ms",
            "1400@",
            "1400@0s",
            "1400@5",
            "1400+1500",
            "1400@1s+",
        ] {
            let error = parse_loads(text).unwrap_err().to_string();
            assert!(error.contains("expected") && error.lines().count() == 1, "{text}: {error}");
        }
    }
}
