//! The plan of a sweep: a command with flags, and axes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input;
use serde::Deserialize;

use crate::sweep::blamed;

/// The most points of a sweep.
const MOST_POINTS: usize = 1_000_000;

/// Columns of results: where an axis changes the flag of that name, they stand for it.
const RESULT_COLUMNS: [&str; 16] = [
    "mix",
    "policy",
    "app",
    "program",
    "slowdown",
    "mask",
    "bandwidth_level",
    "ipc",
    "llcmpki",
    "bandwidth_mbps",
    "unfairness",
    "stp",
    "antt",
    "jain",
    "proven",
    "bound",
];

/// A plan, as it is written in TOML.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SweepPlan {
    /// The verb that every point runs.
    pub(crate) command: SweptCommand,
    /// The flags of every point, by name.
    #[serde(default)]
    flags: BTreeMap<String, FlagValue>,
    /// What differs between points.
    #[serde(default)]
    axis: Vec<Axis>,
}

/// The verbs that print CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SweptCommand {
    Simulate,
    Optimum,
}

impl SweptCommand {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Simulate => "simulate",
            Self::Optimum => "optimum",
        }
    }
}

/// A flag, or several that change together, and their values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Axis {
    /// The flag's name, if values are plain; else any name. It heads the column in the results.
    name: String,
    values: Vec<AxisValue>,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected text, a number, true or false, a list, or { label = \"...\", flags = {} }"
)]
enum AxisValue {
    Plain(FlagValue),
    Labelled(LabelledFlags),
}

/// Several flags under one label.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelledFlags {
    label: String,
    flags: BTreeMap<String, FlagValue>,
}

/// What a flag is given: `true` stands for a flag without a value, a list for the flag several
/// times.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum FlagValue {
    Switch(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    Several(Vec<FlagValue>),
}

/// A point, as the plan names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlannedPoint {
    /// A label for each axis.
    pub(crate) labels: Vec<String>,
    /// The command's arguments.
    pub(crate) arguments: Vec<String>,
}

impl SweepPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// If it can't be read or is wrong: where, and what was expected.
    pub(crate) fn read(path: &Path) -> Result<Self, BadInput> {
        let text = String::from_utf8(input::read(path)?)
            .map_err(|_| blamed(path, "expected text in UTF-8"))?;
        let plan: Self = toml::from_str(&text).map_err(|why| {
            let line = why.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
            blamed(path, format!("line {line}: {}", why.message().replace('\n', "; ")))
        })?;
        plan.check().map_err(|why| blamed(path, why))?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for Axis { name, values } in &self.axis {
            if name.is_empty() || !names.insert(name) {
                return Err(format!("expected another name for each axis, found {name:?} again"));
            }
            if values.is_empty() {
                return Err(format!("axis {name:?}: expected a value or more"));
            }
            let is_labelled = values.iter().any(|value| matches!(value, AxisValue::Labelled(_)));
            if is_labelled && RESULT_COLUMNS.contains(&name.as_str()) {
                return Err(format!(
                    "axis {name:?}: expected another name, as results have that column"
                ));
            }
            let mut labels = BTreeSet::new();
            if let Some(twice) =
                values.iter().map(AxisValue::label).find(|l| !labels.insert(l.clone()))
            {
                return Err(format!(
                    "axis {name:?}: expected each value once, found {twice:?} twice"
                ));
            }
        }
        match self.axis.iter().try_fold(1_usize, |all, axis| all.checked_mul(axis.values.len())) {
            Some(count) if count <= MOST_POINTS => Ok(()),
            _ => Err(format!("expected at most {MOST_POINTS} points")),
        }
    }

    /// The names of the axes, in order.
    pub(crate) fn axes(&self) -> Vec<String> {
        self.axis.iter().map(|axis| axis.name.clone()).collect()
    }

    /// All combinations of the axes' values; the last axis changes fastest.
    pub(crate) fn points(&self) -> impl Iterator<Item = PlannedPoint> {
        let count: usize = self.axis.iter().map(|axis| axis.values.len()).product();
        (0..count).map(|number| {
            let mut rest = number;
            let mut values: Vec<&AxisValue> = self
                .axis
                .iter()
                .rev()
                .map(|axis| {
                    let value = &axis.values[rest % axis.values.len()];
                    rest /= axis.values.len();
                    value
                })
                .collect();
            values.reverse();
            let mut arguments = Vec::new();
            self.flags.iter().for_each(|(flag, value)| value.add(flag, &mut arguments));
            for (axis, value) in self.axis.iter().zip(&values) {
                match value {
                    AxisValue::Plain(value) => value.add(&axis.name, &mut arguments),
                    AxisValue::Labelled(LabelledFlags { flags, .. }) => {
                        flags.iter().for_each(|(flag, value)| value.add(flag, &mut arguments));
                    }
                }
            }
            let labels = values.iter().map(|value| value.label()).collect();
            PlannedPoint { labels, arguments }
        })
    }
}

