//! The daemon's configuration: its keys, and their defaults. docs/config.md describes them.

use std::path::PathBuf;
use std::time::Duration;

use fairways_core::Objective;
use fairways_latency::Spec;
use fairways_programs::Selector;
use fairways_resctrl_client::Settings;
use serde::{Deserialize, Serialize};

use super::Listen;
use super::values::{self, ClockSource, CounterSource};

/// All that can be set. What a file does not set is as it is by default.
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
    /// How often programs are looked for where the kernel does not tell.
    #[serde(with = "values::span")]
    pub(crate) interval: Duration,
    /// Whether the daemon gives up, at its start, what this configuration does not need.
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
    /// Whose time it is.
    pub clock: Clock,
    /// What is told, and where.
    pub log: Log,
    /// Where the daemon answers `fairways status`.
    pub control: Control,
    /// Where it answers Prometheus.
    pub metrics: Metrics,
    /// The journal of events and actions.
    pub journal: Journal,
    /// Whom to manage.
    pub program: Vec<ProgramConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: "lfoc".to_owned(),
            observe: false,
            dry_run: false,
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
    adopt_monitors: bool,
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    confine_others: Option<u32>,
    use_shareable: bool,
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    rmids: Option<u32>,
    #[serde(skip)]
    dry_run: bool,
    #[serde(skip)]
    patience: Duration,
    #[serde(skip)]
    try_again: Duration,
}

/// How threads take turns under a policy that says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// By what.
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

/// By what threads take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerKind {
    /// A scheduler in the kernel where that can be, and threads' own affinity and weight else.
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
    /// Who says when a window by instructions is over.
    pub(crate) windows: Windows,
}

/// Who says when a window by instructions is over, where perf counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Windows {
    /// The kernel where it can, and the daemon else.
    #[default]
    Auto,
    /// The kernel, by its counters' overflows.
    Kernel,
    /// The daemon, which reads the counters now and then.
    Polled,
}

/// Whose time it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Clock {
    /// Where it comes from.
    #[serde(with = "values::text")]
    pub source: ClockSource,
}

/// What is told, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// Where it goes.
    pub target: LogTarget,
    /// How much is told.
    pub level: LogLevel,
    /// How a line looks.
    pub format: LogFormat,
}

impl Log {
    /// Why both can't hold together.
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
    /// journald where standard error is connected to it, and standard error else.
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

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// And what is not as it should be.
    Warn,
    /// And what is done.
    #[default]
    Info,
    /// And what the policy says.
    Debug,
    /// And all else.
    Trace,
}

impl ProgramConfig {
    /// A program without wishes.
    pub const fn new(name: String, select: Selector) -> Self {
        Self {
            name,
            select,
            each: false,
            baseline_ways: None,
            best_effort: false,
            objective: None,
            latency: None,
        }
    }
}

/// Where the daemon is asked.
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

/// Where Prometheus is answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// The address, or the socket; without it nobody is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<Listen>,
    /// A file with the token that a client must show to read `/metrics`; without it everybody may.
    #[serde(deserialize_with = "values::optional_path", skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
}

/// The journal of events and actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Journal {
    /// The file; without it none is written.
    #[serde(deserialize_with = "values::optional_path", skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Bytes after which a new part begins.
    #[serde(with = "values::size")]
    pub size: u64,
    /// How many finished parts are kept.
    #[serde(deserialize_with = "values::at_least_one", skip_serializing_if = "Option::is_none")]
    pub parts: Option<u32>,
}

impl Default for Journal {
    fn default() -> Self {
        Self { file: None, size: 256 << 20, parts: Some(16) }
    }
}

/// A program, or several, to be managed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramConfig {
    /// What it is called in plans and logs.
    #[serde(deserialize_with = "values::name")]
    pub name: String,
    /// Which processes it is.
    #[serde(with = "values::text")]
    pub(crate) select: Selector,
    /// Whether everything that `select` finds is a program of its own.
    #[serde(default)]
    pub(crate) each: bool,
    /// Ways that it is promised (dCat's baseline).
    #[serde(
        default,
        deserialize_with = "values::at_least_one",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) baseline_ways: Option<u32>,
    /// Whether others may be given its CPU time (cache-fair).
    #[serde(default)]
    pub(crate) best_effort: bool,
    /// How soon it is to answer, as it was written.
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
