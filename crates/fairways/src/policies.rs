//! Policies by name, with parameters.

use fairways_core::Policy;
use fairways_policy::by_name;
use fairways_policy::cache_fair::{self, CacheFair};
use fairways_policy::casc::{self, Casc};
use fairways_policy::dcat::{self, Dcat};
use fairways_policy::dunn::{self, Dunn};
use fairways_policy::kpart::{self, KPart};
use fairways_policy::lfoc::{self, Lfoc};
use fairways_policy::locpart::{self, Locpart};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::BadInput;
use crate::similar::did_you_mean;

/// Parameters of which there must be some: spans of no length would follow each other without end.
const SPANS: [&str; 6] =
    ["normal_window", "sampling_window", "profile_period", "w", "least_requests", "longest_window"];

/// Those that are times: a number without a unit is of nanoseconds, which nobody means.
const TIMES: [&str; 3] = ["decision_period", "period", "t_sched"];
const MILLISECOND: u64 = 1_000_000;

/// The policy with this name and these parameters, and all its parameters, those that were not
/// named with their defaults.
pub(crate) fn make(
    name: &str,
    parameters: Map<String, Value>,
) -> Result<(Box<dyn Policy>, Value), BadInput> {
    if let "lfoc" | "lfoc-plus" = name {
        let plus = name == "lfoc-plus";
        let default = if plus { lfoc::Parameters::plus() } else { lfoc::Parameters::default() };
        let (parameters, all) = set(name, default, parameters)?;
        return Ok((Box::new(Lfoc::new(parameters)), all));
    }
    if name == "dcat" {
        let (parameters, all) = set(name, dcat::Parameters::default(), parameters)?;
        return Ok((Box::new(Dcat::new(parameters)), all));
    }
    if name == "locpart" {
        let (parameters, all) = set(name, locpart::Parameters::default(), parameters)?;
        return Ok((Box::new(Locpart::new(parameters)), all));
    }
    if name == "casc" {
        let (parameters, all) = set(name, casc::Parameters::default(), parameters)?;
        return Ok((Box::new(Casc::new(parameters)), all));
    }
    if name == "cache-fair" {
        let (parameters, all) = set(name, cache_fair::Parameters::default(), parameters)?;
        return Ok((Box::new(CacheFair::new(parameters)), all));
    }
    if name == "dunn" {
        let (parameters, all) = set(name, dunn::Parameters::default(), parameters)?;
        return Ok((Box::new(Dunn::new(parameters)), all));
    }
    if name == "kpart" {
        let (parameters, all) = set(name, kpart::Parameters::default(), parameters)?;
        return Ok((Box::new(KPart::new(parameters)), all));
    }
    if let Some(parameter) = parameters.keys().next() {
        let said = format!("parameters of {name}: expected none, found {parameter:?}");
        return Err(BadInput(said));
    }
    let policy = by_name(name).ok_or_else(|| {
        let known = fairways_policy::NAMES.join(", ");
        let meant = did_you_mean(name, fairways_policy::NAMES);
        BadInput(format!("expected a policy of {known}, found {name:?}{meant}"))
    })?;
    Ok((policy, Value::Object(parameters)))
}

/// The parameters of the policy `policy`: those `given`, the others as they are.
fn set<P: Copy + Serialize + DeserializeOwned>(
    policy: &str,
    mut parameters: P,
    given: Map<String, Value>,
) -> Result<(P, Value), BadInput> {
    let mut all = serde_json::to_value(parameters).map_err(|error| BadInput(error.to_string()))?;
    for (name, value) in given {
        let Some(slot) = all.get_mut(&name) else {
            let known = all.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
            let known = known.collect::<Vec<_>>();
            let (meant, known) = (did_you_mean(&name, known.iter().copied()), known.join(", "));
            let said =
                format!("parameters of {policy}: expected one of {known}, found {name:?}{meant}");
            return Err(BadInput(said));
        };
        if TIMES.contains(&name.as_str()) && value.as_u64().is_some_and(|nanos| nanos < MILLISECOND)
        {
            let said =
                format!("parameter {name} of {policy}: expected at least 1ms, found {value} (ns)");
            return Err(BadInput(said));
        }
        if SPANS.contains(&name.as_str()) && value == 0 {
            let said = format!("parameter {name} of {policy}: expected at least 1, found 0");
            return Err(BadInput(said));
        }
        *slot = value;
        parameters = serde_json::from_value(all.clone())
            .map_err(|error| BadInput(format!("parameter {name} of {policy}: {error}")))?;
    }
    // As it is understood, not as it was written.
    let all = serde_json::to_value(parameters).map_err(|error| BadInput(error.to_string()))?;
    Ok((parameters, all))
}

