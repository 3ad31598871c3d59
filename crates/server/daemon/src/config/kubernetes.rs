//! Pods of Kubernetes: the section `[kubernetes]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fairways_core::Objective;
use fairways_host::machine::PlaceLimits;
use fairways_programs::matches;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::labels::LabelSelector;
use super::values;

/// The longest name of a group.
const LONGEST_GROUP: usize = 63;

/// Pods of Kubernetes, as the container runtime announces them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kubernetes {
    /// Whether the container runtime is to announce containers before they start (NRI).
    pub nri: bool,
    /// The runtime's socket for plugins.
    #[serde(deserialize_with = "values::path")]
    pub(crate) socket: PathBuf,
    /// The namespaces whose pods' annotations count, as patterns.
    pub(crate) annotations: Vec<String>,
    /// Whether every container is a program, whether or not anything asks for it.
    pub(crate) all: bool,
    /// The baseline of Guaranteed pods that ask for none; 0 for no baseline.
    pub(crate) guaranteed_ways: u32,
    /// The most programs that pods may ask for, and the most of one namespace; without it, all that
    /// others leave.
    #[serde(deserialize_with = "places")]
    pub(crate) most_programs: u32,
    #[serde(deserialize_with = "places_of_namespace", skip_serializing_if = "Option::is_none")]
    pub(crate) most_per_namespace: Option<u32>,
    /// What pods with some labels are to have; the first that fits counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pods: Vec<PodRule>,
}

impl Default for Kubernetes {
    fn default() -> Self {
        Self {
            nri: false,
            socket: "/var/run/nri/nri.sock".into(),
            annotations: vec!["*".to_owned()],
            all: false,
            guaranteed_ways: 1,
            most_programs: 256,
            most_per_namespace: None,
            pods: Vec::new(),
        }
    }
}

/// What pods with some labels are to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodRule {
    /// The labels.
    #[serde(with = "values::text")]
    pub(crate) select: LabelSelector,
    /// A pattern for the namespace.
    #[serde(default = "any")]
    pub(crate) namespace: String,
    /// The number of ways that each program is guaranteed.
    #[serde(
        default,
        deserialize_with = "values::at_least_one",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) baseline_ways: Option<u32>,
    /// Whether it is background work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) best_effort: Option<bool>,
    /// How many programs it counts as.
    #[serde(
        default,
        deserialize_with = "values::at_least_one",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) importance: Option<u32>,
    /// Its latency target, with the text as it was written.
    #[serde(
        default,
        deserialize_with = "values::objective",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) objective: Option<values::Asked<Objective>>,
    /// The program that all of them are together, in each namespace.
    #[serde(default, deserialize_with = "group", skip_serializing_if = "Option::is_none")]
    pub(crate) policy_group: Option<String>,
}

impl PodRule {
    /// Whether it is for a pod.
    pub(crate) fn is_for(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        matches(&self.namespace, namespace) && self.select.matches(labels)
    }
}

fn any() -> String {
    "*".to_owned()
}

impl Kubernetes {
    /// How many programs pods may ask for.
    pub(crate) fn places(&self) -> PlaceLimits {
        let most_per_namespace = self.most_per_namespace.unwrap_or(self.most_programs) as usize;
        PlaceLimits { most: self.most_programs as usize, most_per_namespace }
    }
}

/// Reads a number of places: each container may be a program.
fn places<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(from)?;
    let most = fairways_nri::MOST_CONTAINERS;
    let fitting = u32::try_from(number).ok();
    fitting.filter(|number| (1..=most).contains(&(*number as usize))).ok_or_else(|| {
        D::Error::custom(format!("expected a number from 1 to {most}, found {number}"))
    })
}

fn places_of_namespace<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    places(from).map(Some)
}

/// Reads the name of a group, which pods' owners give by the same rules.
fn group<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    group_name(&text)
        .map(Some)
        .map_err(|expected| D::Error::custom(format!("expected {expected}, found {text:?}")))
}

/// Checks the name of a group, which becomes part of a program's; the error is what was expected.
pub(crate) fn group_name(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST_GROUP || !text.bytes().all(is_name_byte) {
        return Err(format!("a name of at most {LONGEST_GROUP} letters, digits and -._"));
    }
    Ok(text.to_owned())
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._".contains(&byte)
}
