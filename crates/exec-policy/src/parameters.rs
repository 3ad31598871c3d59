//! The parameters that a program describes.

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
    /// The parameter, and its default.
    pub(crate) fn read(self) -> Result<(Parameter, parameter::Value), String> {
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
            ParameterKind::Word => {
                ValueKind::Word(Box::leak(self.words.into_iter().map(leaked).collect()))
            }
        };
        let bounds = [self.kind.bound(self.least.as_ref())?, self.kind.bound(self.most.as_ref())?];
        let (name, unit, help) = (leaked(self.name), leaked(self.unit), leaked(self.help));
        let parameter = Parameter::of_program(name, kind, unit, bounds, help);
        let default = written(&self.default);
        let value = parameter
            .read(&default)
            .map_err(|expected| format!("default: expected {expected}, found {default}"))?;
        Ok((parameter, value))
    }
}

impl ParameterKind {
    /// The size of a bound, as [`Parameter::least`] has it.
    fn bound(self, bound: Option<&Value>) -> Result<Option<u64>, String> {
        let Some(value) = bound.filter(|value| !value.is_null()) else { return Ok(None) };
        let size = match self {
            Self::Fraction => written(value).parse().ok().map(Q32::raw),
            _ => value.as_u64(),
        };
        size.map(Some).ok_or_else(|| format!("expected a number as a bound, found {value}"))
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name
            .chars()
            .all(|letter| letter == '_' || letter.is_ascii_lowercase() || letter.is_ascii_digit())
}

/// A parameter's value as journals have it: times as whole nanoseconds, fractions as text.
#[must_use]
pub fn json_of(value: parameter::Value) -> Value {
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

/// A text that lives as long as the process.
pub(crate) fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
