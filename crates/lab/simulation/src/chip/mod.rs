//! A chip and its programs.

mod emulated;
mod least_scale;
mod services;
mod time_scale;

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::program::{
    Accesses, LiveProgram, NAMES, ParsedPhases, Pattern, SimulatedProgram, parse, profiled,
};
use fairways_chip::{AfterRun, Chip, Job, Phase, Scheduling, SchedulingClass, Settings};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::at_most;
use fairways_command_kit::similar::did_you_mean;
use fairways_experiments::profile;
use fairways_profiles::{ProfileMetric, ProfileTable};

pub use emulated::{ChipMachine, platform_of, processor_of, throttle_of};
pub use least_scale::Profiling;
pub use time_scale::TimeScale;

use crate::catalog::synthetic_table_has;
use crate::world::{promised, warn_of_promises};

/// How texts of programs begin (docs/chip.md), to suggest one for a misspelt text.
const KINDS: [&str; 11] = [
    "mlr", "mload", "chase", "blocked", "zipf", "regions", "trace", "stream", "live", "lookbusy",
    "idle",
];

/// A chip, and the programs on it.
#[derive(Clone)]
pub struct World {
    /// The name of the chip.
    pub preset: String,
    /// The chip, and how it is simulated.
    pub settings: Settings,
    /// As they were written.
    pub names: Vec<String>,
    /// What runs, in the order of the names.
    pub jobs: Vec<Job>,
    /// The least time scales of policies, as [`World::find_least_scales`] found them.
    least_scales: Vec<(String, TimeScale)>,
}

impl World {
    /// Places programs on a chip, each on a CPU of its own. `texts` describe the programs
    /// (docs/chip.md); one that is the name of a profile follows that profile.
    ///
    /// # Errors
    /// If a text describes no program.
    pub fn new(
        preset: &str,
        settings: Settings,
        profiles: &ProfileTable,
        texts: &[String],
    ) -> Result<Self, BadInput> {
        let chip = settings.chip;
        let profile = |name: &str| {
            let (index, ways) = (profiles.find(name)?, profiles.ways().min(chip.llc.ways));
            let program = profiled(profiles, index, ways, chip.latency);
            Some(program.unwrap_or_else(|_| busy(profiles, index)))
        };
        let written = texts.iter().map(|text| {
            parse(text, profile)
                .map_err(|why| BadInput(format!("--programs: {why}{}", meant(text, profiles))))
        });
        let keyed = |(key, written): (u64, Result<ParsedPhases, BadInput>)| Ok(job(written?, key));
        let jobs = (0..).zip(written).map(keyed).collect::<Result<Vec<Job>, BadInput>>()?;
        let names = texts.iter().map(|text| name_of(text)).collect();
        let least_scales = Vec::new();
        Ok(Self { preset: preset.to_owned(), settings, names, jobs, least_scales })
    }

    /// Lets programs take turns: as requested, or by default if there are more programs than CPUs
    /// or a policy schedules.
    pub fn take_turns(
        &mut self,
        quantum: Option<Duration>,
        class: Option<SchedulingClass>,
        policy_schedules: bool,
    ) -> Result<(), BadInput> {
        let has_services = self.jobs.iter().any(|job| job.requests().is_some());
        if has_services && (quantum.is_some() || policy_schedules) {
            let said = "a service has a CPU to itself: expected no --quantum, and no policy that schedules";
            return Err(BadInput(format!("--programs: {said}")));
        }
        let cpus = self.settings.chip.cpus() as usize;
        let too_many = self.jobs.len() > cpus && !has_services;
        let must = policy_schedules || too_many;
        let default = Scheduling {
            class: class.unwrap_or(SchedulingClass::FixedPriority),
            ..Scheduling::default()
        };
        self.settings.scheduler = match quantum {
            // A turn is ten ticks or more.
            Some(quantum) => {
                let tick = default.tick.min(quantum / 10).max(Duration::from_nanos(1));
                Some(Scheduling { quantum, tick, ..default })
            }
            None if !must && class.is_some() => {
                let expected = "expected --quantum, or more programs than CPUs";
                return Err(BadInput(format!("--scheduling-class: {expected}")));
            }
            None => must.then_some(default),
        };
        Ok(())
    }

    /// Marks programs as background work.
    pub fn set_best_effort(&mut self, names: &[String]) -> Result<(), BadInput> {
        for name in names {
            self.named("--best-effort", name)?.for_each(|job| job.wish.best_effort = true);
        }
        Ok(())
    }

    /// Sets how many programs each of these counts as.
    pub fn weigh(&mut self, importance: &[(String, u32)]) -> Result<(), BadInput> {
        for (name, times) in importance {
            let jobs = self.named("--importance", name)?;
            jobs.for_each(|job| job.wish.importance = Some(*times));
        }
        Ok(())
    }

    /// Checks that the chip has room for all programs.
    pub fn check_room(&self) -> Result<(), BadInput> {
        let tried = Chip::new(self.settings, self.jobs.iter().cloned());
        tried.map(|_| ()).map_err(|why| BadInput(format!("--programs: {why}")))
    }

