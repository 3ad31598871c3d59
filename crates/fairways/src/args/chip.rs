//! The flags of a machine, and of a chip.

use clap::ValueEnum;

/// A machine.
#[derive(Clone, Debug)]
pub(crate) enum Machine {
    /// The analytic model over time.
    Model,
    /// A chip, by the name of its preset.
    Chip(String),
}

pub(super) fn machine(text: &str) -> Result<Machine, String> {
    match text.split_once(':') {
        None if text == "model" => Ok(Machine::Model),
        Some(("chip", preset)) => Ok(Machine::Chip(preset.to_owned())),
        _ => Err("expected model, or chip: and a preset".to_owned()),
    }
}

/// How programs that take turns are ordered.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchedulingClass {
    /// Round robin among equals
    FixedPriority,
    /// Feedback queue of Solaris: a program that uses up its turn runs later, and for longer
    TimeSharing,
}

/// A chip, and what runs on it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On a chip")]
pub(crate) struct ChipFlags {
    /// Programs: mlr:8M, mload:60M, lookbusy, and more (docs/chip.md), or names of profiles, whose
    /// miss curves they then follow
    #[arg(long, value_name = "A,B,C")]
    pub(crate) programs: Option<String>,

    /// How long a program is profiled with each number of ways, for policies that must be told
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub(crate) profile_time: String,

    /// Let programs take turns on the CPUs, each for so long at a time; without it each has a CPU to
    /// itself [default: 200ms where there are more programs than CPUs, or a policy schedules]
    #[arg(long, value_name = "TIME")]
    pub(crate) quantum: Option<String>,

    /// How programs that take turns are ordered [default: fixed-priority]
    #[arg(long, value_enum, value_name = "CLASS")]
    pub(crate) scheduling_class: Option<SchedulingClass>,

    /// Programs that are background work, whose CPU time cache-fair may give to others
    #[arg(long, value_name = "A,B,C")]
    pub(crate) best_effort: Option<String>,

    /// When requests come to services: so many a second (1400), closed:CLIENTS,
    /// closed:CLIENTS:THINK, bursty:RATE:TIMES:SHARE%:LENGTH, or stages of these (1400@10s+2800@5s);
    /// without a load, always (docs/chip.md)
    #[arg(long, value_name = "PROGRAM=LOAD,...")]
    pub(crate) loads: Option<String>,

    /// How soon services are to answer, which locpart heeds: 2ms (99 % of requests), p99.9:2ms, or
    /// changing (2ms@10s+1ms)
    #[arg(long, value_name = "PROGRAM=OBJECTIVE,...")]
    pub(crate) objectives: Option<String>,

    #[command(flatten)]
    pub(crate) how: How,
}

impl ChipFlags {
    /// The first flag that was given and that says what runs.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self { programs, quantum, scheduling_class, best_effort, loads, objectives, .. } = self;
        [
            ("--programs", programs),
            ("--quantum", quantum),
            ("--best-effort", best_effort),
            ("--loads", loads),
            ("--objectives", objectives),
        ]
        .into_iter()
        .find_map(|(flag, value)| value.is_some().then_some(flag))
        .or(scheduling_class.map(|_| "--scheduling-class"))
    }
}

/// How a chip is simulated.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Simulate one of so many sets of the last-level cache
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    pub(crate) set_sampling: String,

    /// The size of pages
    #[arg(long, value_name = "SIZE", default_value = "4K")]
    pub(crate) pages: Pages,

    /// Where pages are
    #[arg(long, value_name = "HOW", default_value = "random")]
    pub(crate) placement: Placement,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Pages {
    /// 4 KB
    #[value(name = "4K")]
    Small,
    /// 2 MB
    #[value(name = "2M")]
    Huge,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Placement {
    /// Each anywhere, as in memory that has been in use
    Random,
    /// One after the other
    Sequential,
}
