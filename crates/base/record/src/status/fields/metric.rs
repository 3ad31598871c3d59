//! The metrics of fields.

use super::{DOMAIN_FIELDS, Field, PROGRAM_FIELDS};

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, without its unit and without `_total` or `_info`.
    pub name: &'static str,
    /// Its unit; empty for a number without one.
    pub unit: &'static str,
    /// What a sample is.
    pub kind: MetricKind,
    /// A label that it has besides the domain's and the program's; empty for none.
    pub label: &'static str,
    /// What it is, as a sentence.
    pub help: &'static str,
    /// What docs/metrics.md says after that, with the sign before it: `; nothing without a limit`.
    pub note: &'static str,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It goes up and down.
    Gauge,
    /// It grows.
    Counter,
    /// A fact, whose value is 1.
    Info,
}

impl Metric {
    /// A metric without a unit, a label or a note.
    #[must_use]
    pub const fn new(kind: MetricKind, name: &'static str, help: &'static str) -> Self {
        Self { name, unit: "", kind, label: "", help, note: "" }
    }

    /// The same in a unit.
    #[must_use]
    pub const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The same with a label.
    #[must_use]
    pub const fn with_label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    /// The same with a note.
    #[must_use]
    pub const fn noted(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// The name of its samples.
    #[must_use]
    pub fn sample_name(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!("_{}", self.unit) };
        let end = match self.kind {
            MetricKind::Gauge => "",
            MetricKind::Counter => "_total",
            MetricKind::Info => "_info",
        };
        format!("{}{unit}{end}", self.name)
    }
}

pub(super) const fn gauge(name: &'static str, help: &'static str) -> Metric {
    Metric::new(MetricKind::Gauge, name, help)
}

pub(super) const fn info(name: &'static str, help: &'static str) -> Metric {
    Metric::new(MetricKind::Info, name, help)
}

/// The metric of a field, by its name and unit.
///
/// # Panics
/// At compile time, where no field has it.
#[must_use]
pub const fn metric(name: &str, unit: &str) -> Metric {
    if let Some(found) = metric_in(PROGRAM_FIELDS, name, unit) {
        return found;
    }
    match metric_in(DOMAIN_FIELDS, name, unit) {
        Some(found) => found,
        None => panic!("no field has this metric"),
    }
}

const fn metric_in<T>(fields: &'static [Field<T>], name: &str, unit: &str) -> Option<Metric> {
    let mut at = 0;
    while at < fields.len() {
        let metrics = fields[at].metrics;
        let mut of_field = 0;
        while of_field < metrics.len() {
            let metric = metrics[of_field];
            if is_same(metric.name, name) && is_same(metric.unit, unit) {
                return Some(metric);
            }
            of_field += 1;
        }
        at += 1;
    }
    None
}

/// Whether two texts are the same, at compile time.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
