//! What an emulator answers. Fields that a host does not need are passed over.

use fairways_core::{Counters, LatencyBin};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClockState {
    Paced,
    Lockstep,
    Held,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Status {
    pub(crate) now_ns: u64,
    pub(crate) clock: ClockState,
    /// How many programs run.
    pub(crate) running: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ProgramCounters {
    pub(crate) pid: i32,
    pub(crate) counters: Counters,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ProgramLatencies {
    /// Since it started; `None`: it is no service.
    pub(crate) answered: Option<Vec<LatencyBin>>,
}

/// The requested field of an answer.
pub(crate) fn field<T: DeserializeOwned>(line: &str, name: &str) -> Result<T, String> {
    let found = || line.trim_end().chars().take(200).collect::<String>();
    let mut answer: Value =
        serde_json::from_str(line).map_err(|_| format!("expected JSON, found {:?}", found()))?;
    if let Some(why) = answer.get("error").and_then(Value::as_str) {
        return Err(why.to_owned());
    }
    let value = answer.get_mut(name).map(Value::take);
    let value = value.ok_or_else(|| format!("expected {name}, found {:?}", found()))?;
    serde_json::from_value(value).map_err(|why| format!("{name}: {why}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_is_reported_in_a_line() {
        for (line, said) in [
            ("", "expected JSON"),
            ("{}", "expected status, found \"{}\""),
            (r#"{"error":"advance: hold the clock first"}"#, "advance: hold the clock first"),
            (r#"{"status":{"now_ns":-1}}"#, "status: "),
        ] {
            let why = field::<Status>(line, "status").unwrap_err();
            assert!(why.contains(said), "{why}");
        }
        let line = r#"{"status":{"now_ns":5,"clock":"held","running":2,"schema":1}}"#;
        let status = field::<Status>(line, "status").unwrap();
        assert_eq!((status.now_ns, status.clock, status.running), (5, ClockState::Held, 2));
    }

    #[test]
    fn a_counter_that_is_null_is_missing() {
        let line =
            r#"{"counters":[{"pid":7,"name":"a","counters":{"instructions":3,"cycles":null}}]}"#;
        let all: Vec<ProgramCounters> = field(line, "counters").unwrap();
        assert_eq!(all[0].counters.instructions, Some(3));
        assert_eq!((all[0].counters.cycles, all[0].counters.llc_misses), (None, None));
    }
}
