//! Every metric: its name, its meaning, and where its value comes from. Those of fields that people
//! see elsewhere, too, have their names and meanings from
//! [`fields`](fairways_record::status::fields). docs/metrics.md lists all; tests compare.

use fairways_core::Counter;
use fairways_policy::words;
use fairways_record::blame::Slowdown;
use fairways_record::status::DomainStatus;
use fairways_record::status::fields::{Metric, MetricKind, metric};

use super::estimate::exported;
use super::row::{Put, Row, Value, cpus, fact, one, seconds};

const fn counter(name: &'static str, help: &'static str) -> Metric {
    Metric::new(MetricKind::Counter, name, help)
}

const fn gauge(name: &'static str, help: &'static str) -> Metric {
    Metric::new(MetricKind::Gauge, name, help)
}

const fn info(name: &'static str, help: &'static str) -> Metric {
    Metric::new(MetricKind::Info, name, help)
}

pub(super) const BUILD: Metric =
    info("fairways_build", "The daemon's version, and the commit that it was built from.");
pub(super) const POLICY: Metric = info(
    "fairways_policy",
    "The policy, and what happens to its plans: manage, observe or counters-only.",
);
pub(super) const KEEPS_BASELINES: Metric = gauge(
    "fairways_keeps_baselines",
    "1 if the policy guarantees baselines and its plans are carried out; otherwise 0.",
);
pub(super) const SCHEDULER: Metric =
    info("fairways_scheduler", "How threads take turns, under a policy that schedules.");
pub(super) const SCHEDULER_ENDED: Metric =
    counter("fairways_scheduler_ended", "How often the kernel has ended the scheduler.");
pub(super) const THREADS_WITHOUT_ROOM: Metric = counter(
    "fairways_scheduler_threads_without_room",
    "How often the scheduler had no room for a thread, which then ran where its owner lets it.",
);
pub(super) const FAILED: Metric = gauge(
    "fairways_policy_failed",
    "1 if the policy has failed in a domain, where the daemon no longer asks it; otherwise 0.",
);
pub(super) const UNMATCHED: Metric = gauge(
    "fairways_program_unmatched",
    "1 for each program that the configuration names and that has no process now.",
);
pub(super) const COUNTED: Metric = gauge(
    "fairways_event_counted",
    "1 for each counter that is counted; 0 where nothing that runs reads it, or this host can't count it.",
);
pub(super) const CLOCK: Metric =
    gauge("fairways_clock", "The machine's clock at the last event, from the daemon's start on.")
        .in_unit("seconds");
pub(super) const DECISIONS: Metric = counter(
    "fairways_policy_decisions",
    "Plans by outcome: applied (observed where nothing is changed), refused by the machine; failed: the policy failed instead.",
);
pub(super) const THREADS: Metric = counter(
    "fairways_thread_decisions",
    "What a policy that schedules decided for threads: allowed on CPUs, raised or no longer, ordered a turn's length.",
);
pub(super) const ERRORS: Metric = counter(
    "fairways_actuation_errors",
    "Operations that resctrl or the scheduler refused, by the name of the error number, or a word where it has none.",
);
pub(super) const UNAVAILABLE: Metric = counter(
    "fairways_sample_unavailable",
    "Windows of all programs in which the event could not be read.",
);
pub(super) const WINDOWS: Metric = counter(
    "fairways_sample_windows",
    "Windows of all programs that ended, including programs that have exited.",
);
pub(super) const CAUSED: Metric = gauge(
    "fairways_slowdown_caused",
    "What a culprit costs a victim by the cache or by the bus, in units of the victim's time alone.",
)
.in_unit("ratio");
pub(super) const CAUSED_LEFT_OUT: Metric = gauge(
    "fairways_slowdown_caused_left_out",
    "How many such losses are as large, and left out because there are more of them than are shown.",
);
pub(super) const CLOSIDS: Metric = gauge(
    "fairways_closids",
    "Classes of service: used by Fairways, others (the root's is one), and free.",
);
pub(super) const RMIDS: Metric = gauge(
    "fairways_rmids",
    "Monitoring ids: used by Fairways, others (the root's is one), and free, those in limbo included.",
);
pub(super) const CORE_ENERGY: Metric = counter(
    "fairways_core_energy",
    "Energy that cores used for it in all domains, since it was first monitored; only where packages count it.",
)
.in_unit("joules");
pub(super) const ACTIVITY: Metric = counter(
    "fairways_activity",
    "Its activity on cores in all domains, whatever their frequency and voltage; only where packages count it.",
)
.in_unit("farads");
pub(super) const TRAFFIC_COUNTERS: Metric = gauge(
    "fairways_traffic_counters",
    "Counters of memory traffic that are assigned to groups: used by Fairways, others, and free; only where hardware does not give them out by itself.",
);
pub(super) const TRAFFIC_FILTERED: Metric = gauge(
    "fairways_traffic_filtered",
    "1 for each domain in which somebody changed what mbm_total_bytes counts: bytes of programs are not all of their traffic.",
);
pub(super) const NRI_CONNECTED: Metric = gauge(
    "fairways_nri_connected",
    "1 if the container runtime has the daemon as its plugin; otherwise 0.",
);
pub(super) const NRI_STARTED: Metric = counter(
    "fairways_nri_containers_started",
    "Containers that the runtime announced, by outcome: in_time, late if they started before the daemon had handled them.",
);
pub(super) const NRI_WAITED: Metric =
    counter("fairways_nri_start_wait", "How long starting containers waited for the daemon.")
        .in_unit("seconds");
