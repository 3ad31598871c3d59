//! How well LFOC classifies programs while they run (LFOC §4.2), and how soon it and `fairways`
//! see that a phase has ended.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{AppId, Event, Policy, Time, run};
use fairways_model::{Job, Model, Settings};
use fairways_policy::fairways::{self, Fairways};
use fairways_policy::lfoc::{Class, Lfoc, Parameters};
use fairways_profiles::{Mix, PhasedProgram, ProfileTable, ProgramCatalog, ProgramPhase};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::after_each::{AfterEach, RunControl};
use crate::draw::{classes, pick};
use crate::live::{job, watch};

/// The policy's classes of programs, compared with the true ones.
#[derive(Clone, Debug, Default)]
pub struct Accuracy {
    /// Programs whose class is that of Table 1 for their profiles.
    pub right: u32,
    /// All programs.
    pub all: u32,
    /// The others: the name, the true class, the policy's class (`None`: unknown), and how often.
    pub wrong: BTreeMap<(String, &'static str, Option<&'static str>), u32>,
    /// Nanoseconds in sampling mode, of all nanoseconds.
    pub sampling: (u64, u64),
}

/// Runs each mix of programs of a table for `span` under LFOC without profiles, and compares its
/// classes at the end.
#[must_use]
pub fn accuracy(
    programs: &ProgramCatalog,
    mixes: &[Mix],
    settings: &Settings,
    parameters: Parameters,
    span: Duration,
) -> Accuracy {
    let ways = settings.llc.ways;
    let truth = classes(programs.table(), ways);
    let mut found = Accuracy::default();
    for (mix, seed) in mixes.iter().zip(settings.seed..) {
        let jobs = mix.programs.iter().map(|&index| job(programs, index, ways, 1.0));
        let mut model = Model::new(Settings { seed, ..*settings }, jobs);
        model.stop_at(Time::ZERO.after(span));
        let mut policy = Lfoc::new(parameters);
        let activity = watch(&mut model, &mut policy);
        found.sampling.0 += activity.sampling_nanos;
        found.sampling.1 += activity.end.nanos();
        for (app, &program) in (0..).map(AppId).zip(&mix.programs) {
            let (is, taken) = (truth[program], policy.class(app));
            found.all += 1;
            if taken == Some(is) {
                found.right += 1;
            } else {
                let name = programs.name(program).to_owned();
                *found.wrong.entry((name, is.name(), taken.map(Class::name))).or_default() += 1;
            }
        }
    }
    found
}

/// A program's change of class.
#[derive(Clone, Copy, Debug)]
pub struct ClassChange {
    /// The class before, which the policy knew.
    pub from: Class,
    /// The class after.
    pub to: Class,
    /// How long after the change the policy knew; `None`: not before the next change, exit, or end.
    pub caught: Option<Duration>,
    /// How long the new class lasted.
    pub lasted: Duration,
}

/// Changes of class of random phased programs, and how long the policy knew of the last one.
#[derive(Clone, Debug, Default)]
pub struct ClassChanges {
    /// The changes of programs whose class before was known to the policy.
    pub changes: Vec<ClassChange>,
    /// Phased programs that ran.
    pub programs: u32,
    /// Nanoseconds for which the policy's classes of programs were right, of all nanoseconds.
    pub right: (u128, u128),
}

/// Which random phased programs run.
#[derive(Clone, Copy, Debug)]
pub struct PhasedRuns {
    /// So many mixes of eight programs each, with two to four phases of 5 to 40 G instructions
    /// drawn from the table, for a minute.
    pub mixes: u64,
    /// Whether the policy gets the profile of each program's first phase.
    pub with_profiles: bool,
}

impl fmt::Display for PhasedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mixes, with_profiles } = self;
        let what =
            if *with_profiles { "the profiles of their first phases" } else { "no profiles" };
        write!(f, "{mixes} mixes of random phased programs with {what}")
    }
}

