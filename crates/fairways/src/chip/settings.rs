//! From flags to a chip and what runs on it, checked.

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::preset;
use fairways_chip::program::{Live, Written, parse, profiled, split};
use fairways_chip::{
    Chip, Geometry, Job, PageSize, Phase, Placement, Scheduling, SchedulingClass, Settings, Then,
};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{number, real, span};
use fairways_command_kit::similar::did_you_mean;
use fairways_lab::ChipProtocol;
use fairways_policy::{Descriptor, descriptor};

use crate::args::{self, ChipFlags, How, Machine, Pages, Simulate};
use crate::simulate::policies;
use crate::world::{profiles, promised, warn_of_promises};

/// How texts of programs begin (docs/chip.md), for whoever misspells one.
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
        name: &str,
        flags: &ChipFlags,
        time_scale: Option<&String>,
        world: &args::World,
        schedules: bool,
    ) -> Result<Self, BadInput> {
        for (flag, given) in [
            ("--ways", world.ways.is_some()),
            ("--phases", world.phases.is_some()),
            ("--bandwidth-mbps", world.bandwidth_mbps.is_some()),
        ] {
            if given {
                return Err(BadInput(format!("{flag}: expected --machine model with it")));
            }
        }
        let mut chip = preset::parse(name).map_err(|why| BadInput(format!("--machine: {why}")))?;
        chip.llc.clos = number(&world.clos, "--clos", 1, u32::MAX)?;
        chip.llc.min_bits = number(&world.min_bits, "--min-bits", 1, chip.llc.ways.get())?;
        let settings = Settings {
            time_scale: scale(time_scale)?,
            ..simulated(chip, &flags.how, &world.seed)?
        };
        let table = profiles(world)?;
        let profile = |name: &str| {
            let index = table.table().find(name)?;
            let ways = table.table().ways().min(chip.llc.ways);
            profiled(table.table(), index, ways, chip.latency).ok()
        };
        let text = flags.programs.as_deref().ok_or_else(|| {
            BadInput("--programs: expected programs to run on the chip, such as mlr:8M".to_owned())
        })?;
        let texts = split(text);
        let names: Vec<String> = texts.iter().map(|text| name_of(text)).collect();
        let written = texts.iter().map(|text| {
            parse(text, profile).map_err(|why| {
                let kind = text.split(':').next().unwrap_or_default();
                BadInput(format!("--programs: {why}{}", did_you_mean(kind, KINDS)))
            })
        });
        let keyed = |(key, written): (u64, Result<Written, BadInput>)| Ok(job(written?, key));
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
        let mut world_of = Self { preset: name.to_owned(), settings, names, jobs };
        if let Some(programs) = &flags.best_effort {
            for name in split(programs) {
                world_of.named("--best-effort", name)?.for_each(|job| job.wish.best_effort = true);
            }
        }
        if let Some(baselines) = &world.baselines {
            world_of.promise(baselines)?;
            let total = promised(world_of.jobs.iter().map(|job| job.wish));
            warn_of_promises(total, chip.llc.ways);
        }
        world_of.load(flags.loads.as_deref())?;
        world_of.oblige(flags.objectives.as_deref())?;
        // Whether there can be such a chip with so many programs.
        let tried = Chip::new(settings, world_of.jobs.iter().cloned());
        tried.map_err(|why| BadInput(format!("--programs: {why}")))?;
        Ok(world_of)
    }

    /// Tells what users should know of real programs that have run.
    pub(crate) fn remark(&self) {
        for remark in self.jobs.iter().flat_map(Job::live).flat_map(Live::remarks) {
            fairways_command_kit::warn(&remark.said);
        }
    }

    /// Ways promised to programs, as they were written.
    fn promise(&mut self, baselines: &str) -> Result<(), BadInput> {
        for promise in split(baselines) {
            let (name, text) = promise.rsplit_once('=').ok_or_else(|| {
                BadInput(format!("--baselines: expected PROGRAM=WAYS, found {promise:?}"))
            })?;
            let most = self.settings.chip.llc.ways.get();
            let ways = number(text, &format!("--baselines, {name}"), 1, most)?;
            let jobs = self.named("--baselines", name)?;
            jobs.for_each(|job| job.wish.baseline_ways = Some(ways));
        }
        Ok(())
    }

    /// The jobs of a name, of which there is at least one.
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