    /// Gives policies a profile of each program, measured for this long with each number of ways.
    pub fn measure_profiles(&mut self, span: Duration) -> Result<(), BadInput> {
        for job in &mut self.jobs {
            let measured = profile(self.settings, job, span / 2, span / 2);
            job.profile = Some(Arc::new(measured.map_err(|why| BadInput(why.to_string()))?));
        }
        Ok(())
    }

    /// Whether real programs are among them.
    pub fn has_live(&self) -> bool {
        self.jobs.iter().any(|job| job.live().next().is_some())
    }

    /// Prints remarks for the user about real programs that have run.
    pub fn remark(&self) {
        for remark in self.jobs.iter().flat_map(Job::live).flat_map(LiveProgram::remarks) {
            fairways_command_kit::warn(&remark.text);
        }
    }

    /// Promises ways to programs.
    pub fn promise(&mut self, baselines: &[(String, u32)]) -> Result<(), BadInput> {
        let most = self.settings.chip.llc.ways.get();
        for (name, ways) in baselines {
            let ways = at_most(*ways, &format!("--baselines: {name}"), most)?;
            let jobs = self.named("--baselines", name)?;
            jobs.for_each(|job| job.wish.baseline_ways = Some(ways));
        }
        let total = promised(self.jobs.iter().map(|job| job.wish));
        warn_of_promises(total, self.settings.chip.llc.ways.get());
        Ok(())
    }

    /// The jobs with this name, at least one.
    pub fn named(
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

/// A profiled program that never references the last-level cache, at its speed.
fn busy(profiles: &ProfileTable, index: usize) -> SimulatedProgram {
    let ipc = profiles.values(index, ProfileMetric::Ipc).last().unwrap_or(1.0);
    SimulatedProgram::new(Accesses::Pattern(Pattern::Busy), 1.0 / ipc, 1.0)
}

/// What may be meant by the first name in a wrong text that is not known, as the end of a message.
fn meant(text: &str, profiles: &ProfileTable) -> String {
    if text.trim().starts_with("live:") {
        return String::new();
    }
    let profiled = profiles.names().iter().map(String::as_str);
    let known: Vec<&str> = KINDS.into_iter().chain(NAMES).chain(profiled).collect();
    for phase in text.split('+') {
        let what = phase.split('@').next().unwrap_or_default().trim();
        let (name, rest) = what.split_once(':').unzip();
        let name = name.unwrap_or(what);
        if known.contains(&name) {
            continue;
        }
        let is_a_name = rest.is_none_or(|rest| rest.split(':').all(|part| part.contains('=')));
        let elsewhere = synthetic_table_has(name, profiles).filter(|_| is_a_name);
        return elsewhere.unwrap_or_else(|| did_you_mean(name, known));
    }
    String::new()
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

#[cfg(test)]
mod tests {
    use fairways_chip::preset::preset;
    use fairways_profiles::corpus::CorpusMachine;
    use fairways_profiles::embedded_programs;

    use super::*;
    use crate::catalog::ProfileSource;

    fn corpus(machine: CorpusMachine) -> ProfileTable {
        ProfileSource::Corpus(machine).programs(None).unwrap().table().clone()
    }

    #[test]
    fn every_program_of_the_corpus_runs_on_a_chip() {
        let settings = Settings::new(preset("xeon-e5").unwrap());
        for machine in CorpusMachine::ALL {
            let profiles = corpus(machine);
            for name in profiles.names() {
                let texts = [name.clone()];
                let world = World::new("xeon-e5", settings, &profiles, &texts);
                assert!(world.is_ok(), "{machine:?}: {name}");
            }
        }
    }

    #[test]
    fn a_name_that_is_not_known_is_guessed() {
        let corpus = corpus(CorpusMachine::Skylake);
        let synthetic = embedded_programs().table();
        for (text, profiles, said) in [
            ("gizp", &corpus, "; did you mean \"gzip\"?"),
            ("strem:f", &corpus, "; did you mean \"stream\"?"),
            ("mfc-like", &corpus, "; did you mean \"mcf-like\"?"),
            ("lookbusy@1s+gizp", &corpus, "; did you mean \"gzip\"?"),
            ("hash-join", &corpus, "; --profiles synthetic has it"),
            ("idle@1s+hash-join:cpi=1", &corpus, "; --profiles synthetic has it"),
            ("hash-joni", synthetic, "; did you mean \"hash-join\"?"),
            // The mistake is another.
            ("hash-join:4M", &corpus, ""),
            ("hash-join:4M", synthetic, ""),
            ("mlr:8X", &corpus, ""),
            ("live:gizp 'a", &corpus, ""),
            // It has phases.
            ("field-solver", &corpus, ""),
            ("field-solver", synthetic, ""),
        ] {
            assert_eq!(meant(text, profiles), said, "{text}");
        }
    }
}
