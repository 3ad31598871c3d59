//! Machines over time: the model, and chips.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use fairways_chip::service::parse_loads;
use fairways_chip::{Settings, preset};
use fairways_command_kit::objective;
use fairways_core::{Event, Observer, Time};
use fairways_simulation::chip::{Profiling, TimeScale, World as ChipWorld};
use fairways_simulation::profile_needs;
use fairways_simulation::suits::{self, MachineUse};
use fairways_simulation::{Best, ENDLESS, On, RunJournal, SimulatedRun};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::CallFailure;
use crate::mix::PyMix;
use crate::optimum::seconds;
use crate::policy::{Choices, Fault, MadePolicy, has_raised, raised};
use crate::profiles::{Profiles, ProfilesArgument};
use crate::simulate::within;
use crate::table::{PyTable, numbers, texts, truths, wholes};
use crate::watched::{Steps, WatchedWork, watched};

/// A simulated machine, and the programs on it.
#[pyclass(frozen, module = "fairways", name = "Machine")]
pub(crate) struct PyMachine {
    on: SimulatedOn,
}

enum SimulatedOn {
    Model { mix: PyMix, settings: fairways_model::Settings },
    Chip(ChipWorld),
}

#[pymethods]
impl PyMachine {
    /// The analytic model over time, on which the programs of a mix run.
    #[staticmethod]
    #[pyo3(signature = (
        mix, *, noise = 0.0, lost = 0.0, overshoot = 1.0, llc_mb = None, seed = 1
    ))]
    fn model(
        mix: Py<PyMix>,
        noise: f64,
        lost: f64,
        overshoot: f64,
        llc_mb: Option<f64>,
        seed: u64,
    ) -> PyResult<Self> {
        let mix = mix.get().clone();
        profile_needs::check_all("Machine.model", mix.world.programs.table())
            .map_err(CallFailure::from)?;
        let llc_mb = within("llc_mb", llc_mb.unwrap_or(mix.llc_mb), 0.001, 1e6)?;
        let settings = fairways_model::Settings {
            noise: within("noise", noise, 0.0, 50.0)? / 100.0,
            lost: within("lost", lost, 0.0, 100.0)? / 100.0,
            overshoot: within("overshoot", overshoot, 1.0, 1000.0)?,
            seed,
            ..mix.world.model(llc_mb)
        };
        Ok(Self { on: SimulatedOn::Model { mix, settings } })
    }

    /// A chip that executes its programs' memory accesses; docs/chip.md has presets and programs.
    #[staticmethod]
    #[pyo3(signature = (
        preset, programs, *, profiles = None, time_scale = 1.0, clos = 16, baselines = None,
        objectives = None, loads = None, seed = 1
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn chip(
        preset: &str,
        programs: Vec<String>,
        profiles: Option<ProfilesArgument>,
        time_scale: f64,
        clos: u32,
        baselines: Option<BTreeMap<String, u32>>,
        objectives: Option<BTreeMap<String, String>>,
        loads: Option<BTreeMap<String, String>>,
        seed: u64,
    ) -> PyResult<Self> {
        let world = (|| -> Result<ChipWorld, CallFailure> {
            let profiles = profiles.map_or_else(|| Profiles::named("skylake"), |of| of.read())?;
            profile_needs::check_all("Machine.chip", profiles.catalog.table())?;
            let mut geometry = preset::parse(preset).map_err(|why| why.to_string())?;
            geometry.llc.clos = clos;
            let scale = within("time_scale", time_scale, 1e-6, 1.0)?;
            let TimeScale(time_scale) =
                TimeScale::new(scale).map_err(|why| format!("time_scale: {why}"))?;
            let settings = Settings { time_scale, seed, ..Settings::new(geometry) };
            let table = profiles.catalog.table();
            let mut world = ChipWorld::new(preset, settings, table, &programs)?;
            world.promise(&baselines.unwrap_or_default().into_iter().collect::<Vec<_>>())?;
            world.load(&each("loads", loads, |text| {
                parse_loads(text).map_err(|why| why.to_string())
            })?)?;
            world.oblige(&each("objectives", objectives, objective::parse)?)?;
            Ok(world)
        })()?;
        Ok(Self { on: SimulatedOn::Chip(world) })
    }

    /// Runs the programs under a policy, which starts afresh: a row for each program.
    #[pyo3(signature = (
        policy = None, *, duration = 60.0, instructions = 150_000_000_000, known_profiles = false,
        journal = None, progress = None, **parameters
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn run(
        &self,
        py: Python<'_>,
        policy: Option<Bound<'_, PyAny>>,
        duration: f64,
        instructions: u64,
        known_profiles: bool,
        journal: Option<PathBuf>,
        progress: Option<Bound<'_, PyAny>>,
        parameters: Option<Bound<'_, PyDict>>,
    ) -> PyResult<PyTable> {
        let policy = policy
            .unwrap_or_else(|| pyo3::types::PyString::new(py, fairways_policy::DEFAULT).into_any());
        let choices = Choices::read(&policy, parameters.as_ref())?;
        let duration = seconds(duration).map_err(|why| why.about("duration"))?;
        if instructions == 0 || instructions > ENDLESS {
            let why = format!("instructions: expected a whole number from 1 to {ENDLESS}");
            return Err(CallFailure::Said(format!("{why}, found {instructions}")).into());
        }
        let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let steps = Steps { total: milliseconds.div_ceil(1000), unit: "s" };
        watched(py, progress.as_ref(), steps, |watch| {
            let asked = RunRequest { duration, instructions, known_profiles, journal };
            let ran = self.ran(&choices, asked, watch);
            choices.no_faults().and(ran)
        })
    }

    fn __repr__(&self) -> String {
        match &self.on {
            SimulatedOn::Model { mix, .. } => format!("<fairways.Machine model: {}>", mix.mix.name),
            SimulatedOn::Chip(world) => {
                format!("<fairways.Machine chip:{}: {}>", world.preset, world.names.join(", "))
            }
        }
    }
}

