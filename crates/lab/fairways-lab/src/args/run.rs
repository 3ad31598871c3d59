//! The flags of a run.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{size, time, whole};
use fairways_daemon::Options;
use fairways_daemon::config::{Config, Journal};
use fairways_exec_policy::policies::{self, Setting};
use fairways_experiments::draw_workloads;
use fairways_policy::{Descriptor, descriptor};
use fairways_simulation::suits::{self, MachineUse};
use fairways_simulation::{ENDLESS, Names, On, SimulatedRun};
use fairways_verbs::trial::ComparedPolicies;

use super::policies::PolicyName;
use super::suits::check_requests;
use super::{ChipFlags, HostFlags, Machine, Observation, TimeScale, World, set};
use crate::run::{self, JournalFile, RunFormat};

/// Share the cache between programs, on this host or simulated
///
/// Examples:
///   fairways run --dry-run --program web=unit:nginx.service --program batch=process:make
///   fairways run --policy dcat --config fairways.toml
///   fairways run --machine chip:xeon-d --programs mlr:500K,mload:60M --time-scale 0.1
///
/// Without --machine, the policy decides which ways of the cache this host's
/// programs may fill, and resctrl enforces it. On SIGINT or SIGTERM, the daemon
/// undoes all changes and exits. On SIGHUP, it reads the configuration again.
///
/// With --machine, programs run on a simulated machine: the analytic model over
/// time, or a chip. Programs finish and start again, and the policy gets no profiles
/// beforehand. Each decision is printed as it happens; at the end come the programs'
/// slowdowns, next to those of the same run without partitioning.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    /// The simulated machine: model, or a chip such as chip:xeon-e5 [default: this host]
    ///
    /// model is the analytic model; a chip executes programs (docs/chip.md).
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<Machine>,

    #[command(flatten)]
    pub(crate) host: HostFlags,

    #[command(flatten)]
    pub(crate) of: RunFlags,

    /// Write every event and action to this file, for `replay` and `explain`
    ///
    /// The file is a journal (docs/journal.md).
    #[arg(long, value_name = "FILE", help_heading = None::<&'static str>)]
    pub(crate) journal: Option<PathBuf>,

    /// Largest size of one part of the journal: 500K, 64M, 2G [default: 256M]
    ///
    /// Begins a new part of the journal before one exceeds this size.
    #[arg(long, value_name = "SIZE", value_parser = size,
        help_heading = None::<&'static str>)]
    pub(crate) journal_size: Option<u64>,

    /// Finished parts to keep [default: 16 on this host, otherwise all]
    ///
    /// Keeps this many finished parts of the journal, and deletes older ones.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(0, u32::MAX), help_heading = None::<&'static str>)]
    pub(crate) journal_parts: Option<u32>,

    /// Print one JSON object at the end, instead of events (docs/run.md)
    #[arg(long, help_heading = None::<&'static str>)]
    pub(crate) json: bool,

    /// Print only the results at the end
    #[arg(long, short, conflicts_with = "json", help_heading = None::<&'static str>)]
    pub(crate) quiet: bool,
}

/// The heading of a simulated machine's flags in help texts.
const SIMULATED: &str = "On a simulated machine";

/// The programs, the policy and the duration of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) world: World,

    #[command(flatten)]
    pub(crate) chip: ChipFlags,

    /// Run in this fraction of the time that the policy sees: 0.1, a tenth [default: 1]
    ///
    /// Caches still take their time to fill: a scale that is too small for the policy is warned of
    /// (docs/chip.md).
    #[arg(long, value_name = "X", help_heading = "On a chip")]
    pub(crate) time_scale: Option<TimeScale>,

    /// The programs, by name [default: eight, drawn with --seed]
    #[arg(long, value_name = "A,B,C", help_heading = SIMULATED)]
    pub(crate) mix: Option<Names>,

    /// The policy; `fairways policies` lists them [default: the configuration's, or fairways]
    ///
    /// locpart, parties, casc and cache-fair need a chip or this host. exec:COMMAND is a program of
    /// your own (docs/exec.md).
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PolicyName,
        hide_possible_values = true,
        help_heading = None::<&'static str>
    )]
    pub(crate) policy: Option<String>,

    /// Set a parameter of the policy; `fairways policies NAME` lists them
    ///
    /// May be given more than once.
    #[arg(long, value_name = "NAME=VALUE", help_heading = None::<&'static str>)]
    pub(crate) set: Vec<Setting>,

    /// How long to run: 500ms, 60s, 2m [default: 60s; on this host, until interrupted]
    ///
    /// On a simulated machine, its clock counts.
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = None::<&'static str>)]
    pub(crate) duration: Option<Duration>,

    /// Instructions after which a program finishes and starts again; services never finish
    #[arg(long, value_name = "N", default_value = "150000000000", allow_negative_numbers = true,
        value_parser = whole(1, ENDLESS), help_heading = SIMULATED)]
    pub(crate) instructions: u64,

    /// Give the policy the profiles
    #[arg(long, help_heading = SIMULATED)]
    pub(crate) known_profiles: bool,

    #[command(flatten)]
    pub(crate) observation: Observation,
}