pub(super) const WRONG_ANNOTATIONS: Metric = counter(
    "fairways_pod_annotations_wrong",
    "Annotations of pods that are wrong, each time that a container with one was announced; the log has them.",
);
pub(super) const WITHOUT_PLACE: Metric = gauge(
    "fairways_pod_programs_without_place",
    "Programs that pods ask for and that are not managed, because others have the places; degraded has their namespaces.",
);
pub(super) const PROMISED_WAYS: Metric = gauge(
    "fairways_domain_promised_ways",
    "Ways that programs are guaranteed together; above fairways_domain_ways, not all of these promises can be kept.",
);
pub(super) const STARTED: Metric =
    gauge("process_start_time", "When the daemon began, since 1970.").in_unit("seconds");
pub(super) const CPU: Metric = counter("process_cpu", "The daemon's CPU time.").in_unit("seconds");
pub(super) const RESIDENT: Metric =
    gauge("process_resident_memory", "How much of the daemon is in memory.").in_unit("bytes");
pub(super) const OPEN: Metric = gauge("process_open_fds", "The daemon's file descriptors.");
pub(super) const MOST: Metric =
    gauge("process_max_fds", "How many file descriptors the daemon may have.");

/// The exported counters, by the kernel's names.
pub(super) const EVENTS: [(&str, Counter); 5] = [
    ("instructions", Counter::Instructions),
    ("cycles", Counter::Cycles),
    ("llc_references", Counter::LlcReferences),
    ("llc_misses", Counter::LlcMisses),
    ("mbm_total_bytes", Counter::MemoryBytes),
];

/// The kernel's name for a window's occupancy.
pub(super) const OCCUPANCY: &str = "llc_occupancy";

/// The metrics of each domain.
pub(super) const OF_DOMAINS: [(Metric, OfDomain); 7] = [
    (metric("fairways_domain_ways", ""), |of| {
        // A policy that schedules gives out turns instead.
        of.quantum_ns.is_none().then(|| Value::Whole(of.ways.into()))
    }),
    (metric("fairways_way", "bytes"), |of| of.way_bytes.map(Value::Whole)),
    (metric("fairways_clusters", ""), |of| of.plan.map(|_| Value::Whole(of.clusters.len() as u64))),
    (metric("fairways_memory_capacity", "bytes_per_second"), |of| {
        let mbps = of.bandwidth?.capacity_mbps?;
        Some(Value::Whole(u64::from(mbps) * 1_000_000))
    }),
    (metric("fairways_plan_refused", ""), |of| Some(Value::Whole(of.refused.is_some().into()))),
    (metric("fairways_domain_cpus", ""), |of| cpus(of.cpus.as_deref())),
    (metric("fairways_quantum", "seconds"), |of| of.quantum_ns.map(seconds)),
];