/// Reads what is said of each program.
fn each<T>(
    what: &str,
    of: Option<BTreeMap<String, String>>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<(String, T)>, CallFailure> {
    let of = of.unwrap_or_default().into_iter();
    of.map(|(name, text)| {
        let read = read(&text).map_err(|why| format!("{what}: {name}: {why}"))?;
        Ok((name, read))
    })
    .collect()
}

/// What a run was asked for.
struct RunRequest {
    duration: Duration,
    instructions: u64,
    known_profiles: bool,
    journal: Option<PathBuf>,
}

/// A slowdown, if it is known.
fn if_known(slowdown: f64) -> Option<f64> {
    Some(slowdown).filter(|slowdown| !slowdown.is_nan())
}

/// The largest size of a part of a journal, as the command has it.
const PART_BYTES: u64 = 256 << 20;

/// Shows how far a run is, and ends it when Python is interrupted or its policy has raised
/// something.
struct RunProgress<'a> {
    watch: &'a WatchedWork,
    fault: &'a Fault,
}

impl<M: ?Sized, P: ?Sized> Observer<M, P> for RunProgress<'_> {
    fn event(&mut self, at: Time, _: &Event, _: &M) {
        self.watch.reached(at.nanos() / 1_000_000);
    }

    fn is_done(&self) -> bool {
        self.watch.go_on().is_err() || has_raised(self.fault)
    }
}

impl PyMachine {
    fn ran(
        &self,
        choices: &Choices,
        asked: RunRequest,
        watch: &WatchedWork,
    ) -> Result<PyTable, CallFailure> {
        let [choice] = &*choices.each else {
            let found = choices.each.len();
            return Err(CallFailure::Said(format!("policy: expected one, found {found}")));
        };
        let (learns, needs) = choice.learns_needs();
        let known = asked.known_profiles || !learns;
        let (is_model, is_memory_limited) = match &self.on {
            SimulatedOn::Model { mix, .. } => (true, mix.world.bandwidth.is_some()),
            SimulatedOn::Chip(_) => (false, false),
        };
        let machine = MachineUse { is_model, is_dynamic: true, is_memory_limited };
        suits::check("policy", &[choice.name()], machine)?;
        let on = match &self.on {
            SimulatedOn::Model { mix, settings } => On::Model {
                world: Box::new(mix.world.clone()),
                mix: mix.mix.clone(),
                settings: Box::new(*settings),
            },
            SimulatedOn::Chip(world) => {
                let mut world = world.clone();
                world.take_turns(None, None, choice.schedules())?;
                world.check_room()?;
                let profiling =
                    Profiling { span: Duration::from_millis(200), for_all: asked.known_profiles };
                let of_policy = [(choice.name(), choices.all_parameters(choice)?)];
                world.find_least_scales(of_policy, Some(profiling));
                world.warn_of_time_scale();
                if known && (learns || needs) {
                    world.measure_profiles(profiling.span)?;
                }
                On::Chip(Box::new(world))
            }
        };
        let Some(MadePolicy { policy, fault }) = choices.make(choice, known)? else {
            let why = "policy: expected one that runs, found optimum: simulate compares with it";
            return Err(CallFailure::Said(why.to_owned()));
        };
        let parameters = choices.all_parameters(choice)?;
        let RunRequest { duration, instructions, journal, .. } = asked;
        let mut run = SimulatedRun { on, policy, parameters, duration, instructions, known };
        let mut journal = journal.map(|path| run.journal(&path, (PART_BYTES, None))).transpose()?;
        let mut machine = run.machine();
        machine.stop_when(watch.stop().clone());
        let names = run.names();
        let mut progress = RunProgress { watch, fault: &fault };
        let mut observers: Vec<&mut dyn Observer<_, _>> = vec![&mut progress];
        if let Some(journal) = &mut journal {
            observers.push(journal);
        }
        fairways_core::run(&mut machine, run.policy.as_mut(), &mut observers);
        let kept = journal.map_or(Ok(()), RunJournal::finish);
        machine.end();
        raised(&fault)?;
        watch.go_on()?;
        kept?;
        if let Some(why) = machine.failure(machine.now()) {
            return Err(why.into());
        }
        let end = Time::ZERO.after(duration);
        let best = Best::new(&run, end, watch.stop())?;
        watch.go_on()?;
        let fares = best.fares(&machine, names.len());
        watch.reached(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        PyTable::new(vec![
            ("program", texts(names.iter().map(Some))),
            ("runs", wholes((0..names.len()).map(|job| Some(machine.runs(job) as u64)))),
            ("slowdown", numbers(fares.iter().map(|fare| if_known(fare.slowdown)))),
            ("is_comparable", truths(fares.iter().map(|fare| Some(!fare.not_comparable)))),
        ])
    }
}
