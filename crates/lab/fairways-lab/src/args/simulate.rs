//! Flags of `fairways-lab simulate`.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{real, time, whole};
use fairways_core::BandwidthLevel;
use fairways_exec_policy::descriptor;
use fairways_exec_policy::policies::{Setting, SharedParameters};
use fairways_experiments::{ChipProtocol, ComparisonSettings, OPTIMUM, PlacedSettings, Protocol};
use fairways_policy::parameter::ParameterSet as _;
use fairways_policy::{Descriptor, fairways};
use fairways_simulation::suits::{self, MachineUse};
use fairways_simulation::{self as simulation, ENDLESS, Names};

use super::suits::check_requests;
use super::world::{different, level};
use super::{
    CacheFlags, ChipFlags, ChipPreset, Machine, Observation, PolicyNames, TimeScale, World, format,
    plot_file, svg_file,
};
use crate::simulate::{Comparison, How};
use crate::{chip, simulate};

/// Compare policies on mixes of programs
///
/// Examples:
///   fairways-lab simulate
///   fairways-lab simulate --mix lbm,svm-train,gzip --policies stock,ucp,lfoc
///   fairways-lab simulate --dynamic --profiles synthetic --mix triad,hash-join,field-solver
///
/// Scores the plan of each policy for each mix. Slowdowns come from the
/// programs' profiles, by the published PBBCache model; from them follow
/// unfairness (the largest slowdown over the smallest), STP (the sum of
/// 1 / slowdown) and ANTT (the mean slowdown). Without arguments it compares
/// policies on twelve mixes of real programs.
///
/// With --dynamic, programs run over time, finish and start again, and policies
/// that can learn do not get their profiles.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) world: World,

    /// The machine: model (the analytic model, from profiles) or a chip that executes programs,
    /// such as chip:xeon-e5 (docs/chip.md) [default: model]
    #[arg(long, value_name = "MACHINE", help_heading = None::<&'static str>)]
    pub(crate) machine: Option<Machine>,

    #[command(flatten)]
    pub(crate) caches: CacheFlags,

    #[command(flatten)]
    pub(crate) chip: ChipFlags,

    /// Run programs this long before counting begins, on the policy's clock
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time,
        help_heading = "On a chip")]
    pub(crate) warm_up: Duration,

    /// Count for this long, on the policy's clock
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = time,
        help_heading = "On a chip")]
    pub(crate) duration: Duration,

    /// A mix, as the names of its programs; may be given more than once
    #[arg(long, value_name = "A,B,C", help_heading = None::<&'static str>)]
    pub(crate) mix: Vec<Names>,

    /// A file of mixes, one a line: its name, then its programs
    #[arg(long, value_name = "FILE", help_heading = None::<&'static str>)]
    pub(crate) mixes: Option<PathBuf>,

    /// Policies to compare, in the order to show them: those that `fairways-lab policies` lists
    /// (locpart, parties, casc and cache-fair only on a chip), optimum, the fairest plan there can
    /// be, exec:COMMAND (docs/exec.md), or all that suit the machine [default:
    /// stock,equal,ucp,ucp-slowdown,lfoc,fairways]
    #[arg(long, value_name = "A,B,C", help_heading = None::<&'static str>)]
    pub(crate) policies: Option<PolicyNames>,

    /// Set a parameter of the policies that have it; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", help_heading = None::<&'static str>)]
    pub(crate) set: Vec<Setting>,

    /// Percents of the memory bandwidth to which the policy optimum may limit a cluster, for up to
    /// 8 programs [default: no limits]
    #[arg(long, value_name = "P,Q,...", allow_negative_numbers = true, value_delimiter = ',',
        value_parser = level, help_heading = "On a simulated machine")]
    pub(crate) bandwidth_levels: Vec<BandwidthLevel>,

    /// Score the plan that each policy has after this long on the model over time, instead of its
    /// first one: policies that limit memory bandwidth try their limits
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "dynamic",
        help_heading = None::<&'static str>)]
    pub(crate) settle: Option<Duration>,

    /// Run the programs over time, instead of scoring the policies' plans
    #[arg(long, help_heading = "Over time")]
    pub(crate) dynamic: bool,

    /// Instructions after which a program finishes [default: 150000000000, as in LFOC §5]
    #[arg(long, value_name = "N", help_heading = "Over time",
        value_parser = whole(1, ENDLESS))]
    pub(crate) instructions: Option<u64>,

    /// End a mix when every program has finished this many times [default: 3, as in LFOC §5]
    #[arg(long, value_name = "N", help_heading = "Over time",
        value_parser = whole(1, 1000_u32))]
    pub(crate) completions: Option<u32>,

    /// Multiply the length of runs and phases by X. 0.1 is quick, but sampling then costs ten times
    /// as much; on a chip, everything that the policy sees takes a tenth of the time [default: 1]
    ///
    /// On a chip caches still take their time to fill: the policies for which the scale is too
    /// small are named (docs/chip.md).
    #[arg(long, value_name = "X", help_heading = "Over time", value_parser = real(1e-6, 1e6))]
    pub(crate) time_scale: Option<f64>,

    /// Give the profiles also to policies that can learn
    #[arg(long, help_heading = "Over time")]
    pub(crate) known_profiles: bool,

    #[command(flatten)]
    pub(crate) observation: Observation,

    /// Draw each plan's ways and each program's slowdown to this file, as SVG
    #[arg(long, value_name = "FILE", value_parser = svg_file, help_heading = None::<&'static str>)]
    pub(crate) plot: Option<PathBuf>,

    /// Print one JSON object instead of tables (docs/simulate.md)
    #[arg(long, help_heading = None::<&'static str>)]
    pub(crate) json: bool,

    /// Print CSV instead: a row for each program under each policy
    #[arg(long, conflicts_with = "json", help_heading = None::<&'static str>)]
    pub(crate) csv: bool,
}

