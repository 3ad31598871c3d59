//! What people see of a cache and of a program: one table for each. The types that
//! `status --json` prints are made of it, and so are the columns of `fairways status` and `top`,
//! the metrics' names and help, and the tables in docs/daemon.md and docs/metrics.md.
//!
//! A new field is a row here, and its value in `fold.rs`. A column of it is a [`Column`], which
//! `status` and `top` then list; a metric of it has its value in the daemon's
//! `metrics/families.rs`.

pub mod columns;
mod metric;

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::BandwidthLever;
use serde::{Deserialize, Serialize};

use super::{ClusterStatus, ObjectiveStatus, Status};
pub use metric::{Metric, MetricKind, metric};
use metric::{gauge, info};

/// A field of `T`, which is a [`ProgramStatus`] or a [`DomainStatus`].
#[derive(Debug)]
pub struct Field<T: 'static> {
    /// Its key in JSON.
    pub key: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its column in tables of programs.
    pub column: Option<Column<T>>,
    /// The metrics with its value.
    pub metrics: &'static [Metric],
}

/// A column of a table.
#[derive(Debug)]
pub struct Column<T: 'static> {
    /// Its head.
    pub name: &'static str,
    /// What it shows.
    pub help: &'static str,
    /// Whether it is aligned to the right.
    pub is_number: bool,
    /// A cell; a dash where the value is missing.
    pub text: fn(&Status, &T) -> String,
}

impl<T> Field<T> {
    const fn new(key: &'static str, help: &'static str) -> Self {
        Self { key, help, column: None, metrics: &[] }
    }
}

/// Declares a type of fields, and the table of them.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        $name:ident in $table:ident {
            $($key:ident: $type:ty = $help:literal $(, $slot:ident = $value:expr)*;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(default)]
        pub struct $name {
            $(#[doc = $help] pub $key: $type,)+
        }

        #[doc = concat!("The fields of [`", stringify!($name), "`].")]
        pub const $table: &[Field<$name>] = &[
            $(Field { $($slot: $value,)* ..Field::new(stringify!($key), $help) },)+
        ];
    };
}

fields! {
    /// One last-level cache.
    DomainStatus in DOMAIN_FIELDS {
        id: u32 = "resctrl's id of the cache";
        cache: Option<String> = "All ways of the cache, as a line of schemata shows them; `null` where they are not known";
        way_bytes: Option<u64> = "The bytes of one way; `null` where they are not known",
            metrics = &[gauge("fairways_way", "The size of one way of the cache.").in_unit("bytes")];
        ways: u32 = "The number of ways that the policy may give out",
            metrics = &[gauge("fairways_domain_ways", "Ways that the policy may give out.")
                .noted("; nothing under a policy that schedules")];
        clos: u32 = "The number of classes of service that the policy may use";
        bandwidth: Option<BandwidthLever> = "How memory bandwidth can be limited: `unit`, `least`, `step`, `most`, `scope`, as in [journals](journal.md); `null` where it can't be",
            metrics = &[gauge(
                "fairways_memory_capacity",
                "What programs can move from and to memory together, as resctrl.memory_mbps has it.",
            )
            .in_unit("bytes_per_second")
            .noted("; nothing without it, or where memory bandwidth can't be limited")];
        offered: Option<String> = "The ways of the cache that the policy may give out, as a line of schemata shows them";
        io_mask: Option<String> = "The ways that devices fill under a class of their own, likewise; `null` where they have no such class (`io_alloc`)";
        cpus: Option<String> = "The CPUs as the policy numbers them, from 0 on; `null` where they are not known",
            metrics = &[gauge(
                "fairways_domain_cpus",
                "CPUs on which threads take turns, under a policy that schedules.",
            )];
        quantum_ns: Option<u64> = "The length of a turn on them; `null` where it is not known",
            metrics = &[gauge("fairways_quantum", "How long a turn is, under a policy that schedules.")
                .in_unit("seconds")];
        plan: Option<u32> = "The plan in force; `null` before the first";
        reason: Option<String> = "The reason for the plan";
        clusters: Vec<ClusterStatus> = "The clusters in force, none in the modes `observe` and `counters-only`: `mask`, `bandwidth_level` in the lever's unit (`null` if the plan sets no limit; an earlier limit may still be in force), `programs` and `tasks`",
            metrics = &[gauge("fairways_clusters", "Clusters of the plan in force.")
                .noted("; none (0) under `observe`, nothing before the first plan")];
        planned: Option<Vec<ClusterStatus>> = "The plan's clusters; `null` where they are those in force";
        refused: Option<String> = "Why the last plan was refused, if it was",
            metrics = &[gauge(
                "fairways_plan_refused",
                "1 if the machine refused the last plan, and the previous one stays in force; otherwise 0.",
            )];
    }
}

