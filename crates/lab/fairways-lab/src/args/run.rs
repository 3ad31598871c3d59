//! The flags of a run.

use std::io::Write;
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::whole;
use fairways_exec_policy::policies;
use fairways_experiments::draw_workloads;
use fairways_policy::{Descriptor, descriptor};
use fairways_record::journal::LARGEST_PART;
use fairways_simulation::suits::{self, MachineUse};
use fairways_simulation::{ENDLESS, Names, On, SimulatedRun};
use fairways_verbs::args::{DecideFlags, JournalFlags};
use fairways_verbs::trial::ComparedPolicies;

use super::suits::check_requests;
use super::{ChipFlags, Machine, Observation, TimeScale, World};
use crate::run::{self, JournalFile, RunFormat};

/// Run programs under a policy on a simulated machine
///
/// Examples:
///   fairways-lab run
///   fairways-lab run --mix triad,hash-join --profiles synthetic --policy lfoc --json
///   fairways-lab run --machine chip:xeon-d --programs mlr:8M,mload:60M --time-scale 0.04
///
/// The machine is the analytic model over time, or a chip that executes programs.
/// Programs finish and start again, and the policy gets no profiles beforehand. Each
/// decision is printed as it happens; at the end come the programs' slowdowns, next to
/// those of the same run without partitioning.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    #[command(flatten)]
    on: MachineFlag,

    #[command(flatten)]
    of: SimulatedFlags,

    #[command(flatten)]
    journal: JournalFlags,

    /// Print one JSON object at the end, instead of events (docs/run.md)
    #[arg(long, help_heading = None::<&'static str>)]
    json: bool,

    /// Print only the results at the end
    #[arg(long, short, conflicts_with = "json", help_heading = None::<&'static str>)]
    quiet: bool,
}

/// The machine of a run and of a trial.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MachineFlag {
    /// The simulated machine: model, or a chip such as chip:xeon-e5
    ///
    /// model is the analytic model; a chip executes programs (docs/chip.md).
    #[arg(long, value_name = "MACHINE", default_value = "model")]
    pub(super) machine: Machine,
}

/// The heading of a simulated machine's flags in help texts.
const SIMULATED: &str = "On a simulated machine";

/// The programs, the policy and the duration of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct SimulatedFlags {
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

    #[command(flatten)]
    pub(crate) decide: DecideFlags,

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
        let run = self.of.simulated(&self.on.machine)?;
        run::run(run, self.journal_file(), self.format(), out)
    }

    fn journal_file(&self) -> Option<JournalFile> {
        let JournalFlags { journal, journal_size, journal_parts } = &self.journal;
        let size = journal_size.unwrap_or(LARGEST_PART);
        Some(JournalFile { path: journal.clone()?, limits: (size, *journal_parts) })
    }

    fn format(&self) -> RunFormat {
        match (self.json, self.quiet) {
            (true, _) => RunFormat::Json,
            (false, true) => RunFormat::Results,
            (false, false) => RunFormat::Events,
        }
    }
}

/// How long a run takes where no flag says so.
const DURATION: Duration = Duration::from_secs(60);

impl SimulatedFlags {
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
        let policy =
            policies::known(self.decide.policy.as_deref().unwrap_or(fairways_policy::DEFAULT))?;
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
        check_requests(flag, &names, &self.decide.set, of, &self.world)?;
        let given = policies::parameters(&self.decide.set)?;
        let known = self.known_profiles || all.iter().any(|policy| !policy.learns());
        let (duration, instructions) =
            (self.decide.duration.unwrap_or(DURATION), self.instructions);
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
