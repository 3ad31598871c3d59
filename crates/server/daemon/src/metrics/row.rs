//! The parts of a sample: its value, and a program's row.

use fairways_core::{BandwidthLevel, BandwidthUnit, Counter, CpuSet};
use fairways_record::blame::Slowdown;
use fairways_record::status::{ProgramStatus, ProgramTotals};

/// A sample's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Whole(u64),
    Real(f64),
}

/// A program in a domain.
pub(super) struct Row<'a> {
    pub(super) of: &'a ProgramStatus,
    pub(super) counted: &'a ProgramTotals,
    pub(super) way_bytes: Option<u64>,
    /// The unit of levels of memory bandwidth, where it can be limited.
    pub(super) unit: Option<BandwidthUnit>,
    /// Its recent loss.
    pub(super) slowdown: Option<Slowdown>,
}

/// Adds a sample, with its labels besides the program's.
pub(super) type Put<'a> = dyn FnMut(&[(&str, &str)], Value) + 'a;

impl Row<'_> {
    pub(super) fn event(&self, counter: Counter, put: &mut Put<'_>) {
        one(put, self.counted.counters.get(counter).map(Value::Whole));
    }

    /// The level that its plan has, in force or not.
    pub(super) fn requested_level(&self) -> Option<u32> {
        self.of.planned_bandwidth_level.or(self.of.bandwidth_level)
    }

    /// A level of percents, as a ratio.
    pub(super) fn ratio(&self, level: u32) -> Option<Value> {
        (self.unit == Some(BandwidthUnit::Percent)).then(|| Value::Real(f64::from(level) / 100.0))
    }

    /// A level that is a rate, in bytes per second.
    pub(super) fn rate(&self, level: u32) -> Option<Value> {
        self.unit?.bytes_per_second(BandwidthLevel::new(level)?).map(Value::Whole)
    }

    /// An occupancy, converted from ways to bytes. The ways are exact to 2^-32 of a way.
    pub(super) fn bytes_of(&self, ways: Option<f64>) -> Option<u64> {
        let bytes = ways? * self.way_bytes? as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A cache's size.
        Some(bytes.round() as u64)
    }

    pub(super) fn objective(
        &self,
        put: &mut Put<'_>,
        nanos: impl Fn(&fairways_record::status::ObjectiveStatus) -> Option<u64>,
    ) {
        let Some(of) = &self.of.objective else { return };
        let Some(nanos) = nanos(of) else { return };
        // Rounded to the percentile as it was written: 99.9 is no binary fraction.
        let percentile = (of.percentile * 1e6).round() / 1e6;
        put(&[("percentile", &percentile.to_string())], seconds(nanos));
    }
}

/// The number of CPUs in a list.
pub(super) fn cpus(list: Option<&str>) -> Option<Value> {
    let set = CpuSet::parse_list(list?, u32::MAX).ok()?;
    Some(Value::Whole(set.len() as u64))
}

pub(super) fn one(put: &mut Put<'_>, value: Option<Value>) {
    if let Some(value) = value {
        put(&[], value);
    }
}

pub(super) fn fact(put: &mut Put<'_>, label: &str, text: Option<&str>) {
    if let Some(text) = text {
        put(&[(label, text)], Value::Whole(1));
    }
}

/// Converts nanoseconds to seconds.
pub(super) fn seconds(nanos: u64) -> Value {
    Value::Real(nanos as f64 / 1e9)
}