/// The parameters that `NAME=VALUE` flags name. A span of time may have a unit: `500ms`.
pub(crate) fn parse(flags: &[String]) -> Result<Map<String, Value>, BadInput> {
    let mut parameters = Map::new();
    for flag in flags {
        let (name, text) = flag
            .split_once('=')
            .ok_or_else(|| BadInput(format!("--set: expected NAME=VALUE, found {flag:?}")))?;
        if parameters.insert(name.trim().to_owned(), value(text.trim())).is_some() {
            return Err(BadInput(format!("--set: expected each name once, found {name:?} twice")));
        }
    }
    Ok(parameters)
}

fn value(text: &str) -> Value {
    if let Ok(value @ (Value::Bool(_) | Value::Number(_))) = serde_json::from_str(text)
        && !value.is_f64()
    {
        return value;
    }
    let span =
        humantime::parse_duration(text).ok().filter(|_| !text.starts_with(char::is_alphabetic));
    match span.and_then(|span| u64::try_from(span.as_nanos()).ok()) {
        Some(nanos) => nanos.into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(policy: &str, flags: &[&str]) -> Result<Value, BadInput> {
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        make(policy, parse(&flags)?).map(|(_, all)| all)
    }

    fn set(flags: &[&str]) -> Result<Value, BadInput> {
        all_of("lfoc", flags)
    }

    #[test]
    fn parameters_carry_the_papers_names_and_defaults() {
        let all = set(&[]).unwrap();
        assert_eq!(all["high_threshold"], "10");
        assert_eq!(all["warm_up_intervals"], 3);
        assert_eq!(all["decision_period"], 500_000_000);
    }

    #[test]
    fn every_parameter_stands_in_the_documentation_with_its_default() {
        let text = include_str!("../../../docs/run.md");
        let sections = [
            ("lfoc", "of LFOC"),
            ("dcat", "of dCat"),
            ("locpart", "of Locpart"),
            ("dunn", "of Dunn"),
            ("kpart", "of KPart"),
        ];
        for (policy, heading) in sections {
            let start = text.find(&format!("## Parameters {heading}\n")).unwrap();
            let section = text[start + 3..].split("\n## ").next().unwrap();
            for (name, value) in all_of(policy, &[]).unwrap().as_object().unwrap() {
                let value = match (name.as_str(), value.as_str()) {
                    ("decision_period" | "t_sched", _) => "500ms".to_owned(),
                    ("period", _) => "1s".to_owned(),
                    (_, Some(text)) => text.to_owned(),
                    (_, None) => value.to_string(),
                };
                let row = format!("| `{name}` | {value} |");
                assert!(section.contains(&row), "{policy}: {name}: {value}");
            }
        }
    }

    #[test]
    fn every_policy_that_has_parameters_takes_them() {
        assert_eq!(all_of("lfoc-plus", &[]).unwrap()["pair_clustering"], true);
        let dcat = all_of("dcat", &["objective=max-performance", "ipc_imp_thr=2.5"]).unwrap();
        assert_eq!(
            (&dcat["objective"], &dcat["ipc_imp_thr"]),
            (&"max-performance".into(), &"2.5".into())
        );
        assert_eq!(all_of("dunn", &["textbook_index=true"]).unwrap()["textbook_index"], true);
        let kpart = all_of("kpart", &["profile_period=1000000"]).unwrap();
        assert_eq!(
            (&kpart["profile_period"], &kpart["averaged_profiles"]),
            (&1_000_000.into(), &4.into())
        );
        let error = all_of("kpart", &["profile_period=0"]).unwrap_err().to_string();
        assert!(error.contains("profile_period of kpart: expected at least 1"), "{error}");
    }

    #[test]
    fn a_parameter_is_a_number_a_span_or_a_word() {
        let flags = ["high_threshold=12.5", "decision_period=250ms", "reference=whole-cache"];
        let all = set(&flags).unwrap();
        assert_eq!(all["high_threshold"], "12.5");
        assert_eq!(all["decision_period"], 250_000_000);
        assert_eq!(all["reference"], "whole-cache");
        assert_eq!(set(&["high_threshold=12"]).unwrap()["high_threshold"], "12");
    }

    #[test]
    fn what_is_no_parameter_is_refused_in_one_line() {
        for (flags, said) in [
            (&["nonesuch=1"][..], "found \"nonesuch\""),
            (&["warm_up_intervals=-1"], "warm_up_intervals"),
            (&["warm_up_intervals"], "NAME=VALUE"),
            (&["warm_up_intervals=1", "warm_up_intervals=2"], "twice"),
            (&["high_threshold=many"], "high_threshold"),
            (&["normal_window=0"], "normal_window of lfoc: expected at least 1"),
            (&["decision_period=0s"], "decision_period of lfoc: expected at least 1ms"),
            (
                &["decision_period=1"],
                "decision_period of lfoc: expected at least 1ms, found 1 (ns)",
            ),
        ] {
            let error = set(flags).unwrap_err().to_string();
            assert!(error.contains(said) && error.lines().count() == 1, "{flags:?}: {error}");
        }
        assert!(make("stock", parse(&["a=1".to_owned()]).unwrap()).is_err());
    }
}