fields! {
    /// A program in a domain. A missing value is `null`, never 0.
    ProgramStatus in PROGRAM_FIELDS {
        app: u32 = "The program's number";
        name: String = "The program's name: among programs of the same name in a domain, later ones are numbered, `web#2`, and keep their number to their end",
            column = Some(columns::PROGRAM);
        domain: u32 = "The domain",
            column = Some(columns::DOMAIN);
        mask: Option<String> = "The ways that it may fill, as a line of schemata shows them; `null` while it is in no cluster, and in the mode `observe`",
            column = Some(columns::MASK),
            metrics = &[info("fairways_program_mask", "Its mask, as schemata has it.")
                .with_label("mask")
                .noted("; 1, and nothing where `fairways_program_ways` has none")];
        ways: Option<u32> = "The number of these ways",
            column = Some(columns::WAYS),
            metrics = &[gauge("fairways_program_ways", "Ways that it may fill.")
                .noted("; nothing while it has no place in a plan in force, and under `observe`, where no plan is")];
        planned_mask: Option<String> = "The ways that are planned for it; `null` where they are in force";
        planned_ways: Option<u32> = "The number of the planned ways",
            metrics = &[gauge("fairways_program_planned_ways", "Ways that the plan gives it.")
                .noted(". They differ from `fairways_program_ways` where the machine rounded masks, merged clusters, or could not move the program; under `observe` there are only these")];
        bandwidth_level: Option<u32> = "The level of memory bandwidth in force, in the unit of the domain's lever; `null` if no plan set a limit",
            column = Some(columns::LIMIT),
            metrics = &[
                gauge(
                    "fairways_program_bandwidth_effective",
                    "The limit of its memory bandwidth that is in force, where that is a percent.",
                )
                .in_unit("ratio")
                .noted("; another than requested where the kernel rounded, or somebody else limits more. What the program moves is `fairways_mbm_total_bytes_total`"),
                gauge(
                    "fairways_program_bandwidth_effective",
                    "The limit of its memory bandwidth that is in force, where that is a rate.",
                )
                .in_unit("bytes_per_second"),
            ];
        planned_bandwidth_level: Option<u32> = "The planned level, the highest one for no limit; `null` if that is in force",
            metrics = &[
                gauge(
                    "fairways_program_bandwidth_requested",
                    "The limit of its memory bandwidth that the plan has, where that is a percent.",
                )
                .in_unit("ratio")
                .noted(": 0.2 is 20 %, which on Intel is a step of a delay and not a share of anything; nothing without a limit"),
                gauge(
                    "fairways_program_bandwidth_requested",
                    "The limit of its memory bandwidth that the plan has, where that is a rate.",
                )
                .in_unit("bytes_per_second")
                .noted(": on AMD, and under `mba_MBps`"),
            ];
        cluster: Option<u32> = "Its cluster, an index into its domain's; `null` while it is in none";
        baseline_ways: Option<u32> = "Its baseline: the ways that it is guaranteed",
            metrics = &[gauge("fairways_program_baseline_ways", "Ways that it is guaranteed.")];
        best_effort: bool = "Whether it is background work",
            metrics = &[gauge(
                "fairways_program_best_effort",
                "1 if it is background work, whose CPU time may go to others; otherwise 0.",
            )];
        importance: Option<u32> = "How many programs it counts as, in policies with importances; `null` for one",
            metrics = &[gauge(
                "fairways_program_importance",
                "How many programs it counts as, where a policy adds programs up.",
            )];
        cpus: Option<String> = "The CPUs on which a thread may run, as a list; `null` for all",
            column = Some(columns::CPUS),
            metrics = &[gauge(
                "fairways_thread_cpus",
                "How many CPUs the thread may run on; nothing while it may run on all.",
            )];
        raised: bool = "Whether a thread runs before others";
        ordered_ns: Option<u64> = "The length of a thread's next turn, as last ordered",
            column = Some(columns::TURN),
            metrics = &[gauge(
                "fairways_thread_ordered",
                "The length last ordered for the thread's next turn.",
            )
            .in_unit("seconds")];
        estimates: BTreeMap<String, f64> = "The policy's estimates for it, by [the paper's words](journal.md#why)",
            column = Some(columns::EXPECTED),
            metrics = &[
                gauge(
                    "fairways_program_expected_slowdown",
                    "The slowdown that the policy expects with the ways that it gives: against the whole cache, or as much as it is fastest with.",
                )
                .in_unit("ratio")
                .noted("; nothing if the policy reports none"),
                gauge(
                    "fairways_estimate",
                    "Other numbers that the policy derived for it, by the paper's words, each in its unit.",
                )
                .with_label("what,unit")
                .noted(": [Estimates](#estimates); may be negative"),
            ];
        class: Option<String> = "Its class, by the policy",
            column = Some(columns::CLASS),
            metrics = &[info("fairways_program_class", "Its class under the policy.")
                .with_label("class")
                .noted("; 1")];
        class_reason: Option<String> = "The reason for the class";
        ipc: Option<f64> = "Instructions per cycle, in the last window",
            column = Some(columns::IPC);
        llcmpki: Option<f64> = "Misses of the last-level cache per 1000 instructions, in the last window",
            column = Some(columns::MPKI);
        llcmpkc: Option<f64> = "Misses of the last-level cache per 1000 cycles, in the last window",
            column = Some(columns::LLCMPKC);
        occupancy_ways: Option<f64> = "Occupancy in ways, in the last window",
            column = Some(columns::OCCUPANCY),
            metrics = &[gauge(
                "fairways_llc_occupancy",
                "The cache that it occupied at the end of its last window.",
            )
            .in_unit("bytes")
            .noted("; nothing if that could not be read")];
        occupancy_ways_at_least: Option<f64> = "A lower bound on the occupancy in ways, if the last window shows no more: lines from before the program was monitored are not counted until they are replaced",
            metrics = &[gauge(
                "fairways_llc_occupancy_at_least",
                "The cache that it occupied at least, where that is all that is known: it ran before it was monitored.",
            )
            .in_unit("bytes")
            .noted(". Lines from before count for it once it has brought them in again")];
        memory_bytes: Option<u64> = "Bytes from and to memory, in the last window",
            column = Some(columns::TRAFFIC);
        core_energy_joules: Option<f64> = "Joules that cores used for it in all domains, since it was first monitored; `null` if packages do not count them, or they can't be read now";
        activity_farads: Option<f64> = "Its activity on cores in all domains, in farads, likewise";
        window_ns: Option<u64> = "The length of the last window";
        not_managed: Option<String> = "Which of its threads are not managed, and why, with the groups of other managers that they are in; `null` if all are";
        objective: Option<ObjectiveStatus> = "Its latency objective: `percentile`, `slo_ns`, and of the last window `latency_ns`, `requests` and `met` (`null` if no request was answered); `null` if it is no service",
            column = Some(columns::SLO),
            metrics = &[
                gauge("fairways_objective", "The limit of its latency, at this percentile.")
                    .in_unit("seconds")
                    .with_label("percentile"),
                gauge(
                    "fairways_latency",
                    "Its latency in the last window, at this percentile; nothing if no request was answered.",
                )
                .in_unit("seconds")
                .with_label("percentile")
                .noted(", nor while its source is silent"),
                gauge(
                    "fairways_objective_met",
                    "1 if the objective was met in the last window, 0 if not; nothing if no request was answered.",
                ),
            ];
    }
}

/// A number for a table; a dash where it is missing.
#[must_use]
pub fn number(number: Option<f64>) -> String {
    number.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

/// Milliseconds for a table.
#[must_use]
pub fn milliseconds(nanos: u64) -> String {
    format!("{:.2}ms", Duration::from_nanos(nanos).as_secs_f64() * 1e3)
}

fn or_dash(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests;
