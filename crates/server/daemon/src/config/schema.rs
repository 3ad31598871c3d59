//! The daemon's configuration: its keys, and their defaults. docs/config.md describes them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use fairways_core::Objective;
use fairways_latency::Spec;
use fairways_programs::Selector;
use fairways_record::journal::LARGEST_PART;
use fairways_resctrl_client::Settings;
use serde::{Deserialize, Serialize};

use super::Listen;
use super::kubernetes::Kubernetes;
use super::values::{self, ClockSource, CounterSource};

/// The whole configuration. A key that no file sets has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The policy.
    #[serde(deserialize_with = "values::policy")]
    pub policy: String,
    /// Whether to watch only, and ask the policy nothing.
    pub observe: bool,
    /// Whether to decide only, and change nothing.
    pub dry_run: bool,
    /// Whether to watch programs by their counters alone, without resctrl.
    pub counters_only: bool,
    /// How often to look for programs where the kernel does not report them.
    #[serde(with = "values::span")]
    pub(crate) interval: Duration,
    /// Whether the daemon gives up, at its start, privileges that this configuration does not need.
    pub(crate) sandbox: bool,
    /// Parameters of the policy, by the paper's names.
    pub(crate) parameters: toml::Table,
    /// How resctrl is used.
    #[serde(with = "Resctrl")]
    pub resctrl: Settings,
    /// How threads take turns.
    pub scheduler: Scheduler,
    /// What is counted, and how.
    pub counters: Counters,
    /// The clock.
    pub clock: Clock,
    /// What is logged, and where.
    pub log: Log,
    /// Where the daemon answers `fairways status`.
    pub control: Control,
    /// Where it answers Prometheus.
    pub metrics: Metrics,
    /// The journal of events and actions.
    pub journal: Journal,
    /// Pods of Kubernetes.
    pub kubernetes: Kubernetes,
    /// The programs to manage.
    pub program: Vec<ProgramConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: fairways_policy::DEFAULT.to_owned(),
            observe: false,
            dry_run: false,
            counters_only: false,
            interval: Duration::from_millis(100),
            sandbox: true,
            parameters: toml::Table::new(),
            resctrl: Settings::default(),
            scheduler: Scheduler::default(),
            counters: Counters::default(),
            clock: Clock::default(),
            log: Log::default(),
            control: Control::default(),
            metrics: Metrics::default(),
            journal: Journal::default(),
            kubernetes: Kubernetes::default(),
            program: Vec::new(),
        }
    }
}

/// The section `[resctrl]`: the client's settings, and which of them a file may set.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Settings", bound(deserialize = ""), deny_unknown_fields, default)]
struct Resctrl {
    #[serde(deserialize_with = "values::path")]
    root: PathBuf,
    #[serde(deserialize_with = "values::path")]
    state: PathBuf,
    #[serde(skip)]
    boot_id: PathBuf,
    #[serde(skip)]
    sysfs: PathBuf,
    #[serde(skip)]
    proc: PathBuf,
    take_over: bool,
    #[serde(skip)]
    to_take: BTreeSet<i32>,
    adopt_monitors: bool,
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    confine_others: Option<u32>,
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    confine_io: Option<u32>,
    use_shareable: bool,
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    rmids: Option<u32>,
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    memory_mbps: Option<u32>,
    #[serde(skip)]
    only_watch: bool,
    #[serde(skip)]
    dry_run: bool,
    #[serde(skip)]
    patience: Duration,
    #[serde(skip)]
    try_again: Duration,
}

/// How threads take turns under a policy that schedules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// The kind of scheduler.
    pub kind: SchedulerKind,
    /// How long a turn is.
    #[serde(with = "values::turn")]
    pub(crate) quantum: Duration,
}

impl Default for Scheduler {
    fn default() -> Self {
        let quantum = fairways_turns::Settings::default().quantum;
        Self { kind: SchedulerKind::default(), quantum }
    }
}

/// The kind of scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerKind {
    /// A scheduler in the kernel where it can run, otherwise threads' own affinity and weight.
    #[default]
    Auto,
    /// A scheduler in the kernel.
    SchedExt,
    /// Threads' own affinity and weight.
    Affinity,
}

