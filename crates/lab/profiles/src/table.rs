//! Profiles of many programs.

use std::collections::{BTreeMap, HashMap};

use fairways_core::{Curve, Profile, Q32, Ways};

use crate::measured_run::MeasuredRun;
use crate::series::WaySeries;

/// A quantity measured of a program that runs alone with some ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProfileMetric {
    /// Instructions per cycle.
    Ipc,
    /// LLC references per 1000 instructions.
    Llcrpki,
    /// LLC misses per 1000 instructions.
    Llcmpki,
    /// LLC references per 1000 core cycles.
    Llcrpkc,
    /// LLC misses per 1000 core cycles.
    Llcmpkc,
    /// LLC occupancy, KB.
    LlcUsageKb,
    /// Memory bandwidth, MB/s; the bandwidth models use this one.
    BandwidthMbps,
    /// Bandwidth derived from LLC misses, MB/s.
    LlcmBandwidth,
    /// Share of cycles stalled while an L2 miss is outstanding, 0 to 1.
    StallsL2Miss,
    /// Share of cycles stalled while an L3 miss is outstanding, 0 to 1.
    StallsL3Miss,
    /// Share of cycles stalled for any reason, 0 to 1.
    StallsTotal,
    /// Share of cycles stalled because the store buffer is full, 0 to 1.
    StallsStoreBuf,
}

impl ProfileMetric {
    /// Every metric, in the order of the columns of a profile file.
    pub const ALL: [Self; 12] = [
        Self::Ipc,
        Self::Llcrpki,
        Self::Llcmpki,
        Self::Llcrpkc,
        Self::Llcmpkc,
        Self::LlcUsageKb,
        Self::BandwidthMbps,
        Self::LlcmBandwidth,
        Self::StallsL2Miss,
        Self::StallsL3Miss,
        Self::StallsTotal,
        Self::StallsStoreBuf,
    ];

    /// The name of the metric's column.
    #[must_use]
    pub const fn column(self) -> &'static str {
        match self {
            Self::Ipc => "ipc",
            Self::Llcrpki => "llcrpki",
            Self::Llcmpki => "llcmpki",
            Self::Llcrpkc => "llcrpkc",
            Self::Llcmpkc => "llcmpkc",
            Self::LlcUsageKb => "llc_usage_kb",
            Self::BandwidthMbps => "bandwidth_mbps",
            Self::LlcmBandwidth => "llcm_bandwidth",
            Self::StallsL2Miss => "stalls_l2_miss",
            Self::StallsL3Miss => "stalls_l3_miss",
            Self::StallsTotal => "stalls_total",
            Self::StallsStoreBuf => "stalls_store_buf",
        }
    }

    /// The least and the largest value that a file may have: a program that runs has an IPC, of
    /// which fixed point keeps at least six digits; a share is at most 1; and everything fits a
    /// [`Curve`].
    #[must_use]
    pub const fn range(self) -> (f64, f64) {
        match self {
            Self::Ipc => (0.001, 1000.0),
            Self::StallsL2Miss | Self::StallsL3Miss | Self::StallsTotal | Self::StallsStoreBuf => {
                (0.0, 1.0)
            }
            _ => (0.0, 16_777_216.0),
        }
    }
}

/// The values of every metric at one number of ways, in the order of [`ProfileMetric::ALL`].
pub(crate) type MetricRow = [f64; ProfileMetric::ALL.len()];

/// The column of [`ProfileTable::l1rpki`].
pub(crate) const L1RPKI: &str = "l1rpki";

/// The least and the largest value of it that a file may have: above three references per
/// instruction, with a margin.
pub(crate) const L1RPKI_RANGE: (f64, f64) = (0.0, 10_000.0);

/// A program as it was measured.
pub(crate) struct MeasuredProgram {
    pub(crate) name: String,
    /// By ways.
    pub(crate) rows: Vec<MetricRow>,
    pub(crate) l1rpki: Option<f64>,
}

/// Profiles of programs, all measured at 1 to [`ProfileTable::ways`] ways.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileTable {
    ways: Ways,
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    /// By program, then by ways.
    rows: Vec<Vec<MetricRow>>,
    /// By program.
    l1rpki: Vec<Option<f64>>,
    /// By name, as far as the file says.
    runs: BTreeMap<String, MeasuredRun>,
}

impl ProfileTable {
    /// A table of these programs, each with a row for every way count from 1 to `ways`.
    pub(crate) fn new(ways: Ways, programs: Vec<MeasuredProgram>) -> Self {
        let l1rpki = programs.iter().map(|program| program.l1rpki).collect();
        let (names, rows): (Vec<_>, Vec<_>) =
            programs.into_iter().map(|program| (program.name, program.rows)).unzip();
        debug_assert!(rows.iter().all(|rows| rows.len() == ways.get() as usize));
        let by_name = names.iter().cloned().zip(0..).collect();
        Self { ways, names, by_name, rows, l1rpki, runs: BTreeMap::new() }
    }