/// A table of how many changes were noticed, and how soon.
impl fmt::Display for ClassChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (right, all) = self.right;
        let known = 100.0 * right as f64 / all as f64;
        let (programs, changes) = (self.programs, self.changes.len());
        writeln!(f, "{programs} programs, {changes} changes; {known:.1} % of the time known")?;
        let after = "milliseconds: 10th, 50th, 90th, 99th percentile";
        writeln!(f, "  {:24} {:>7} {:>8}  {after}", "", "changes", "noticed")?;
        let kinds = [Class::Streaming, Class::Sensitive, Class::Light];
        let kinds = kinds.into_iter().flat_map(|from| kinds.map(|to| (from, to)));
        for (from, to) in kinds.filter(|(from, to)| from != to) {
            let of_kind = self.changes.iter().filter(|of| (of.from, of.to) == (from, to));
            let count = of_kind.clone().count();
            let mut times: Vec<Duration> = of_kind.filter_map(|change| change.caught).collect();
            times.sort_unstable();
            let noticed = 100.0 * times.len() as f64 / count as f64;
            let name = format!("{} to {}", from.name(), to.name());
            write!(f, "  {name:24} {count:7} {noticed:6.1} % ")?;
            for percentile in [10, 50, 90, 99] {
                let time = times.get(times.len() * percentile / 100);
                let time = time.map_or("-".to_owned(), |time| time.as_millis().to_string());
                write!(f, " {time:>6}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Runs phased programs under LFOC: how soon it knows the class of another phase.
#[must_use]
pub fn class_changes(
    table: &ProfileTable,
    settings: &Settings,
    parameters: Parameters,
    runs: PhasedRuns,
) -> ClassChanges {
    changes(
        table,
        settings,
        runs,
        || Lfoc::new(parameters),
        false,
        |policy, app, is, _: &mut ()| policy.class(app) == Some(is),
    )
}

/// The same under `fairways`, which knows no classes: how soon it sees that another phase has
/// begun. What it sees of a change within a class counts for the next one.
#[must_use]
pub fn phase_changes(
    table: &ProfileTable,
    settings: &Settings,
    parameters: fairways::Parameters,
    runs: PhasedRuns,
) -> ClassChanges {
    changes(
        table,
        settings,
        runs,
        || Fairways::new(parameters),
        true,
        |policy, app, _, before: &mut Option<u32>| {
            let seen = policy.phases_seen(app);
            seen > *before.get_or_insert(seen)
        },
    )
}

/// `knows` is whether the policy knows of a program's class or phase, with what it had found
/// when that began. What follows one that it did not know counts if `counts_all`.
fn changes<P: Policy, S: Copy + Default>(
    table: &ProfileTable,
    settings: &Settings,
    runs: PhasedRuns,
    policy: impl Fn() -> P,
    counts_all: bool,
    knows: impl Fn(&P, AppId, Class, &mut S) -> bool,
) -> ClassChanges {
    const PROGRAMS: usize = 8;
    let ways = settings.llc.ways;
    let truth = classes(table, ways);
    let mut found = ClassChanges::default();
    for seed in (settings.seed..).take(usize::try_from(runs.mixes).unwrap_or(usize::MAX)) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let phased = (0..PROGRAMS).map(|number| random_program(&mut rng, table, number)).collect();
        let programs = ProgramCatalog::new(table.clone(), phased);
        let first = table.names().len();
        let jobs = (first..programs.len()).map(|index| {
            let phase = programs.phases(index).first().filter(|_| runs.with_profiles);
            let profile = phase.map(|phase| Arc::new(table.profile(phase.program)));
            Job { profile, ..job(&programs, index, ways, 1.0) }
        });
        let mut model = Model::new(Settings { seed, ..*settings }, jobs);
        let end = Time::ZERO.after(Duration::from_secs(60));
        model.stop_at(end);
        let mut open: BTreeMap<AppId, OpenClass<S>> = BTreeMap::new();
        let mut before = Time::ZERO;
        let mut look = AfterEach::new(|at: Time, _: &Event, model: &Model, policy: &P| {
            for (app, job, phase, turned) in model.running() {
                let is = truth[programs.phases(first + job)[phase].program];
                let open = open.entry(app).or_insert(OpenClass::new(is, turned, None));
                if open.is != is {
                    let known = (open.is_known || counts_all).then_some(open.is);
                    let turn = std::mem::replace(open, OpenClass::new(is, turned, known));
                    found.changes.extend(turn.close(turned));
                }
                open.is_known = knows(policy, app, is, &mut open.found);
                let span = u128::from(at.nanos() - before.nanos());
                found.right.0 += if open.is_known { span } else { 0 };
                found.right.1 += span;
                if open.is_known {
                    open.caught.get_or_insert(at);
                }
            }
            before = at;
            RunControl::Continue
        });
        run(&mut model, &mut policy(), &mut [&mut look]);
        found.changes.extend(open.into_values().filter_map(|turn| turn.close(end)));
        found.programs += u32::try_from(PROGRAMS).unwrap_or(0);
    }
    found
}

/// A program's current class.
#[derive(Clone, Copy)]
struct OpenClass<S> {
    is: Class,
    since: Time,
    /// The class before, if the policy knew it.
    from: Option<Class>,
    /// What the policy had found when it began.
    found: S,
    /// Whether the policy knows it, and when it first did.
    is_known: bool,
    caught: Option<Time>,
}

impl<S: Default> OpenClass<S> {
    fn new(is: Class, since: Time, from: Option<Class>) -> Self {
        Self { is, since, from, found: S::default(), is_known: false, caught: None }
    }

    fn close(self, end: Time) -> Option<ClassChange> {
        Some(ClassChange {
            from: self.from?,
            to: self.is,
            caught: self.caught.map(|at| at.since(self.since)),
            lasted: end.since(self.since),
        })
    }
}

fn random_program(rng: &mut Pcg64Mcg, table: &ProfileTable, number: usize) -> PhasedProgram {
    let count = 2 + pick(rng, 3).unwrap_or(0);
    let phases = (0..count).map(|_| ProgramPhase {
        program: pick(rng, table.names().len()).unwrap_or(0),
        instructions: Some(5_000_000_000 + rng.next_u64() % 35_000_000_000),
    });
    PhasedProgram { name: format!("random {number}"), phases: phases.collect() }
}
