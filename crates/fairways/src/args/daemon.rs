//! Flags of the daemon, and of who asks it.

use std::path::PathBuf;

use clap::ValueEnum;
use fairways_command_kit::input::whole;
use fairways_daemon::config::{self, ClockSource, CounterSource, Listen, ProgramConfig};
use fairways_record::explain;

/// What `fairways run` without --machine takes; each stands before the same key of the configuration (docs/config.md).
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "On this host")]
pub(crate) struct HostFlags {
    /// The configuration, instead of /etc/fairways/fairways.toml and its drop-ins
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// A program: NAME=SELECTOR, a selector being unit:, user-unit:, cgroup:, container:, pod:, process: or pid: and what; NAME.*=SELECTOR where
    /// every match is a program of its own; may be given more than once, and replaces those of the configuration
    #[arg(long, value_name = "NAME=SELECTOR")]
    pub(crate) program: Vec<ProgramConfig>,

    /// Decide, and say what would be done, and change nothing: not even groups to monitor by are made
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Watch programs in monitoring groups of their own, and decide, but leave their ways as they are
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) observe: bool,

    /// Where resctrl is mounted [default: /sys/fs/resctrl]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Where it is kept what is to be put back [default: /var/lib/fairways]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// What counts: perf, emulator or emulator:SOCKET, profiles:FILE (what profiles say of programs of these names; profiles
    /// alone is the embedded ones), or none [default: perf]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) counters: Option<CounterSource>,

    /// Whose time it is: real, or emulator or emulator:SOCKET, which lets the emulator's time pass [default: real]
    #[arg(long, value_name = "CLOCK")]
    pub(crate) clock: Option<ClockSource>,

    /// By what threads take turns under casc and cache-fair: auto is a scheduler in the kernel (sched_ext) where this fairways and
    /// the kernel have it, and threads' own affinity and weight else [default: auto]
    #[arg(long, value_name = "KIND")]
    pub(crate) scheduler: Option<SchedulerKind>,

    /// Move tasks out of other managers' groups too; they are put back in the end
    #[arg(long)]
    pub(crate) take_over: bool,

    /// Take other managers' monitoring groups of the root's group along with the program that has them for itself (Linux 6.5 and
    /// later); they are given back in the end
    #[arg(long)]
    pub(crate) adopt_monitors: bool,

    /// Keep what is not managed to so many ways; without it, it may fill every way
    #[arg(long, value_name = "WAYS", value_parser = whole(1, 31_u32))]
    pub(crate) confine_others: Option<u32>,

    /// Give out ways that hardware fills too (I/O)
    #[arg(long)]
    pub(crate) use_shareable: bool,

    /// The control socket, which `fairways status` asks [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,

    /// Answer Prometheus there: an address and a port such as 127.0.0.1:19750, or unix:/PATH (docs/metrics.md) [default: nowhere]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Listen>,

    /// Where to log: auto is the journal where systemd gave it, and else standard error [default: auto]
    #[arg(long, value_name = "TARGET")]
    pub(crate) log: Option<LogTarget>,

    /// How a line of the log looks on standard error: text, or json, an object a line [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// How much to log [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
}

impl HostFlags {
    /// Lays the flags over a configuration: what was not given stays as it is.
    pub(crate) fn lay_over(&self, config: &mut config::Config) {
        config.dry_run |= self.dry_run;
        config.observe |= self.observe;
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

/// Puts what a flag says in the place of what was there.
pub(crate) fn set<T: Clone>(place: &mut T, flag: &Option<T>) {
    if let Some(value) = flag {
        place.clone_from(value);
    }
}

/// By what threads take turns.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchedulerKind {
    /// A scheduler in the kernel where that can be, and threads' own affinity and weight else.
    Auto,
    /// A scheduler in the kernel.
    #[value(name = "sched_ext")]
    SchedExt,
    /// Threads' own affinity and weight.
    Affinity,
}

/// Where the log goes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogTarget {
    /// journald where standard error is connected to it, and standard error else.
    Auto,
    Journald,
    Stderr,
}

/// How a line of the log looks, on standard error.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    /// An object a line.
    Json,
}

/// How much is told.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// The same word of the configuration.
macro_rules! same {
    ($name:ident: $($word:ident),+) => {
        impl From<$name> for config::$name {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => Self::$word),+
                }
            }
        }
    };
}

same!(SchedulerKind: Auto, SchedExt, Affinity);
same!(LogTarget: Auto, Journald, Stderr);
same!(LogFormat: Text, Json);
same!(LogLevel: Error, Warn, Info, Debug, Trace);

/// Show how the daemon and its programs are
#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// The daemon's control socket [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,

    /// Print one JSON object instead of a table (docs/daemon.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say what was decided last, and why
///
/// Of a daemon that runs, or of a journal that `fairways run --journal` wrote: what happened, what the policy found out of the programs,
/// what it holds them to be, and what it did.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// Of this program only: when it was held to be something else, or was given other ways, CPUs or turns
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: Option<String>,

    /// The daemon's control socket [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET", conflicts_with = "journal")]
    pub(crate) control: Option<PathBuf>,

    /// A journal, instead of a daemon; its finished parts (FILE.0, ...) are read first
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// How many decisions; the last 256 are known
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "10",
        allow_negative_numbers = true,
        value_parser = whole(1, explain::MOST)
    )]
    pub(crate) last: usize,

    /// Print one JSON object instead of sentences (docs/explain.md)
    #[arg(long)]
    pub(crate) json: bool,
}

impl From<Explain> for explain::Options {
    fn from(Explain { program, control, journal, last, json }: Explain) -> Self {
        Self { program, control, journal, last, json }
    }
}

/// Put back what a daemon that was killed has left
///
/// What others have changed since stays as it is, and is told. The daemon does the same when it starts.
#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// The configuration, instead of /etc/fairways/fairways.toml and its drop-ins; of it, the two below hold
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Where resctrl is mounted [default: /sys/fs/resctrl]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Where the daemon kept what is to be put back [default: /var/lib/fairways]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,

    /// Say nothing where there is nothing to restore
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl From<Restore> for fairways_daemon::Restore {
    fn from(Restore { config, resctrl_root, state, json, quiet }: Restore) -> Self {
        Self { config, resctrl_root, state, json, quiet }
    }
}