/// Hashes of the programs on chips that were found to be right: many points of a sweep have the
/// same ones, and reading their files takes long.
static CHECKED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

impl Simulate {
    /// Runs the command; everything is checked before anything is run.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match &self.machine {
            Some(Machine::Chip(preset)) => self.on_chip(preset, out),
            _ => {
                let comparison = self.on_model()?;
                let plot = plot_file(self.plot.as_deref())?;
                simulate::run(&comparison, format(self.json, self.csv), plot, out)
            }
        }
    }

    /// Checks all that can be known before anything is run, but not the commands of `live:`:
    /// another machine may run it.
    pub(crate) fn check(mut self) -> anyhow::Result<()> {
        let Some(Machine::Chip(preset)) = self.machine.take() else {
            return Ok(self.on_model().map(drop)?);
        };
        let (policies, set) = self.policies_on_chip()?;
        if self.chip.names_live() {
            return Ok(());
        }
        // No check depends on the seed.
        self.world.seed = 0;
        let same = (&preset, schedule(&policies), self.time_scale, &self.chip, &self.world);
        let mut hash = DefaultHasher::new();
        format!("{same:?}").hash(&mut hash);
        let programs = hash.finish();
        let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        if !checked.contains(&programs) {
            self.placed(&preset, &policies, &set)?;
            checked.insert(programs);
        }
        Ok(())
    }

    fn on_chip(&self, preset: &ChipPreset, out: &mut dyn Write) -> anyhow::Result<()> {
        let (policies, set) = self.policies_on_chip()?;
        let world = self.placed(preset, &policies, &set)?;
        world.warn(&policies);
        let protocol = ChipProtocol {
            warm_up: self.warm_up,
            span: self.duration,
            profile: self.chip.profile_time,
            profiles_known: self.known_profiles,
        };
        let plot = plot_file(self.plot.as_deref())?;
        chip::simulate(&world, &protocol, &policies, &set, format(self.json, self.csv), plot, out)
    }

    /// The policies to compare on a chip, and their parameters.
    fn policies_on_chip(&self) -> Result<(Vec<&'static str>, SharedParameters), BadInput> {
        let machine = MachineUse { is_model: false, is_dynamic: true, is_memory_limited: false };
        let policies = PolicyNames::on(self.policies.as_ref(), machine);
        suits::check("--policies", &policies, machine)?;
        check_requests("--policies", &policies, &self.set, machine, &self.world)?;
        let set = SharedParameters::new(&self.set, &policies)?;
        Ok((policies, set))
    }

    /// The chip, and the programs on it; reads their files.
    fn placed(
        &self,
        preset: &ChipPreset,
        policies: &[&str],
        set: &SharedParameters,
    ) -> Result<simulation::chip::World, BadInput> {
        let scale = self.time_scale.map_or(Ok(TimeScale::ONE), TimeScale::new);
        let scale = scale.map_err(|why| BadInput(format!("--time-scale: {why}")))?;
        let mut world = self.chip.checked(preset, scale, &self.world, schedule(policies))?;
        let with_parameters = policies.iter().filter_map(|name| Some((*name, set.all(name)?)));
        world.find_least_scales(with_parameters, Some(self.chip.profiling(self.known_profiles)));
        world.warn_of_time_scale();
        Ok(world)
    }

    fn on_model(&self) -> Result<Comparison, BadInput> {
        let levels = different(&self.bandwidth_levels)?;
        let is_dynamic = self.dynamic || self.settle.is_some();
        let world = match is_dynamic {
            true => self.world.checked()?,
            false => self.world.checked_to_score()?,
        };
        let refused = [
            ("--dynamic", self.dynamic),
            ("--settle", self.settle.is_some()),
            ("--bandwidth-mbps", world.bandwidth.is_some()),
        ];
        let refused = refused.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag);
        let most = world.programs.table().ways();
        let rules = (self.world.clos, self.world.min_bits, most);
        let caches = self.caches.checked(&self.world.ways, rules, refused)?;
        let world = simulation::World { levels, caches, ..world };
        let is_memory_limited = world.bandwidth.is_some();
        let machine = MachineUse { is_model: true, is_dynamic, is_memory_limited };
        let profiles = world.programs.table();
        let policies = PolicyNames::scored(self.policies.as_ref(), machine, profiles)?;
        suits::check("--policies", &policies, machine)?;
        check_requests("--policies", &policies, &self.set, machine, &self.world)?;
        if !world.levels.is_empty() && !policies.contains(&OPTIMUM) {
            let why = "--bandwidth-levels needs --policies optimum: no other policy takes levels";
            return Err(BadInput(why.to_owned()));
        }
        let mixes = world.mixes(&self.mix, self.mixes.as_deref(), self.dynamic)?;
        world.warn(&mixes, &policies);
        let set = SharedParameters::new(&self.set, &policies)?;
        let how = if self.dynamic { self.over_time(&world) } else { self.by_score(&world, &set) };
        Ok(Comparison { world, mixes, policies, set, how })
    }

    fn over_time(&self, world: &simulation::World) -> How {
        let usual = Protocol::default();
        let protocol = Protocol {
            profiles_known: self.known_profiles,
            wishes: world.wishes.clone(),
            instructions: self.instructions.unwrap_or(usual.instructions),
            completions: self.completions.unwrap_or(usual.completions),
            scale: self.time_scale.unwrap_or(usual.scale),
        };
        How::Live(Box::new(self.world.model(world, &self.observation)), protocol)
    }

    fn by_score(&self, world: &simulation::World, set: &SharedParameters) -> How {
        let (bandwidth, wishes) = (world.bandwidth, world.wishes.clone());
        let settings = ComparisonSettings { llc: world.llc, bandwidth, wishes };
        match self.settle {
            Some(span) => {
                let machine = self.world.model(world, &self.observation);
                How::ScoreSettled(settings, Box::new(machine), span)
            }
            None if !world.caches.is_empty() => {
                let (caches, wishes) = (world.caches.clone(), settings.wishes);
                let mut fairways = fairways::Parameters::default();
                for (name, value) in
                    set.configured("fairways").into_iter().flat_map(|of| of.parameters)
                {
                    fairways.set(name, value);
                }
                How::ScorePlaced(PlacedSettings { caches, wishes, fairways })
            }
            None => How::Score(settings),
        }
    }
}

/// Whether one of the policies lets programs take turns.
fn schedule(policies: &[&str]) -> bool {
    policies.iter().any(|name| descriptor(name).is_some_and(Descriptor::schedules))
}
