//! Flags of the daemon and its clients.

use std::path::PathBuf;

use clap::ValueEnum;
use fairways_command_kit::input::whole;
use fairways_daemon::config::{self, ClockSource, CounterSource, Listen, ProgramConfig};

/// Flags of `fairways run`. Each overrides the configuration's key of the same
/// meaning (docs/config.md).
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "On this host")]
pub(crate) struct HostFlags {
    /// Configuration to read instead of /etc/fairways/fairways.toml
    ///
    /// It also replaces the drop-ins, /etc/fairways/fairways.toml.d/*.toml; FILE.d/*.toml are read
    /// on top of it.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// A program to manage, such as web=unit:nginx.service; may be given more than once
    ///
    /// A selector is unit:, user-unit:, cgroup:, container:, pod:, process: or pid:, and a name or
    /// number. NAME.*=SELECTOR makes each match a program of its own. The flag replaces the
    /// programs of the configuration.
    #[arg(long, value_name = "NAME=SELECTOR")]
    pub(crate) program: Vec<ProgramConfig>,

    /// Decide and print what would be done, but change nothing
    ///
    /// Not even monitoring groups are made.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Monitor programs and decide, but leave their ways unchanged
    ///
    /// Each program is monitored in a group of its own.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) observe: bool,

    /// Watch programs by their counters alone, without resctrl, for `blame`
    ///
    /// Nothing is changed, and occupancies are estimated from misses. It needs --policy stock.
    #[arg(long, conflicts_with_all = ["dry_run", "observe"])]
    pub(crate) counters_only: bool,

    /// Where resctrl is mounted [default: /sys/fs/resctrl]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Where the state needed for `restore` is kept [default: /var/lib/fairways]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// Source of counters: perf, emulator or none [default: perf]
    ///
    /// The emulator may be given by its socket, emulator:SOCKET.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) counters: Option<CounterSource>,

    /// Clock to run by: real or emulator [default: real]
    ///
    /// emulator, or emulator:SOCKET, advances the emulator's clock.
    #[arg(long, value_name = "CLOCK")]
    pub(crate) clock: Option<ClockSource>,

    /// How casc and cache-fair schedule threads [default: auto]
    ///
    /// By a scheduler in the kernel (sched_ext), by the threads' affinity and weight (affinity), or
    /// by the first of these that this build and the kernel support (auto).
    #[arg(long, value_name = "KIND")]
    pub(crate) scheduler: Option<SchedulerKind>,

    /// Also move tasks out of other managers' groups, until exit
    ///
    /// They are moved back on exit.
    #[arg(long)]
    pub(crate) take_over: bool,

    /// Adopt other managers' monitoring groups, until exit
    ///
    /// It adopts groups in the root group that monitor one program only, and gives them back on
    /// exit (Linux 6.5 and later).
    #[arg(long)]
    pub(crate) adopt_monitors: bool,

    /// Limit unmanaged programs to N ways, at most 31 [default: all ways]
    #[arg(long, value_name = "N", value_parser = whole(1, 31_u32))]
    pub(crate) confine_others: Option<u32>,

    /// Also give out ways that devices fill (I/O)
    #[arg(long)]
    pub(crate) use_shareable: bool,

    /// Control socket, for `status`, `explain` and `top` [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,

    /// Serve metrics for Prometheus at an address and port, such as 127.0.0.1:19750, or at
    /// unix:/PATH [default: no metrics]
    ///
    /// The metrics are listed in docs/metrics.md.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Listen>,

    /// Where to log [default: auto]
    ///
    /// auto is journald if standard error is connected to it, otherwise stderr.
    #[arg(long, value_name = "TARGET")]
    pub(crate) log: Option<LogTarget>,

    /// Format of log lines [default: text]
    ///
    /// It applies to standard error; json is one object a line.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// Least severe messages to log [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
}

impl HostFlags {
    /// Overrides a configuration by the flags that were given.
    pub(crate) fn lay_over(&self, config: &mut config::Config) {
        config.dry_run |= self.dry_run;
        config.observe |= self.observe;
        config.counters_only |= self.counters_only;
        let resctrl = &mut config.resctrl;
        set(&mut resctrl.root, &self.resctrl_root);
        set(&mut resctrl.state, &self.state);
        resctrl.take_over |= self.take_over;
        resctrl.adopt_monitors |= self.adopt_monitors;
        resctrl.confine_others = self.confine_others.or(resctrl.confine_others);
        resctrl.use_shareable |= self.use_shareable;
        set(&mut config.counters.source, &self.counters);
        set(&mut config.clock.source, &self.clock);
        set(&mut config.scheduler.kind, &self.scheduler.map(Into::into));
        set(&mut config.control.socket, &self.control);
        config.metrics.listen = self.metrics.clone().or(config.metrics.listen.take());
        set(&mut config.log.target, &self.log.map(Into::into));
        set(&mut config.log.format, &self.log_format.map(Into::into));
        set(&mut config.log.level, &self.log_level.map(Into::into));
        if !self.program.is_empty() {
            config.program.clone_from(&self.program);
        }
    }
}

/// Replaces a value by a flag's, if the flag was given.
pub(crate) fn set<T: Clone>(place: &mut T, flag: &Option<T>) {
    if let Some(value) = flag {
        place.clone_from(value);
    }
}

/// How threads are scheduled.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchedulerKind {
    /// A scheduler in the kernel if it is available, otherwise threads' affinity and weight.
    Auto,
    /// A scheduler in the kernel.
    #[value(name = "sched_ext")]
    SchedExt,
    /// Threads' affinity and weight.
    Affinity,
}

/// Where the log goes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogTarget {
    /// journald if standard error is connected to it, otherwise standard error.
    Auto,
    Journald,
    Stderr,
}

/// Format of log lines on standard error.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    /// One object a line.
    Json,
}

/// Least severe messages to log.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

same!(SchedulerKind => config::SchedulerKind: Auto, SchedExt, Affinity);
same!(LogTarget => config::LogTarget: Auto, Journald, Stderr);
same!(LogFormat => config::LogFormat: Text, Json);
same!(LogLevel => config::LogLevel: Error, Warn, Info, Debug, Trace);

/// Show the state of the daemon and its programs
///
/// Examples:
///   fairways status
///   fairways status --json
///   fairways status --control /tmp/fairways.sock
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Status {
    /// Control socket of the daemon [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,

    /// Print one JSON object instead of a table (docs/daemon.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Undo the changes of a daemon that was killed
///
/// Examples:
///   fairways restore
///   fairways restore --quiet
///   fairways restore --config fairways.toml --json
///
/// Anything that another manager has changed since stays as it is, and is
/// reported. The daemon does the same when it starts.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Restore {
    /// Configuration to read instead of /etc/fairways/fairways.toml and its drop-ins; only the
    /// values of the next two flags are taken from it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Where resctrl is mounted [default: /sys/fs/resctrl]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Where the daemon kept the state needed for `restore` [default: /var/lib/fairways]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing if there is nothing to restore
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl From<Restore> for fairways_daemon::Restore {
    fn from(Restore { config, resctrl_root, state, json, quiet }: Restore) -> Self {
        Self { config, resctrl_root, state, json, quiet }
    }
}