impl Run {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match &self.machine {
            Some(machine) => {
                let run = self.of.simulated(machine)?;
                run::run(run, self.journal_file(), self.format(), out)
            }
            None => fairways_daemon::run(&self.options(), out),
        }
    }

    fn journal_file(&self) -> Option<JournalFile> {
        let size = self.journal_size.unwrap_or_else(|| Journal::default().size);
        Some(JournalFile { path: self.journal.clone()?, limits: (size, self.journal_parts) })
    }

    fn format(&self) -> RunFormat {
        match (self.json, self.quiet) {
            (true, _) => RunFormat::Json,
            (false, true) => RunFormat::Results,
            (false, false) => RunFormat::Events,
        }
    }

    /// The daemon's options; it checks them together with the configuration.
    pub(super) fn options(self) -> Options {
        Options {
            file: self.host.config.clone(),
            parameters: self.of.set.clone(),
            duration: self.of.duration,
            json: self.json,
            commit: env!("FAIRWAYS_HASH"),
            flags: Box::new(move |config| self.lay_over(config)),
        }
    }

    fn lay_over(&self, config: &mut Config) {
        self.host.lay_over(config);
        set(&mut config.policy, &self.of.policy);
        config.journal.file = self.journal.clone().or(config.journal.file.take());
        set(&mut config.journal.size, &self.journal_size);
        config.journal.parts = self.journal_parts.or(config.journal.parts);
    }
}

/// How long a run takes where no flag says so.
const DURATION: Duration = Duration::from_secs(60);

impl RunFlags {
    /// The run on a simulated machine; reads the files and checks every flag.
    pub(super) fn simulated(&self, machine: &Machine) -> Result<SimulatedRun, BadInput> {
        self.simulated_beside(machine, None)
    }

    /// The same for policies that run in turn, of which all but the first are made elsewhere.
    pub(super) fn simulated_beside(
        &self,
        machine: &Machine,
        compared: Option<&ComparedPolicies>,
    ) -> Result<SimulatedRun, BadInput> {
        let policy = policies::known(self.policy.as_deref().unwrap_or(fairways_policy::DEFAULT))?;
        let is_memory_limited = self.world.bandwidth_mbps.is_some();
        let is_model = matches!(machine, Machine::Model);
        let of = MachineUse { is_model, is_dynamic: true, is_memory_limited };
        let flag = if compared.is_some() { "--policies" } else { "--policy" };
        let others = compared.iter().flat_map(|of| of.names.iter().skip(1).map(|name| (*of, name)));
        let others = others.filter_map(|(of, name)| Some((descriptor(name)?, of)));
        let others: Vec<(&Descriptor, &ComparedPolicies)> = others.collect();
        let all: Vec<&Descriptor> =
            std::iter::once(policy).chain(others.iter().map(|(of, _)| *of)).collect();
        let names: Vec<&str> = all.iter().map(|policy| policy.name).collect();
        suits::check(flag, &names, of)?;
        check_requests(flag, &names, &self.set, of, &self.world)?;
        let given = policies::parameters(&self.set)?;
        let known = self.known_profiles || all.iter().any(|policy| !policy.learns());
        let (duration, instructions) = (self.duration.unwrap_or(DURATION), self.instructions);
        let (made, parameters) = policies::make(policy.name, given)?;
        let on = match machine {
            Machine::Model => self.on_model(&names)?,
            Machine::Chip(preset) => {
                let scale = self.time_scale.unwrap_or(TimeScale::ONE);
                let schedules = policy.schedules();
                let mut world = self.chip.checked(preset, scale, &self.world, schedules)?;
                world.warn(&names);
                let profiling = self.chip.profiling(self.known_profiles);
                let of_others = others
                    .iter()
                    .filter_map(|(of, all)| Some((of.name, all.parameters.all(of.name)?)));
                let of_policy = std::iter::once((policy.name, parameters.clone()));
                world.find_least_scales(of_policy.chain(of_others), Some(profiling));
                world.warn_of_time_scale();
                if all.iter().any(|policy| profiling.is_for(policy)) {
                    world.measure_profiles(profiling.span)?;
                }
                On::Chip(Box::new(world))
            }
        };
        Ok(SimulatedRun { on, policy: made, parameters, duration, instructions, known })
    }

    fn on_model(&self, policies: &[&str]) -> Result<On, BadInput> {
        let world = Box::new(self.world.checked()?);
        let mix = match &self.mix {
            Some(names) => world.mix(names)?,
            None => draw_workloads(&world.programs, world.llc.ways, 1, world.seed).swap_remove(0),
        };
        let settings = Box::new(self.world.model(&world, &self.observation));
        world.warn(std::slice::from_ref(&mix), policies);
        Ok(On::Model { world, mix, settings })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::args::Args;

    /// A flag of one kind of machine has its heading; a flag of all has none.
    #[test]
    fn flags_have_the_headings_of_their_machines() {
        let both = ["machine", "policy", "set", "duration", "journal", "json", "mixes", "policies"];
        let headings = [
            ("config", "On this host"),
            ("dry-run", "On this host"),
            ("log-level", "On this host"),
            ("profiles", "On a simulated machine"),
            ("seed", "On a simulated machine"),
            ("known-profiles", "On a simulated machine"),
            ("programs", "On a chip"),
            ("placement", "On a chip"),
            ("noise", "Over time"),
        ];
        let mut seen = 0;
        for name in ["run", "trial", "top", "blame"] {
            let all = Args::command();
            let command = all.find_subcommand(name).unwrap();
            for flag in command.get_arguments() {
                let (Some(long), heading) = (flag.get_long(), flag.get_help_heading()) else {
                    continue;
                };
                if both.contains(&long) {
                    assert_eq!(heading, None, "{name} --{long}");
                    seen += 1;
                }
                if let Some((_, expected)) = headings.iter().find(|(flag, _)| *flag == long) {
                    assert_eq!(heading, Some(*expected), "{name} --{long}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 35, "{seen}");
    }
}
