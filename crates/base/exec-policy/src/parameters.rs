//! The parameters that a program describes.

use std::borrow::Cow;
use std::time::Duration;

use fairways_core::Q32;
use fairways_policy::parameter::{self, Parameter, ValueKind};
use serde::Deserialize;
use serde_json::Value;

use crate::check::text;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DescribedParameter {
    pub(crate) name: String,
    kind: ParameterKind,
    #[serde(default)]
    words: Vec<String>,
    default: Value,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    least: Option<Value>,
    #[serde(default)]
    most: Option<Value>,
    #[serde(default)]
    help: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ParameterKind {
    Switch,
    Count,
    Fraction,
    Time,
    Word,
}

impl DescribedParameter {
    /// The parameter, and its default, which it reads.
    pub(crate) fn read(self) -> Result<(Parameter, String), String> {
        if !is_name(&self.name) {
            return Err("expected a name of small letters, digits and _".to_owned());
        }
        for shown in [&self.unit, &self.help].into_iter().chain(&self.words) {
            text("text", shown)?;
        }
        let kind = match self.kind {
            ParameterKind::Switch => ValueKind::Switch,
            ParameterKind::Count => ValueKind::Count,
            ParameterKind::Fraction => ValueKind::Fraction,
            ParameterKind::Time => ValueKind::Time,
            ParameterKind::Word if self.words.is_empty() => {
                return Err("words: expected at least one".to_owned());
            }
            ParameterKind::Word => {
                ValueKind::Word(self.words.into_iter().map(Cow::Owned).collect())
            }
        };
        let bounds = [("least", &self.least), ("most", &self.most)];
        let [least, most] = bounds.map(|(of, bound)| self.kind.bound(of, bound.as_ref()));
        let bounds = [least?, most?];
        let parameter = Parameter::of_program(self.name, kind, self.unit, bounds, self.help);
        if let [Some(least), Some(most)] = parameter.bounds()
            && bounds[0] > bounds[1]
        {
            return Err(format!("least: expected at most {most} (`most`), found {least}"));
        }
        let default = written(&self.default);
        let found = match self.kind {
            ParameterKind::Time => of_nanos(&default).ok_or_else(|| {
                format!("default: expected whole nanoseconds, found {}", self.default)
            })?,
            _ => default.clone(),
        };
        parameter
            .read(&default)
            .map_err(|expected| format!("default: expected {expected}, found {found}"))?;
        Ok((parameter, default))
    }
}

impl ParameterKind {
    /// The size of a bound, as [`Parameter::least`] has it; `of` is its name.
    fn bound(self, of: &str, bound: Option<&Value>) -> Result<Option<u64>, String> {
        let Some(value) = bound.filter(|value| !value.is_null()) else { return Ok(None) };
        let (size, expected) = match self {
            Self::Switch | Self::Word => {
                return Err(format!("{of}: expected only with a count, a fraction or a time"));
            }
            Self::Fraction => (written(value).parse().ok().map(Q32::raw), "a number"),
            Self::Count => (value.as_u64(), "a whole number"),
            Self::Time => (value.as_u64(), "whole nanoseconds"),
        };
        size.map(Some).ok_or_else(|| format!("{of}: expected {expected}, found {value}"))
    }
}

/// A number of nanoseconds as people see it.
fn of_nanos(text: &str) -> Option<String> {
    let time = Duration::from_nanos(text.parse().ok()?);
    Some(parameter::Value::Time(time).to_string())
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name
            .chars()
            .all(|letter| letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit())
}

/// A parameter's value as journals have it: times as whole nanoseconds, fractions as text.
#[must_use]
pub fn json_of(value: parameter::Value<'_>) -> Value {
    match value {
        parameter::Value::Switch(is) => is.into(),
        parameter::Value::Count(count) => count.into(),
        parameter::Value::Fraction(number) => number.to_string().into(),
        parameter::Value::Time(time) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).into(),
        parameter::Value::Word(word) => word.into(),
    }
}

/// A JSON value as a parameter is read.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
