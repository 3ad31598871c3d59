//! Every metric: its name, its meaning, and where its value comes from. docs/metrics.md lists them;
//! a test compares.
//!
//! Names follow node_exporter and cAdvisor: base units, `_total` on counters, `_info` on facts.

use fairways_core::Counter;
use fairways_policy::words;
use fairways_record::blame::Slowdown;
use fairways_record::status::DomainStatus;
use prometheus_client::metrics::MetricType;

use super::estimate::exported;
use super::row::{Put, Row, Value, cpus, fact, one, seconds};

/// A metric. Its unit follows its name; in samples, `_total` follows for counters and `_info` for
/// infos.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) unit: Option<&'static str>,
    pub(super) kind: MetricType,
    pub(super) help: &'static str,
}

impl Family {
    const fn new(name: &'static str, kind: MetricType, help: &'static str) -> Self {
        Self { name, unit: None, kind, help }
    }

    const fn in_unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }
}

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family::new(name, MetricType::Counter, help)
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family::new(name, MetricType::Gauge, help)
}

const fn info(name: &'static str, help: &'static str) -> Family {
    Family::new(name, MetricType::Info, help)
}

pub(super) const BUILD: Family =
    info("fairways_build", "The daemon's version, and the commit that it was built from.");
pub(super) const POLICY: Family = info(
    "fairways_policy",
    "The policy, and what happens to its plans: manage, observe or counters-only.",
);
pub(super) const KEEPS_BASELINES: Family = gauge(
    "fairways_keeps_baselines",
    "1 if the policy guarantees baselines and its plans are carried out; otherwise 0.",
);
pub(super) const SCHEDULER: Family =
    info("fairways_scheduler", "How threads take turns, under a policy that schedules.");
pub(super) const SCHEDULER_ENDED: Family =
    counter("fairways_scheduler_ended", "How often the kernel has ended the scheduler.");
pub(super) const THREADS_WITHOUT_ROOM: Family = counter(
    "fairways_scheduler_threads_without_room",
    "How often the scheduler had no room for a thread, which then ran where its owner lets it.",
);
pub(super) const FAILED: Family = gauge(
    "fairways_policy_failed",
    "1 if the policy has failed in a domain, where the daemon no longer asks it; otherwise 0.",
);
pub(super) const UNMATCHED: Family = gauge(
    "fairways_program_unmatched",
    "1 for each program that the configuration names and that has no process now.",
);
pub(super) const COUNTED: Family = gauge(
    "fairways_event_counted",
    "1 for each counter that is counted; 0 where nothing that runs reads it, or this host can't count it.",
);
pub(super) const CLOCK: Family =
    gauge("fairways_clock", "The machine's clock at the last event, from the daemon's start on.")
        .in_unit("seconds");
pub(super) const DECISIONS: Family = counter(
    "fairways_policy_decisions",
    "Plans by outcome: applied (observed where nothing is changed), refused by the machine; failed: the policy failed instead.",
);
pub(super) const THREADS: Family = counter(
    "fairways_thread_decisions",
    "What a policy that schedules decided for threads: allowed on CPUs, raised or no longer, ordered a turn's length.",
);
pub(super) const ERRORS: Family = counter(
    "fairways_actuation_errors",
    "Operations that resctrl or the scheduler refused, by the name of the error number, or a word where it has none.",
);
pub(super) const UNAVAILABLE: Family = counter(
    "fairways_sample_unavailable",
    "Windows of all programs in which the event could not be read.",
);
pub(super) const WINDOWS: Family = counter(
    "fairways_sample_windows",
    "Windows of all programs that ended, including programs that have exited.",
);
pub(super) const CAUSED: Family = gauge(
    "fairways_slowdown_caused",
    "What a culprit costs a victim by the cache or by the bus, in units of the victim's time alone.",
)
.in_unit("ratio");
pub(super) const CAUSED_LEFT_OUT: Family = gauge(
    "fairways_slowdown_caused_left_out",
    "How many such losses are as large, and left out because there are more of them than are shown.",
);
pub(super) const CLOSIDS: Family = gauge(
    "fairways_closids",
    "Classes of service: used by Fairways, others (the root's is one), and free.",
);
pub(super) const RMIDS: Family = gauge(
    "fairways_rmids",
    "Monitoring ids: used by Fairways, others (the root's is one), and free, those in limbo included.",
);
pub(super) const CORE_ENERGY: Family = counter(
    "fairways_core_energy",
    "Energy that cores used for it in all domains, since it was first monitored; only where packages count it.",
)
.in_unit("joules");
pub(super) const ACTIVITY: Family = counter(
    "fairways_activity",
    "Its activity on cores in all domains, whatever their frequency and voltage; only where packages count it.",
)
.in_unit("farads");
pub(super) const TRAFFIC_COUNTERS: Family = gauge(
    "fairways_traffic_counters",
    "Counters of memory traffic that are assigned to groups: used by Fairways, others, and free; only where hardware does not give them out by itself.",
);
pub(super) const TRAFFIC_FILTERED: Family = gauge(
    "fairways_traffic_filtered",
    "1 for each domain in which somebody changed what mbm_total_bytes counts: bytes of programs are not all of their traffic.",
);
pub(super) const NRI_CONNECTED: Family = gauge(
    "fairways_nri_connected",
    "1 if the container runtime has the daemon as its plugin; otherwise 0.",
);
pub(super) const NRI_STARTED: Family = counter(
    "fairways_nri_containers_started",
    "Containers that the runtime announced, by outcome: in_time, late if they started before the daemon had handled them.",
);
pub(super) const NRI_WAITED: Family =
    counter("fairways_nri_start_wait", "How long starting containers waited for the daemon.")
        .in_unit("seconds");
