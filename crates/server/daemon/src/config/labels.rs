//! Selectors of pods by their labels, as kubectl takes them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Requirements, all of which a pod's labels must meet: `app=web,tier!=batch,gpu,!debug`.
///
/// Source: Kubernetes' "Labels and Selectors", equality-based requirements and existence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Has(String),
    Lacks(String),
    Is(String, String),
    /// Also met where there is no such label.
    IsNot(String, String),
}

impl LabelSelector {
    /// Whether labels meet every requirement.
    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::Has(key) => labels.contains_key(key),
            Requirement::Lacks(key) => !labels.contains_key(key),
            Requirement::Is(key, value) => labels.get(key) == Some(value),
            Requirement::IsNot(key, value) => labels.get(key) != Some(value),
        })
    }
}

impl FromStr for LabelSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = text.split(',').map(|one| requirement(one.trim())).collect::<Option<_>>();
        all.map(Self).ok_or_else(|| {
            format!("expected labels such as \"app=web,tier!=batch,gpu,!debug\", found {text:?}")
        })
    }
}

fn requirement(text: &str) -> Option<Requirement> {
    if let Some((of, is_not)) = text.split_once("!=") {
        return Some(Requirement::IsNot(key(of)?, value(is_not)?));
    }
    if let Some((of, is)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Some(Requirement::Is(key(of)?, value(is)?));
    }
    match text.strip_prefix('!') {
        Some(of) => Some(Requirement::Lacks(key(of)?)),
        None => Some(Requirement::Has(key(text)?)),
    }
}

fn key(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|key| is_label(key, "-._/"))
}

fn value(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| is_value(text))
}

fn is_value(text: &str) -> bool {
    text.is_empty() || is_label_value(text)
}

/// Whether Kubernetes takes a text as a label's value, except for an empty one: at most 63
/// characters, the first and the last of them a letter or a digit ("Labels and Selectors").
fn is_label_value(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().last()];
    text.len() <= 63
        && is_label(text, "-._")
        && ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}

fn is_label(text: &str, others: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match requirement {
                Requirement::Has(key) => write!(f, "{key}")?,
                Requirement::Lacks(key) => write!(f, "!{key}")?,
                Requirement::Is(key, value) => write!(f, "{key}={value}")?,
                Requirement::IsNot(key, value) => write!(f, "{key}!={value}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_those_of_kubectl() {
        let labels: BTreeMap<String, String> =
            [("app", "web"), ("example.org/gpu", "")].map(|(a, b)| (a.into(), b.into())).into();
        for (text, matches) in [
            ("app=web", true),
            ("app==web", true),
            ("app=api", false),
            ("app!=api", true),
            ("tier!=batch", true),
            ("app!=web", false),
            ("example.org/gpu", true),
            ("example.org/gpu=", true),
            ("!app", false),
            ("!debug, app = web", true),
            ("app=web,debug", false),
        ] {
            let selector: LabelSelector = text.parse().unwrap();
            assert_eq!(selector.matches(&labels), matches, "{text}");
            assert_eq!(selector.to_string().parse(), Ok(selector));
        }
        for wrong in [
            "",
            ",",
            "app=web,",
            "a b",
            "app=we b",
            "=web",
            "!",
            "a=b=c",
            "app in (a,b)",
            "app=-x",
            "app=x.",
        ] {
            let error = wrong.parse::<LabelSelector>().unwrap_err();
            assert!(error.contains("expected labels such as"), "{error}");
        }
    }
}
