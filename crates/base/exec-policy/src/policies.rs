//! Policies by name, with parameters.

use std::str::FromStr;

use fairways_command_kit::BadInput;
use fairways_command_kit::similar::did_you_mean;
use fairways_core::Policy;
use fairways_policy::parameter::{self, Parameter, ValueKind};
use fairways_policy::table::{ConfiguredPolicy, OwnerRequest};
use fairways_policy::{Descriptor, NAMES, POLICIES};
use serde_json::{Map, Value};

pub use crate::parameters::json_of as json;
use crate::{PREFIX, described, descriptor};

/// The policy of this name. A program is started, and asked to describe itself.
///
/// # Errors
/// If no policy has this name, or the program does not describe itself.
pub fn known(name: &str) -> Result<&'static Descriptor, BadInput> {
    if is_program(name) {
        return described(name, false).map_err(BadInput);
    }
    descriptor(name).ok_or_else(|| {
        let (known, meant) = (NAMES.join(", "), did_you_mean(name, NAMES));
        BadInput(format!("expected one of {known} or exec:COMMAND, found {name:?}{meant}"))
    })
}

/// Whether a policy's name is that of a program, `exec:COMMAND`.
#[must_use]
pub fn is_program(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Whether the policy of this name honours that request of owners.
pub fn honours(name: &str, what: OwnerRequest) -> bool {
    descriptor(name).is_some_and(|policy| policy.honours(what))
}

/// The names of the policies that meet a condition: `a, b or c`.
pub fn names(so: impl Fn(&Descriptor) -> bool) -> String {
    let names: Vec<&str> =
        POLICIES.iter().filter(|policy| so(policy)).map(|policy| policy.name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The policy with this name and these parameters, and the values of all its parameters,
/// defaults included.
///
/// # Errors
/// If the policy does not exist, or lacks a parameter, or a parameter can't have that value.
pub fn make(name: &str, given: Map<String, Value>) -> Result<(Box<dyn Policy>, Value), BadInput> {
    let policy = known(name)?;
    let values: Vec<(&str, parameter::Value<'_>)> = given
        .iter()
        .map(|(parameter, value)| read(policy, parameter, value))
        .collect::<Result<_, BadInput>>()?;
    let made = policy.make(&values);
    let all = all_of(&made);
    Ok((made.policy, all))
}

/// The values of all parameters.
fn all_of(made: &ConfiguredPolicy) -> Value {
    made.parameters.iter().map(|&(name, value)| (name.to_owned(), json(value))).collect()
}

/// Reads a parameter by its name and its JSON value; times are whole nanoseconds.
fn read(
    policy: &Descriptor,
    name: &str,
    value: &Value,
) -> Result<(&'static str, parameter::Value<'static>), BadInput> {
    let parameter = policy.parameter(name).ok_or_else(|| {
        let known: Vec<&str> = policy.parameters.iter().map(|of| &*of.name).collect();
        let meant = did_you_mean(name, known.iter().copied());
        let known = match &*known {
            [] => "none".to_owned(),
            known => format!("one of {}", known.join(", ")),
        };
        BadInput(format!("parameters of {}: expected {known}, found {name:?}{meant}", policy.name))
    })?;
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let value = parameter.read(&text).map_err(|expected| {
        let found = found(parameter, value, text);
        BadInput(format!("parameter {name} of {}: expected {expected}, found {found}", policy.name))
    })?;
    Ok((&parameter.name, value))
}

/// A wrong value in an error message, as users write it.
fn found(parameter: &Parameter, value: &Value, text: String) -> String {
    match (&parameter.kind, value.as_u64()) {
        (ValueKind::Time, Some(nanos)) => {
            parameter::Value::Time(std::time::Duration::from_nanos(nanos)).to_string()
        }
        _ => text,
    }
}

/// A parameter that is set: `NAME=VALUE`. A time may have a unit: `500ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameter's name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, set) =
            text.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, found {text:?}"))?;
        Ok(Self { name: name.trim().to_owned(), value: value(set.trim()) })
    }
}

/// The parameters that `--set` sets, by name.
///
/// # Errors
/// If a name is set twice.
pub fn parameters(settings: &[Setting]) -> Result<Map<String, Value>, BadInput> {
    let mut parameters = Map::new();
    for Setting { name, value } in settings {
        if parameters.insert(name.clone(), value.clone()).is_some() {
            return Err(BadInput(format!("--set: expected each name once, found {name:?} twice")));
        }
    }
    Ok(parameters)
}

/// Parameters for several policies, each of which gets those that it has.
#[derive(Clone, Debug, Default)]
pub struct SharedParameters(Map<String, Value>);

impl SharedParameters {
    /// Checks that each parameter is one of these policies', and has a value that all of them that
    /// have it take.
    ///
    /// # Errors
    /// If one is not.
    pub fn new(settings: &[Setting], policies: &[&str]) -> Result<Self, BadInput> {
        let all = parameters(settings)?;
        for (name, value) in &all {
            let mut is_known = false;
            for policy in policies.iter().filter_map(|policy| descriptor(policy)) {
                if policy.parameter(name).is_some() {
                    read(policy, name, value)?;
                    is_known = true;
                }
            }
            if !is_known {
                let policies = policies.join(", ");
                let what = format!("--set: expected a parameter of {policies}, found {name:?}");
                return Err(BadInput(what));
            }
        }
        Ok(Self(all))
    }

    /// The policy of this name, if there is one, with those parameters that it has.
    #[must_use]
    pub fn make(&self, policy: &str) -> Option<Box<dyn Policy>> {
        Some(self.configured(policy)?.policy)
    }

    /// The values of all parameters of the policy of this name, if there is one.
    #[must_use]
    pub fn all(&self, policy: &str) -> Option<Value> {
        Some(all_of(&self.configured(policy)?))
    }

    /// The policy of this name with its parameters, if there is one.
    #[must_use]
    pub fn configured(&self, policy: &str) -> Option<ConfiguredPolicy> {
        let policy = descriptor(policy)?;
        let of_policy = self.0.iter().filter(|(name, _)| policy.parameter(name).is_some());
        let values = of_policy.filter_map(|(name, value)| read(policy, name, value).ok());
        Some(policy.make(&values.collect::<Vec<_>>()))
    }
}

/// A value as it was written: a switch, a whole number, a time in nanoseconds, or a text.
pub fn value(text: &str) -> Value {
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
        let settings = flags.iter().map(|flag| flag.parse().map_err(BadInput));
        let settings = settings.collect::<Result<Vec<Setting>, BadInput>>()?;
        make(policy, parameters(&settings)?).map(|(_, all)| all)
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
        assert!(
            error.contains("profile_period of kpart: expected a whole number, at least 1"),
            "{error}"
        );
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
            (&["normal_window=0"], "a whole number, at least 1, found 0"),
            (&["decision_period=0s"], "expected a time such as 500ms, at least 1ms, found 0s"),
            (&["decision_period=1"], "decision_period of lfoc: expected a time such as"),
            (&["decision_period=1"], "at least 1ms, found 1ns"),
            (&["pair_clustering=1"], "expected true or false, found 1"),
            (&["reference=wholecache"], "expected best or whole-cache, found wholecache"),
        ] {
            let error = set(flags).unwrap_err().to_string();
            assert!(error.contains(said) && error.lines().count() == 1, "{flags:?}: {error}");
        }
        assert!(all_of("stock", &["a=1"]).is_err());
    }
}