pub(super) const WRONG_ANNOTATIONS: Family = counter(
    "fairways_pod_annotations_wrong",
    "Annotations of pods that are wrong, each time that a container with one was announced; the log has them.",
);
pub(super) const WITHOUT_PLACE: Family = gauge(
    "fairways_pod_programs_without_place",
    "Programs that pods ask for and that are not managed, because others have the places; degraded has their namespaces.",
);
pub(super) const PROMISED_WAYS: Family = gauge(
    "fairways_domain_promised_ways",
    "Ways that programs are guaranteed together; above fairways_domain_ways, not all of these promises can be kept.",
);
pub(super) const STARTED: Family =
    gauge("process_start_time", "When the daemon began, since 1970.").in_unit("seconds");
pub(super) const CPU: Family = counter("process_cpu", "The daemon's CPU time.").in_unit("seconds");
pub(super) const RESIDENT: Family =
    gauge("process_resident_memory", "How much of the daemon is in memory.").in_unit("bytes");
pub(super) const OPEN: Family = gauge("process_open_fds", "The daemon's file descriptors.");
pub(super) const MOST: Family =
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
pub(super) const OF_DOMAINS: [(Family, OfDomain); 7] = [
    (gauge("fairways_domain_ways", "Ways that the policy may give out."), |of| {
        // A policy that schedules gives out turns instead.
        of.quantum_ns.is_none().then(|| Value::Whole(of.ways.into()))
    }),
    (gauge("fairways_way", "The size of one way of the cache.").in_unit("bytes"), |of| {
        of.way_bytes.map(Value::Whole)
    }),
    (gauge("fairways_clusters", "Clusters of the plan in force."), |of| {
        of.plan.map(|_| Value::Whole(of.clusters.len() as u64))
    }),
    (
        gauge(
            "fairways_memory_capacity",
            "What programs can move from and to memory together, as resctrl.memory_mbps has it.",
        )
        .in_unit("bytes_per_second"),
        |of| {
            let mbps = of.bandwidth?.capacity_mbps?;
            Some(Value::Whole(u64::from(mbps) * 1_000_000))
        },
    ),
    (
        gauge(
            "fairways_plan_refused",
            "1 if the machine refused the last plan, and the previous one stays in force; otherwise 0.",
        ),
        |of| Some(Value::Whole(of.refused.is_some().into())),
    ),
    (
        gauge(
            "fairways_domain_cpus",
            "CPUs on which threads take turns, under a policy that schedules.",
        ),
        |of| cpus(of.cpus.as_deref()),
    ),
    (
        gauge("fairways_quantum", "How long a turn is, under a policy that schedules.")
            .in_unit("seconds"),
        |of| of.quantum_ns.map(seconds),
    ),
];

/// A domain's value; `None` where it is missing.
pub(super) type OfDomain = fn(&DomainStatus) -> Option<Value>;

/// Puts a program's samples on the page; none where they are missing.
pub(super) type OfProgram = fn(&Row<'_>, &mut Put<'_>);

