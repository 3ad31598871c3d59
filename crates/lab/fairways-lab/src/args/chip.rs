//! The flags of a machine, and of a chip.

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use fairways_chip::service::{Stage, parse_loads};
use fairways_chip::{Geometry, PagePlacement, PageSize, Settings, preset};
use fairways_command_kit::input::{at_most, time, whole};
use fairways_command_kit::{BadInput, objective};
use fairways_core::{Objective, Time};

use super::World;
use super::lists::{Pairs, pairs};
use fairways_simulation::Names;
use fairways_simulation::chip;
pub(crate) use fairways_simulation::chip::TimeScale;

/// A simulated machine.
#[derive(Clone, Debug)]
pub(crate) enum Machine {
    /// The analytic model over time.
    Model,
    Chip(ChipPreset),
}

impl FromStr for Machine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "model" => Ok(Self::Model),
            text if text.starts_with("chip:") => text.parse().map(Self::Chip),
            _ => Err(format!("expected model, or chip: and a preset, found {text:?}")),
        }
    }
}

/// A chip: `chip:xeon-e5`.
#[derive(Clone, Debug)]
pub(crate) struct ChipPreset {
    /// The preset's name, with the changes made to it.
    pub(crate) name: String,
    pub(crate) geometry: Geometry,
}

impl FromStr for ChipPreset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text
            .strip_prefix("chip:")
            .ok_or_else(|| format!("expected chip: and a preset, found {text:?}"))?;
        let geometry = preset::parse(name).map_err(|why| why.to_string())?;
        Ok(Self { name: name.to_owned(), geometry })
    }
}

/// How programs that take turns are ordered.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchedulingClass {
    /// Round robin among equals
    FixedPriority,
    /// Solaris' feedback queue: a program that uses up its turn runs later, and for longer
    TimeSharing,
}

/// Programs on a chip, and how they are scheduled.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On a chip")]
pub(crate) struct ChipFlags {
    /// Programs to run: mlr:8M, mload:60M, lookbusy, or names of profiles (docs/chip.md)
    ///
    /// A program named after a profile follows the miss curve of the profile.
    #[arg(long, value_name = "A,B,C")]
    pub(crate) programs: Option<Names>,

    /// Profile a program this long with each number of ways, for policies that need profiles
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = time)]
    pub(crate) profile_time: Duration,

    /// Let programs take turns on the CPUs, each this long [default: 200ms, or no turns]
    ///
    /// Without turns, each program has a CPU to itself. The default is 200ms if there are more
    /// programs than CPUs or a policy schedules, otherwise no turns.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) quantum: Option<Duration>,

    /// How programs that take turns are ordered [default: fixed-priority]
    #[arg(long, value_enum, value_name = "CLASS")]
    pub(crate) scheduling_class: Option<SchedulingClass>,

    /// Programs that are background work: cache-fair may give their CPU time to others,
    /// fairways plans for the others first
    #[arg(long, value_name = "A,B,C")]
    pub(crate) best_effort: Option<Names>,

    /// When requests arrive at services: 1400 (a second), closed:8, or bursty (docs/chip.md)
    /// [default: always]
    ///
    /// A load is a rate per second (1400), closed:CLIENTS, closed:CLIENTS:THINK,
    /// bursty:RATE:TIMES:SHARE%:LENGTH, or stages of these (1400@10s+2800@5s).
    #[arg(long, value_name = "PROGRAM=LOAD,...", value_parser = pairs("PROGRAM=LOAD", loads))]
    pub(crate) loads: Option<Pairs<Vec<Stage>>>,

    /// Latency objectives of services, for locpart, fairways, parties: 2ms, p99.9:2ms
    ///
    /// 2ms is for 99 % of requests. They may change over time: 2ms@10s+1ms.
    #[arg(
        long,
        value_name = "PROGRAM=OBJECTIVE,...",
        value_parser = pairs("PROGRAM=OBJECTIVE", objective::parse)
    )]
    pub(crate) objectives: Option<Pairs<Vec<(Time, Objective)>>>,

    #[command(flatten)]
    pub(crate) how: How,
}

impl ChipFlags {
    /// Whether a program is a command that runs while it is simulated.
    pub(super) fn names_live(&self) -> bool {
        self.programs.iter().any(|names| names.text.contains("live:"))
    }

    /// The profiles that are measured before a run; `for_all` if policies that learn get them, too.
    pub(super) fn profiling(&self, for_all: bool) -> chip::Profiling {
        chip::Profiling { span: self.profile_time, for_all }
    }

    /// The chip, and the programs on it; reads the files and checks every flag.
    pub(super) fn checked(
        &self,
        preset: &ChipPreset,
        TimeScale(time_scale): TimeScale,
        of: &World,
        policy_schedules: bool,
    ) -> Result<chip::World, BadInput> {
        let mut geometry = preset.geometry;
        geometry.llc.clos = of.clos;
        geometry.llc.min_bits = at_most(of.min_bits, "--min-bits", geometry.llc.ways.get())?;
        let settings = Settings { time_scale, ..self.how.settings(geometry, of.seed)? };
        let profiles = of.profiles.programs(of.phases.as_ref())?;
        let programs = required(self.programs.as_ref())?;
        let mut world = chip::World::new(&preset.name, settings, profiles.table(), programs)?;
        world.take_turns(self.quantum, self.scheduling_class.map(Into::into), policy_schedules)?;
        if let Some(programs) = &self.best_effort {
            world.set_best_effort(&programs.each)?;
        }
        if let Some(Pairs(baselines)) = &of.baselines {
            world.promise(baselines)?;
        }
        if let Some(Pairs(importance)) = &of.importance {
            world.weigh(importance)?;
        }
        if let Some(Pairs(loads)) = &self.loads {
            world.load(loads)?;
        }
        if let Some(Pairs(objectives)) = &self.objectives {
            world.oblige(objectives)?;
        }
        world.check_room()?;
        Ok(world)
    }
}

/// The programs to run on a chip, without which there is nothing to do.
pub(super) fn required(programs: Option<&Names>) -> Result<&[String], BadInput> {
    let expected = "expected programs to run on the chip, such as mlr:8M";
    let programs = programs.ok_or_else(|| BadInput(format!("--programs: {expected}")))?;
    Ok(&programs.each)
}

/// Reads the stages of a service's load.
pub(super) fn loads(text: &str) -> Result<Vec<Stage>, String> {
    parse_loads(text).map_err(|why| why.to_string())
}

/// How the memory of a chip is simulated.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct How {
    /// Simulate one of every N sets of the last-level cache
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, u32::MAX))]
    pub(crate) set_sampling: u32,

    /// The size of pages
    #[arg(long, value_name = "SIZE", default_value = "4K")]
    pub(crate) pages: Pages,

    /// Where pages lie in memory
    #[arg(long, value_name = "HOW", default_value = "random")]
    pub(crate) placement: Placement,
}

impl How {
    /// The settings of a chip, simulated like this.
    pub(crate) fn settings(self, chip: Geometry, seed: u64) -> Result<Settings, BadInput> {
        Ok(Settings {
            pages: self.pages.into(),
            placement: self.placement.into(),
            set_sampling: at_most(self.set_sampling, "--set-sampling", chip.sets)?,
            seed,
            ..Settings::new(chip)
        })
    }
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
    /// Anywhere, as in memory that has been in use
    Random,
    /// One after the other
    Sequential,
}

same!(SchedulingClass => fairways_chip::SchedulingClass: FixedPriority, TimeSharing);
same!(Pages => PageSize: Small, Huge);
same!(Placement => PagePlacement: Random, Sequential);
