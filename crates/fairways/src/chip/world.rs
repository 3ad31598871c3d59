//! A chip and its programs, from checked flags.

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::program::{LiveProgram, ParsedPhases, parse, profiled};
use fairways_chip::{AfterRun, Chip, Job, Phase, Scheduling, SchedulingClass, Settings};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::at_most;
use fairways_command_kit::similar::did_you_mean;
use fairways_lab::ChipProtocol;
use fairways_policy::{Descriptor, descriptor};

use crate::args::suits;
use crate::args::{self, ChipFlags, ChipPreset, Machine, Pairs, Simulate, TimeScale};
use crate::world::{profiles, promised, warn_of_promises};

/// How texts of programs begin (docs/chip.md), to suggest one for a misspelt text.
const KINDS: [&str; 10] =
    ["mlr", "mload", "chase", "blocked", "zipf", "regions", "trace", "live", "lookbusy", "idle"];

/// A chip, and the programs on it.
pub(crate) struct World {
    pub(crate) preset: String,
    pub(crate) settings: Settings,
    /// As they were written.
    pub(crate) names: Vec<String>,
    pub(crate) jobs: Vec<Job>,
}

/// A comparison that can be made.
pub(super) struct Checked {
    pub(super) world: World,
    pub(super) protocol: ChipProtocol,
    pub(super) policies: Vec<&'static str>,
}

impl World {
    /// Reads the files and checks every flag.
    pub(crate) fn new(
        preset: &ChipPreset,
        flags: &ChipFlags,
        TimeScale(time_scale): TimeScale,
        world: &args::World,
        schedules: bool,
    ) -> Result<Self, BadInput> {
        let mut chip = preset.geometry;
        chip.llc.clos = world.clos;
        chip.llc.min_bits = at_most(world.min_bits, "--min-bits", chip.llc.ways.get())?;
        let settings = Settings { time_scale, ..flags.how.settings(chip, world.seed)? };
        let table = profiles(world)?;
        let profile = |name: &str| {
            let index = table.table().find(name)?;
            let ways = table.table().ways().min(chip.llc.ways);
            profiled(table.table(), index, ways, chip.latency).ok()
        };
        let texts = flags.programs.as_ref().map(|programs| &programs.each).ok_or_else(|| {
            BadInput("--programs: expected programs to run on the chip, such as mlr:8M".to_owned())
        })?;
        let names: Vec<String> = texts.iter().map(|text| name_of(text)).collect();
        let written = texts.iter().map(|text| {
            parse(text, profile).map_err(|why| {
                let kind = text.split(':').next().unwrap_or_default();
                BadInput(format!("--programs: {why}{}", did_you_mean(kind, KINDS)))
            })
        });
        let keyed = |(key, written): (u64, Result<ParsedPhases, BadInput>)| Ok(job(written?, key));
        let jobs = (0..).zip(written).map(keyed).collect::<Result<Vec<Job>, BadInput>>()?;
        let has_live = jobs.iter().any(|job| job.live().next().is_some());
        let has_services = jobs.iter().any(|job| job.requests().is_some());
        if has_services && (flags.quantum.is_some() || schedules) {
            let said = "a service has a CPU to itself: expected no --quantum, and no policy that schedules";
            return Err(BadInput(format!("--programs: {said}")));
        }
        let too_many = jobs.len() > chip.cpus() as usize && !has_live && !has_services;
        let scheduler = scheduling(flags, schedules || too_many)?;
        let settings = Settings { scheduler, ..settings };
        let mut world_of = Self { preset: preset.name.clone(), settings, names, jobs };
        if let Some(programs) = &flags.best_effort {
            for name in &programs.each {
                world_of.named("--best-effort", name)?.for_each(|job| job.wish.best_effort = true);
            }
        }
        if let Some(baselines) = &world.baselines {
            world_of.promise(baselines)?;
            let total = promised(world_of.jobs.iter().map(|job| job.wish));
            warn_of_promises(total, chip.llc.ways);
        }
        if let Some(loads) = &flags.loads {
            world_of.load(loads)?;
        }
        if let Some(objectives) = &flags.objectives {
            world_of.oblige(objectives)?;
        }
        // Checks that the chip has room for all programs.
        let tried = Chip::new(settings, world_of.jobs.iter().cloned());
        tried.map_err(|why| BadInput(format!("--programs: {why}")))?;
        Ok(world_of)
    }