/// The metrics of each program, in each domain in which it runs.
pub(super) const OF_PROGRAMS: [(Family, OfProgram); 31] = [
    (gauge("fairways_program_ways", "Ways that it may fill."), |row, put| {
        one(put, row.of.ways.map(|ways| Value::Whole(ways.into())));
    }),
    (gauge("fairways_program_planned_ways", "Ways that the plan gives it."), |row, put| {
        let planned = row.of.planned_ways.or(row.of.ways);
        one(put, planned.map(|ways| Value::Whole(ways.into())));
    }),
    (info("fairways_program_mask", "Its mask, as schemata has it."), |row, put| {
        fact(put, "mask", row.of.mask.as_deref());
    }),
    (info("fairways_program_class", "Its class under the policy."), |row, put| {
        fact(put, "class", row.of.class.as_deref());
    }),
    (
        gauge(
            "fairways_program_bandwidth_requested",
            "The limit of its memory bandwidth that the plan has, where that is a percent.",
        )
        .in_unit("ratio"),
        |row, put| one(put, row.requested_level().and_then(|level| row.ratio(level))),
    ),
    (
        gauge(
            "fairways_program_bandwidth_effective",
            "The limit of its memory bandwidth that is in force, where that is a percent.",
        )
        .in_unit("ratio"),
        |row, put| one(put, row.of.bandwidth_level.and_then(|level| row.ratio(level))),
    ),
    (
        gauge(
            "fairways_program_bandwidth_requested",
            "The limit of its memory bandwidth that the plan has, where that is a rate.",
        )
        .in_unit("bytes_per_second"),
        |row, put| one(put, row.requested_level().and_then(|level| row.rate(level))),
    ),
    (
        gauge(
            "fairways_program_bandwidth_effective",
            "The limit of its memory bandwidth that is in force, where that is a rate.",
        )
        .in_unit("bytes_per_second"),
        |row, put| one(put, row.of.bandwidth_level.and_then(|level| row.rate(level))),
    ),
    (
        gauge(
            "fairways_llc_occupancy",
            "The cache that it occupied at the end of its last window.",
        )
        .in_unit("bytes"),
        |row, put| one(put, row.bytes_of(row.of.occupancy_ways).map(Value::Whole)),
    ),
    (
        gauge(
            "fairways_llc_occupancy_at_least",
            "The cache that it occupied at least, where that is all that is known: it ran before it was monitored.",
        )
        .in_unit("bytes"),
        |row, put| one(put, row.bytes_of(row.of.occupancy_ways_at_least).map(Value::Whole)),
    ),
    (
        counter("fairways_mbm_total", "Bytes that it moved from and to memory in its windows.")
            .in_unit("bytes"),
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
        .in_unit("ratio"),
        |row, put| {
            if let Some(Slowdown::Known(slowdown)) = row.slowdown {
                put(&[], Value::Real(slowdown));
            }
        },
    ),
    (
        gauge(
            "fairways_program_slowdown_at_least",
            "What is known of it where it is not known: at least this.",
        )
        .in_unit("ratio"),
        |row, put| {
            if let Some(Slowdown::AtLeast(slowdown)) = row.slowdown {
                put(&[], Value::Real(slowdown));
            }
        },
    ),
    (
        gauge(
            "fairways_program_expected_slowdown",
            "The slowdown that the policy expects with the ways that it gives: against the whole cache, or as much as it is fastest with.",
        )
        .in_unit("ratio"),
        |row, put| one(put, row.of.expected_slowdown().map(Value::Real)),
    ),
    (
        gauge(
            "fairways_estimate",
            "Other numbers that the policy derived for it, by the paper's words, each in its unit.",
        ),
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
    (gauge("fairways_program_baseline_ways", "Ways that it is guaranteed."), |row, put| {
        one(put, row.of.baseline_ways.map(|ways| Value::Whole(ways.into())));
    }),
    (
        gauge("fairways_objective", "The limit of its latency, at this percentile.")
            .in_unit("seconds"),
        |row, put| row.objective(put, |of| Some(of.slo_ns)),
    ),
    (
        gauge(
            "fairways_latency",
            "Its latency in the last window, at this percentile; nothing if no request was answered.",
        )
        .in_unit("seconds"),
        |row, put| row.objective(put, |of| of.latency_ns),
    ),
    (
        gauge(
            "fairways_objective_met",
            "1 if the objective was met in the last window, 0 if not; nothing if no request was answered.",
        ),
        |row, put| {
            one(put, row.of.objective.and_then(|of| of.met).map(|met| Value::Whole(met.into())))
        },
    ),
    (
        counter(
            "fairways_objective_windows",
            "Windows in which requests were answered, by whether the objective was met.",
        ),
        |row, put| {
            if row.of.objective.is_some() {
                put(&[("outcome", "met")], Value::Whole(row.counted.met));
                put(&[("outcome", "missed")], Value::Whole(row.counted.missed));
            }
        },
    ),
    (counter("fairways_requests", "Requests that it answered in its windows."), |row, put| {
        one(put, row.counted.requests.map(Value::Whole));
    }),
    (
        gauge("fairways_thread_ordered", "The length last ordered for the thread's next turn.")
            .in_unit("seconds"),
        |row, put| one(put, row.of.ordered_ns.map(seconds)),
    ),
    (
        gauge(
            "fairways_thread_cpus",
            "How many CPUs the thread may run on; nothing while it may run on all.",
        ),
        |row, put| {
            one(put, cpus(row.of.cpus.as_deref()));
        },
    ),
    (
        gauge(
            "fairways_program_best_effort",
            "1 if it is background work, whose CPU time may go to others; otherwise 0.",
        ),
        |row, put| {
            put(&[], Value::Whole(row.of.best_effort.into()));
        },
    ),
    (
        gauge(
            "fairways_program_importance",
            "How many programs it counts as, where a policy adds programs up.",
        ),
        |row, put| one(put, row.of.importance.map(|times| Value::Whole(times.into()))),
    ),
];
