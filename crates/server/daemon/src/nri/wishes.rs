//! What pods' owners request through annotations and labels. Everything here is written by tenants:
//! a wrong value is reported and ignored, and never keeps a container from starting.

use fairways_command_kit::objective::objective;
use fairways_command_kit::plain::plain;
use fairways_core::Wish;
use fairways_nri::{ANNOTATIONS, Container, QosClass};
use fairways_programs::matches;

use crate::config::{Kubernetes, PodRule, group_name};

/// The most ways and the greatest importance that a pod's owner may request. The kernel's masks
/// have 32 bits.
const MOST_WAYS: u32 = 32;
const MOST_IMPORTANCE: u32 = 100;

/// What is requested for a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PodRequest {
    /// The name of the program that it belongs to: `NAMESPACE/POD/CONTAINER`, or `NAMESPACE/GROUP`;
    /// `None` if no one requests that it be managed.
    pub(super) program: Option<String>,
    pub(super) wish: Wish,
    /// Annotations that are wrong, a line each.
    pub(super) wrong: Vec<String>,
}

/// The requests for a container so far; the first source of each counts.
#[derive(Default)]
struct Said {
    managed: Option<bool>,
    baseline_ways: Option<u32>,
    best_effort: Option<bool>,
    objective: Option<fairways_core::Objective>,
    importance: Option<u32>,
    group: Option<String>,
    wrong: Vec<String>,
}

/// The requests for a container: from its own annotations, then its pod's, then the first rule that
/// fits its labels, then its QoS class.
pub(super) fn asked(of: &Container, settings: &Kubernetes) -> PodRequest {
    let mut said = Said::default();
    if settings.annotations.iter().any(|pattern| matches(pattern, &of.namespace)) {
        said.hear_annotations(of);
    }
    let rule = settings.pods.iter().find(|rule| rule.is_for(&of.namespace, &of.labels));
    let is_asked = said.says_anything() || rule.is_some() || settings.all;
    let is_managed = said.managed.unwrap_or(is_asked);
    if let Some(rule) = rule {
        said.hear_rule(rule);
    }
    said.hear_class(of.qos, settings.guaranteed_ways);
    let program = is_managed.then(|| match &said.group {
        Some(group) => format!("{}/{group}", of.namespace),
        None => format!("{}/{}/{}", of.namespace, of.pod, of.name),
    });
    let Said { baseline_ways, best_effort, objective, importance, wrong, .. } = said;
    let best_effort = best_effort.unwrap_or(false);
    let wish = Wish { baseline_ways, best_effort, objective, importance };
    PodRequest { program, wish, wrong }
}

impl Said {
    /// Whether an annotation asks for something, or for the container to be managed.
    fn says_anything(&self) -> bool {
        self.baseline_ways.is_some()
            || self.best_effort.is_some()
            || self.objective.is_some()
            || self.importance.is_some()
            || self.group.is_some()
    }

    fn hear_annotations(&mut self, of: &Container) {
        let ours = of.annotations.iter().filter_map(|(key, value)| {
            let (key, container) = split(key.strip_prefix(ANNOTATIONS)?);
            Some((key, container, value.as_str()))
        });
        let (own, pods): (Vec<_>, Vec<_>) = ours.partition(|(_, container, _)| container.is_some());
        for (key, container, value) in own.into_iter().chain(pods) {
            if container.is_none_or(|name| name == of.name)
                && let Err(expected) = self.hear(key, value)
            {
                let found: String = value.chars().take(64).collect();
                self.wrong.push(format!(
                    "{}/{}: annotation {ANNOTATIONS}{}: expected {expected}, found {found:?}",
                    of.namespace,
                    of.pod,
                    plain(key)
                ));
            }
        }
    }

    /// Reads a value, unless there is one already; the error says what was expected.
    fn hear(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "manage" => first(&mut self.managed, flag(value)?),
            "baseline-ways" => first(&mut self.baseline_ways, number(value, MOST_WAYS)?),
            "best-effort" => first(&mut self.best_effort, flag(value)?),
            "objective" => first(
                &mut self.objective,
                objective(value.trim())
                    .map_err(|_| "a latency such as 2ms or p99.9:2ms".to_owned())?,
            ),
            "importance" => first(&mut self.importance, number(value, MOST_IMPORTANCE)?),
            "policy-group" => first(&mut self.group, group_name(value)?),
            _ => {
                return Err(
                    "one of manage, baseline-ways, best-effort, objective, importance, policy-group, or one of these with .CONTAINER behind it"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    fn hear_rule(&mut self, rule: &PodRule) {
        self.baseline_ways = self.baseline_ways.or(rule.baseline_ways);
        self.best_effort = self.best_effort.or(rule.best_effort);
        self.importance = self.importance.or(rule.importance);
        let objective = rule.objective.as_ref().map(|objective| objective.value);
        self.objective = self.objective.or(objective);
        self.group = self.group.take().or_else(|| rule.policy_group.clone());
    }

    fn hear_class(&mut self, class: Option<QosClass>, guaranteed_ways: u32) {
        match class {
            Some(QosClass::BestEffort) => first(&mut self.best_effort, true),
            Some(QosClass::Guaranteed) => {
                let is_background = self.best_effort == Some(true);
                let ways = Some(guaranteed_ways).filter(|ways| *ways > 0 && !is_background);
                self.baseline_ways = self.baseline_ways.or(ways);
            }
            Some(QosClass::Burstable) | None => {}
        }
    }
}

/// A key, and the container that it is for: `best-effort.app`.
fn split(key: &str) -> (&str, Option<&str>) {
    match key.split_once('.') {
        Some((key, container)) => (key, Some(container)),
        None => (key, None),
    }
}

fn first<T>(said: &mut Option<T>, value: T) {
    said.get_or_insert(value);
}

fn flag(value: &str) -> Result<bool, String> {
    value.trim().parse().map_err(|_| "true or false".to_owned())
}

fn number(value: &str, most: u32) -> Result<u32, String> {
    let number = value.trim().parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("a number from 1 to {most}"))
}

#[cfg(test)]
mod tests;