/// A domain's value; `None` where it is missing.
pub(super) type OfDomain = fn(&DomainStatus) -> Option<Value>;

/// Puts a program's samples on the page; none where they are missing.
pub(super) type OfProgram = fn(&Row<'_>, &mut Put<'_>);

/// The metrics of each program, in each domain in which it runs.
pub(super) const OF_PROGRAMS: [(Metric, OfProgram); 31] = [
    (metric("fairways_program_ways", ""), |row, put| {
        one(put, row.of.ways.map(|ways| Value::Whole(ways.into())));
    }),
    (metric("fairways_program_planned_ways", ""), |row, put| {
        let planned = row.of.planned_ways.or(row.of.ways);
        one(put, planned.map(|ways| Value::Whole(ways.into())));
    }),
    (metric("fairways_program_mask", ""), |row, put| {
        fact(put, "mask", row.of.mask.as_deref());
    }),
    (metric("fairways_program_class", ""), |row, put| {
        fact(put, "class", row.of.class.as_deref());
    }),
    (
        metric("fairways_program_bandwidth_requested", "ratio"),
        |row, put| one(put, row.requested_level().and_then(|level| row.ratio(level))),
    ),
    (
        metric("fairways_program_bandwidth_effective", "ratio"),
        |row, put| one(put, row.of.bandwidth_level.and_then(|level| row.ratio(level))),
    ),
    (
        metric("fairways_program_bandwidth_requested", "bytes_per_second"),
        |row, put| one(put, row.requested_level().and_then(|level| row.rate(level))),
    ),
    (
        metric("fairways_program_bandwidth_effective", "bytes_per_second"),
        |row, put| one(put, row.of.bandwidth_level.and_then(|level| row.rate(level))),
    ),
    (
        metric("fairways_llc_occupancy", "bytes"),
        |row, put| one(put, row.bytes_of(row.of.occupancy_ways).map(Value::Whole)),
    ),
    (
        metric("fairways_llc_occupancy_at_least", "bytes"),
        |row, put| one(put, row.bytes_of(row.of.occupancy_ways_at_least).map(Value::Whole)),
    ),
    (
        counter("fairways_mbm_total", "Bytes that it moved from and to memory in its windows.")
            .in_unit("bytes").noted("; nothing while they are not counted, since a total that stands still would pass for no traffic"),
        |row, put| {
            // A total that stands still would pass for no traffic.
            if row.of.memory_bytes.is_some() {
                row.event(Counter::MemoryBytes, put);
            }
        },
    ),
    (counter("fairways_windows", "Its windows of counters that ended."), |row, put| {
        put(&[], Value::Whole(row.counted.windows));
    }),
    (
        counter("fairways_window", "The total length of its windows.").in_unit("seconds"),
        |row, put| {
            put(&[], seconds(row.counted.window_ns));
        },
    ),
    (
        counter("fairways_instructions", "Instructions that it retired in its windows."),
        |row, put| {
            row.event(Counter::Instructions, put);
        },
    ),
    (counter("fairways_cycles", "Core cycles that it ran in its windows."), |row, put| {
        row.event(Counter::Cycles, put);
    }),
    (
        counter(
            "fairways_llc_references",
            "Its references to the last-level cache in its windows.",
        ),
        |row, put| {
            row.event(Counter::LlcReferences, put);
        },
    ),
    (
        counter("fairways_llc_misses", "Its misses of the last-level cache in its windows."),
        |row, put| {
            row.event(Counter::LlcMisses, put);
        },
    ),
    (
        gauge(
            "fairways_program_slowdown",
            "How many times longer it took of late than alone with the whole cache, by its windows; nothing where that is not known.",
        )
        .in_unit("ratio").noted(", or the interval is wider than 30 % of it, as in [`fairways blame`](blame.md)"),
        |row, put| {
            if let Some(Slowdown::Known(slowdown)) = row.slowdown {
                put(&[], Value::Real(slowdown));
            }
        },
    ),
    (
        gauge(
            "fairways_program_slowdown_at_least",
            "A lower bound of the slowdown, where fairways_program_slowdown_ratio has no value.",
        )
        .in_unit("ratio").noted("; nothing where it may lose nothing"),
        |row, put| {
            if let Some(Slowdown::AtLeast(slowdown)) = row.slowdown {
                put(&[], Value::Real(slowdown));
            }
        },
    ),
    (
        metric("fairways_program_expected_slowdown", "ratio"),
        |row, put| one(put, row.of.expected_slowdown().map(Value::Real)),
    ),
    (
        metric("fairways_estimate", ""),
        |row, put| {
            for (what, value) in
                row.of.estimates.iter().filter(|(what, _)| *what != words::SLOWDOWN.text())
            {
                let (what, unit, value) = exported(what, *value);
                let labels = [("what", what), ("unit", unit.unwrap_or_default())];
                let count = if unit.is_some() { 2 } else { 1 };
                put(&labels[..count], Value::Real(value));
            }
        },
    ),
    (metric("fairways_program_baseline_ways", ""), |row, put| {
        one(put, row.of.baseline_ways.map(|ways| Value::Whole(ways.into())));
    }),
    (
        metric("fairways_objective", "seconds"),
        |row, put| row.objective(put, |of| Some(of.slo_ns)),
    ),
    (
        metric("fairways_latency", "seconds"),
        |row, put| row.objective(put, |of| of.latency_ns),
    ),
    (
        metric("fairways_objective_met", ""),
        |row, put| {
            one(put, row.of.objective.and_then(|of| of.met).map(|met| Value::Whole(met.into())))
        },
    ),
    (
        counter(
            "fairways_objective_windows",
            "Windows in which requests were answered, by whether the objective was met.",
        ).with_label("outcome").noted(": `met`, `missed`"),
        |row, put| {
            if row.of.objective.is_some() {
                put(&[("outcome", "met")], Value::Whole(row.counted.met));
                put(&[("outcome", "missed")], Value::Whole(row.counted.missed));
            }
        },
    ),
    (counter("fairways_requests", "Requests that it answered in its windows.").noted("; nothing before its source has reported any. If a service runs in several domains, each domain reports all of its requests: do not add them up"), |row, put| {
        one(put, row.counted.requests.map(Value::Whole));
    }),
    (
        metric("fairways_thread_ordered", "seconds"),
        |row, put| one(put, row.of.ordered_ns.map(seconds)),
    ),
    (
        metric("fairways_thread_cpus", ""),
        |row, put| {
            one(put, cpus(row.of.cpus.as_deref()));
        },
    ),
    (
        metric("fairways_program_best_effort", ""),
        |row, put| {
            put(&[], Value::Whole(row.of.best_effort.into()));
        },
    ),
    (
        metric("fairways_program_importance", ""),
        |row, put| one(put, row.of.importance.map(|times| Value::Whole(times.into()))),
    ),
];

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use fairways_testing::pages::{overwrites, with_table};

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/metrics.md");

    /// The metrics as rows of docs/metrics.md.
    fn rows<'a>(metrics: impl Iterator<Item = &'a Metric>) -> String {
        let mut rows = "| name | type | |\n|---|---|---|\n".to_owned();
        for metric in metrics {
            let label = match metric.label {
                "" => String::new(),
                label => format!("{{{label}}}"),
            };
            let kind = match metric.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge | MetricKind::Info => "gauge",
            };
            let help = metric.help.trim_end_matches('.');
            let name = metric.sample_name();
            let _ = writeln!(rows, "| `{name}{label}` | {kind} | {help}{} |", metric.note);
        }
        rows
    }

    /// `cargo xtask pages` writes them again.
    #[test]
    fn the_page_has_the_metrics_of_domains_and_programs() {
        let page = fs::read_to_string(PAGE).unwrap();
        let programs = rows(OF_PROGRAMS.iter().map(|(metric, _)| metric));
        let of_domains = OF_DOMAINS.iter().map(|(metric, _)| metric);
        let domains = rows(of_domains.chain([&PROMISED_WAYS]));
        let now = with_table(&page, "### Programs", &programs);
        let now = with_table(&now, "### Domains", &domains);
        if overwrites() {
            fs::write(PAGE, &now).unwrap();
        } else {
            assert!(page == now, "docs/metrics.md differs: `cargo xtask pages` writes it");
        }
    }
}