    /// Prints remarks for the user about real programs that have run.
    pub(crate) fn remark(&self) {
        for remark in self.jobs.iter().flat_map(Job::live).flat_map(LiveProgram::remarks) {
            fairways_command_kit::warn(&remark.text);
        }
    }

    /// Promises ways to programs.
    fn promise(&mut self, Pairs(baselines): &Pairs<u32>) -> Result<(), BadInput> {
        let most = self.settings.chip.llc.ways.get();
        for (name, ways) in baselines {
            let ways = at_most(*ways, &format!("--baselines: {name}"), most)?;
            let jobs = self.named("--baselines", name)?;
            jobs.for_each(|job| job.wish.baseline_ways = Some(ways));
        }
        Ok(())
    }

    /// The jobs with this name, at least one.
    pub(super) fn named(
        &mut self,
        flag: &str,
        name: &str,
    ) -> Result<impl Iterator<Item = &mut Job>, BadInput> {
        if !self.names.iter().any(|other| other == name) {
            let names = self.names.join(", ");
            let said = format!("{flag}: expected one of the programs {names}, found {name:?}");
            return Err(BadInput(said));
        }
        let named = self.names.iter().zip(&mut self.jobs).filter(move |(other, _)| *other == name);
        Ok(named.map(|(_, job)| job))
    }
}

/// What a program is called: as it was written, but a command by its first word.
fn name_of(text: &str) -> String {
    let text = fairways_command_kit::plain::plain(text);
    match text.strip_prefix("live:") {
        Some(command) => {
            let mut words = command.split_whitespace();
            let word = words.next().unwrap_or_default();
            let word = word.rsplit(':').next().unwrap_or_default();
            format!("live:{}", word.rsplit('/').next().unwrap_or_default())
        }
        None => text,
    }
}

/// Makes a job. Its pages lie at the same places alone and beside other jobs.
fn job(written: ParsedPhases, key: u64) -> Job {
    let phases = written
        .into_iter()
        .map(|(program, length)| Phase { program: program.map(Arc::new), length });
    Job { phases: phases.collect(), then: AfterRun::Restart, key: Some(key), ..Job::default() }
}

/// How programs take turns: as the flags request, or by default if they must.
fn scheduling(flags: &ChipFlags, must: bool) -> Result<Option<Scheduling>, BadInput> {
    let class = match flags.scheduling_class {
        Some(args::SchedulingClass::TimeSharing) => SchedulingClass::TimeSharing,
        Some(args::SchedulingClass::FixedPriority) | None => SchedulingClass::FixedPriority,
    };
    let default = Scheduling { class, ..Scheduling::default() };
    let Some(quantum) = flags.quantum else {
        if !must && flags.scheduling_class.is_some() {
            let expected = "expected --quantum, or more programs than CPUs";
            return Err(BadInput(format!("--scheduling-class: {expected}")));
        }
        return Ok(must.then_some(default));
    };
    // A turn is ten ticks or more.
    let tick = default.tick.min(quantum / 10).max(Duration::from_nanos(1));
    Ok(Some(Scheduling { quantum, tick, ..default }))
}

impl Checked {
    pub(super) fn new(preset: &ChipPreset, args: &Simulate) -> Result<Self, BadInput> {
        let policies = args.policies.0.clone();
        suits::check("--policies", &policies, &Machine::Chip(preset.clone()), true)?;
        let schedule =
            policies.iter().any(|name| descriptor(name).is_some_and(Descriptor::schedules));
        let scale = args.time_scale.map_or(Ok(TimeScale::ONE), TimeScale::new);
        let scale = scale.map_err(|why| BadInput(format!("--time-scale: {why}")))?;
        let world = World::new(preset, &args.chip, scale, &args.world, schedule)?;
        world.warn(&policies);
        let protocol = ChipProtocol {
            warm_up: args.warm_up,
            span: args.duration,
            profile: args.chip.profile_time,
            profiles_known: args.known_profiles,
        };
        Ok(Self { world, protocol, policies })
    }
}