/// A chip that is simulated as the flags say.
pub(crate) fn simulated(chip: Geometry, how: &How, seed: &str) -> Result<Settings, BadInput> {
    Ok(Settings {
        pages: match how.pages {
            Pages::Small => PageSize::Small,
            Pages::Huge => PageSize::Huge,
        },
        placement: match how.placement {
            args::Placement::Random => Placement::Random,
            args::Placement::Sequential => Placement::Sequential,
        },
        set_sampling: number(&how.set_sampling, "--set-sampling", 1, chip.sets)?,
        seed: number(seed, "--seed", 0, u64::MAX)?,
        ..Settings::new(chip)
    })
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

/// Its pages are in the same places by itself and together with others.
fn job(written: Written, key: u64) -> Job {
    let phases = written
        .into_iter()
        .map(|(program, length)| Phase { program: program.map(Arc::new), length });
    Job { phases: phases.collect(), then: Then::Restart, key: Some(key), ..Job::default() }
}

/// How programs take turns: as asked for, or if they must.
fn scheduling(flags: &ChipFlags, must: bool) -> Result<Option<Scheduling>, BadInput> {
    let class = match flags.scheduling_class {
        Some(args::SchedulingClass::TimeSharing) => SchedulingClass::TimeSharing,
        Some(args::SchedulingClass::FixedPriority) | None => SchedulingClass::FixedPriority,
    };
    let default = Scheduling { class, ..Scheduling::default() };
    let Some(text) = &flags.quantum else {
        if !must && flags.scheduling_class.is_some() {
            let expected = "expected --quantum, or more programs than CPUs";
            return Err(BadInput(format!("--scheduling-class: {expected}")));
        }
        return Ok(must.then_some(default));
    };
    let quantum = span(text, "--quantum")?;
    // A turn is ten ticks or more.
    let tick = default.tick.min(quantum / 10).max(Duration::from_nanos(1));
    Ok(Some(Scheduling { quantum, tick, ..default }))
}

/// How many times shorter things take than is told, from the scale of time, 0.1 say.
fn scale(text: Option<&String>) -> Result<u32, BadInput> {
    let Some(text) = text else { return Ok(1) };
    let scale = real(text, "--time-scale", 1e-6, 1.0)?;
    let whole = (1.0 / scale).round();
    if (1.0 / scale - whole).abs() > 1e-6 * whole {
        let said = "a chip's scale is one over a whole number, such as 0.1 or 0.01";
        return Err(BadInput(format!("--time-scale: {said}, found {text:?}")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 10^6")]
    Ok(whole as u32)
}

impl Checked {
    pub(super) fn new(args: &Simulate) -> Result<Self, BadInput> {
        let Some(Machine::Chip(name)) = &args.machine else { unreachable!("a chip was asked for") };
        let flag = [
            ("--mix", !args.mix.is_empty()),
            ("--mixes", args.mixes.is_some()),
            ("--instructions", args.instructions.is_some()),
            ("--completions", args.completions.is_some()),
        ];
        let given = flag.iter().find(|(_, given)| *given).map(|(flag, _)| *flag);
        if let Some(flag) = given.or(args.observation.given()) {
            return Err(BadInput(format!("{flag}: expected --machine model with it")));
        }
        let policies = policies(&args.policies)?;
        let schedule =
            policies.iter().any(|name| descriptor(name).is_some_and(Descriptor::schedules));
        let world = World::new(name, &args.chip, args.time_scale.as_ref(), &args.world, schedule)?;
        if policies.contains(&fairways_lab::OPTIMUM) {
            let said = "--policies: optimum is for profiles, expected others on a chip";
            return Err(BadInput(said.to_owned()));
        }
        world.warn(&policies);
        let protocol = ChipProtocol {
            warm_up: span(&args.warm_up, "--warm-up")?,
            span: span(&args.duration, "--duration")?,
            profile: span(&args.chip.profile_time, "--profile-time")?,
            profiles_known: args.known_profiles,
        };
        Ok(Self { world, protocol, policies })
    }
}