    /// A table of one program, whose measured values by metric and ways are those of `value`. They
    /// are rounded to six decimals, as in measured profiles, and clamped to
    /// [`ProfileMetric::range`].
    #[must_use]
    pub fn measured(
        name: &str,
        ways: Ways,
        l1rpki: f64,
        value: impl Fn(ProfileMetric, u32) -> f64,
    ) -> Self {
        let rows = (1..=ways.get()).map(|ways| {
            ProfileMetric::ALL.map(|metric| {
                let (least, most) = metric.range();
                rounded(value(metric, ways)).clamp(least, most)
            })
        });
        let rows = rows.collect();
        let l1rpki = Some(rounded(l1rpki).clamp(L1RPKI_RANGE.0, L1RPKI_RANGE.1));
        Self::new(ways, vec![MeasuredProgram { name: name.to_owned(), rows, l1rpki }])
    }

    /// Adds the programs of another table, measured with the same number of ways. A program
    /// replaces one of the same name.
    ///
    /// # Panics
    /// If they were measured with another number of ways.
    pub fn put(&mut self, other: Self) {
        assert_eq!(self.ways, other.ways, "tables of the same number of ways");
        let mut runs = other.runs;
        for ((name, rows), l1rpki) in other.names.into_iter().zip(other.rows).zip(other.l1rpki) {
            let place = *self.by_name.entry(name.clone()).or_insert(self.names.len());
            match runs.remove(&name) {
                Some(run) => self.runs.insert(name.clone(), run),
                None => self.runs.remove(&name),
            };
            if place == self.names.len() {
                self.names.push(name);
                self.rows.push(rows);
                self.l1rpki.push(l1rpki);
            } else {
                (self.rows[place], self.l1rpki[place]) = (rows, l1rpki);
            }
        }
    }

    /// The ways of the cache that the programs were measured on.
    #[must_use]
    pub fn ways(&self) -> Ways {
        self.ways
    }

    /// The names of the programs, in the order in which they first appeared.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The index of the program with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The values of a metric at 1, 2, ... ways; not numbers if it is [missing](Self::missing).
    pub fn values(
        &self,
        program: usize,
        metric: ProfileMetric,
    ) -> impl ExactSizeIterator<Item = f64> + Clone + '_ {
        self.rows[program].iter().map(move |row| row[metric as usize])
    }

    /// The metrics that nobody measured: their values are not numbers. None, unless the table was
    /// read to score plans ([`crate::read_table_to_score`]).
    pub fn missing(&self) -> impl Iterator<Item = ProfileMetric> + '_ {
        ProfileMetric::ALL
            .into_iter()
            .filter(|metric| self.rows.iter().flatten().any(|row| row[*metric as usize].is_nan()))
    }

    /// L1 references per 1000 instructions, if the table has them: the number does not depend on
    /// the ways (dCat Figure 5), so the value is that of one way.
    #[must_use]
    pub fn l1rpki(&self, program: usize) -> Option<f64> {
        self.l1rpki[program]
    }

    /// The run in which a program was measured, if the file says so.
    #[must_use]
    pub fn run(&self, program: usize) -> Option<&MeasuredRun> {
        self.runs.get(&self.names[program])
    }

    /// Notes the run in which the program of this name was measured.
    pub fn set_run(&mut self, name: &str, run: MeasuredRun) {
        self.runs.insert(name.to_owned(), run);
    }

    pub(crate) fn rows(&self, program: usize) -> &[MetricRow] {
        &self.rows[program]
    }

    /// The values of a metric in a cache of `ways` ways.
    pub(crate) fn series(&self, program: usize, metric: ProfileMetric, ways: Ways) -> WaySeries {
        WaySeries::new(self.values(program, metric).take(ways.get() as usize))
    }

    /// The slowdown of a program alone in a cache of `ways` ways: the best IPC there over the IPC
    /// (the reference of the published simulator; docs/decisions.md, LFOC 1).
    pub(crate) fn slowdown(&self, program: usize, ways: Ways) -> WaySeries {
        let ipc = self.values(program, ProfileMetric::Ipc).take(ways.get() as usize);
        let best = ipc.clone().fold(0.0, f64::max);
        WaySeries::new(ipc.map(|here| best / here))
    }

    /// The profile that a policy gets of a program.
    #[must_use]
    pub fn profile(&self, program: usize) -> Profile {
        Profile {
            ipc: self.curve(program, ProfileMetric::Ipc),
            llcmpki: self.curve(program, ProfileMetric::Llcmpki),
            llcmpkc: self.curve(program, ProfileMetric::Llcmpkc),
            bandwidth_mbps: self.curve(program, ProfileMetric::BandwidthMbps),
            stalls_l2_miss: self.curve(program, ProfileMetric::StallsL2Miss),
        }
    }

    fn curve(&self, program: usize, metric: ProfileMetric) -> Curve {
        Curve::new(self.values(program, metric).map(q32)).expect("the metric's range fits a curve")
    }
}

/// A value to six decimals, as in measured profiles.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The nearest fixed-point number to a table's value, or to a mean of such values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values of a table are not negative, and Metric::range bounds them far below 2^32"
)]
pub(crate) fn q32(value: f64) -> Q32 {
    Q32::from_raw((value * (1u64 << 32) as f64).round() as u64)
}