impl AxisValue {
    fn label(&self) -> String {
        match self {
            Self::Plain(value) => value.text(),
            Self::Labelled(LabelledFlags { label, .. }) => label.clone(),
        }
    }
}

impl FlagValue {
    fn text(&self) -> String {
        match self {
            Self::Switch(is_on) => is_on.to_string(),
            Self::Whole(number) => number.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Several(all) => all.iter().map(Self::text).collect::<Vec<_>>().join(" "),
        }
    }

    fn add(&self, flag: &str, arguments: &mut Vec<String>) {
        match self {
            Self::Switch(false) => {}
            Self::Switch(true) => arguments.push(format!("--{flag}")),
            Self::Several(all) => all.iter().for_each(|one| one.add(flag, arguments)),
            // In one argument: a value may begin with a hyphen.
            _ => arguments.push(format!("--{flag}={}", self.text())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SweepPlan, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, text).unwrap();
        SweepPlan::read(&path).map_err(|why| why.0.replace(path.to_str().unwrap(), "plan.toml"))
    }

    #[test]
    fn points_are_all_combinations_the_last_axis_fastest() {
        let plan = read(
            r#"
            command = "simulate"
            flags = { profiles = "synthetic", dynamic = true, set = ["a=1", "b=2"] }
            [[axis]]
            name = "policies"
            values = ["lfoc", "ucp"]
            [[axis]]
            name = "load"
            values = [{ label = "light", flags = { mix = "a,b", seed = 1 } }, { label = "full", flags = {} }]
            "#,
        );
        let plan = plan.unwrap();
        let points: Vec<PlannedPoint> = plan.points().collect();
        let labels: Vec<String> = points.iter().map(|point| point.labels.join(" ")).collect();
        assert_eq!(labels, ["lfoc light", "lfoc full", "ucp light", "ucp full"]);
        let expected =
            "--dynamic --profiles=synthetic --set=a=1 --set=b=2 --policies=lfoc --mix=a,b --seed=1";
        assert_eq!(points[0].arguments.join(" "), expected);
        assert_eq!(plan.axes(), ["policies", "load"]);
    }

    #[test]
    fn mistakes_are_answered_in_one_line_with_their_place() {
        for (text, expected) in [
            ("command = \"run\"", "plan.toml: line 1: unknown variant `run`"),
            ("command = \"optimum\"\nflag = 1", "plan.toml: line 2: unknown field `flag`"),
            (
                "command = \"simulate\"\n[[axis]]\nname = \"seed\"\nvalues = []",
                "plan.toml: axis \"seed\": expected a value or more",
            ),
            (
                "command = \"simulate\"\n[[axis]]\nname = \"seed\"\nvalues = [1, 2, 1]",
                "plan.toml: axis \"seed\": expected each value once, found \"1\" twice",
            ),
            (
                "command = \"simulate\"\n[[axis]]\nname = \"seed\"\nvalues = [{ flags = {} }]",
                "plan.toml: line 4: expected text, a number",
            ),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(expected) && !found.contains('\n'), "{found}");
        }
        let values: Vec<String> = (0..1001).map(|n| n.to_string()).collect();
        let [seed, ways] = ["seed", "ways"]
            .map(|name| format!("[[axis]]\nname = \"{name}\"\nvalues = [{}]\n", values.join(",")));
        let many = format!("command = \"simulate\"\n{seed}{ways}");
        assert_eq!(read(&many).unwrap_err(), "plan.toml: expected at most 1000000 points");
    }
}