/// What is counted of programs, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counters {
    /// Where the counters come from.
    #[serde(with = "values::text")]
    pub source: CounterSource,
    /// The most file descriptors for counters.
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    pub(crate) descriptors: Option<u32>,
    /// What ends windows that are measured in instructions.
    pub(crate) windows: Windows,
}

/// What ends windows that are measured in instructions, where perf counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Windows {
    /// The kernel where it can, otherwise the daemon.
    #[default]
    Auto,
    /// The kernel, by its counters' overflows.
    Kernel,
    /// The daemon, which polls the counters.
    Polled,
}

/// The clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Clock {
    /// Where the time comes from.
    #[serde(with = "values::text")]
    pub source: ClockSource,
}

/// What is logged, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// Where it goes.
    pub target: LogTarget,
    /// How much is logged.
    pub level: LogLevel,
    /// How a line looks.
    pub format: LogFormat,
}

impl Log {
    /// Why the target and the format exclude each other, if they do.
    pub(crate) fn contradiction(self) -> Option<&'static str> {
        let is_none_of_ours = self.target == LogTarget::Journald && self.format == LogFormat::Json;
        is_none_of_ours.then_some(
            "log.format: expected text with journald, which keeps fields of its own; json is for standard error",
        )
    }
}

/// Where the log goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogTarget {
    /// journald where standard error is connected to it, otherwise standard error.
    #[default]
    Auto,
    /// journald.
    Journald,
    /// Standard error.
    Stderr,
}

/// How a line of the log looks, on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text.
    #[default]
    Text,
    /// An object a line.
    Json,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Failures.
    Error,
    /// Also what is not as it should be.
    Warn,
    /// Also what is done.
    #[default]
    Info,
    /// Also what the policy says.
    Debug,
    /// Also everything else.
    Trace,
}

impl ProgramConfig {
    /// A program whose owner asks for nothing.
    pub const fn new(name: String, select: Selector) -> Self {
        Self {
            name,
            select,
            each: false,
            baseline_ways: None,
            best_effort: false,
            importance: None,
            objective: None,
            latency: None,
        }
    }
}

/// Where the daemon answers `fairways status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// The socket.
    #[serde(deserialize_with = "values::path")]
    pub socket: PathBuf,
}

impl Default for Control {
    fn default() -> Self {
        Self { socket: "/run/fairways/fairways.sock".into() }
    }
}

/// Where the daemon answers Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// The address, or the socket; without it there are no metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<Listen>,
    /// A file with the token that a client must show to read `/metrics`; without it, every client
    /// may.
    #[serde(deserialize_with = "values::optional_path", skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
}

/// The journal of events and actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Journal {
    /// The file; without it, no journal is written.
    #[serde(deserialize_with = "values::optional_path", skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The size of a part in bytes, after which a new one begins.
    #[serde(with = "values::size")]
    pub size: u64,
    /// How many finished parts are kept.
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    pub parts: Option<u32>,
}

impl Default for Journal {
    fn default() -> Self {
        Self { file: None, size: LARGEST_PART, parts: Some(16) }
    }
}

/// A program to manage, or several that one selector matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramConfig {
    /// Its name in plans and logs.
    #[serde(deserialize_with = "values::name")]
    pub name: String,
    /// Which processes belong to it.
    #[serde(with = "values::text")]
    pub(crate) select: Selector,
    /// Whether each match of `select` is a program of its own.
    #[serde(default)]
    pub(crate) each: bool,
    /// The number of ways that it is guaranteed (dCat's baseline).
    #[serde(
        default,
        deserialize_with = "values::at_least_one",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) baseline_ways: Option<u32>,
    /// Whether its CPU time may be given to other programs (cache-fair).
    #[serde(default)]
    pub(crate) best_effort: bool,
    /// How many programs it counts as, where a policy adds programs up (`fairways`).
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
    /// Where its latencies are read.
    #[serde(
        default,
        deserialize_with = "values::latency",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) latency: Option<values::Asked<Option<Spec>>>,
}
