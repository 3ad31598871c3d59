//! How well LFOC classifies programs while they run (LFOC §4.2).

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Time, Ways};
use fairways_model::{Model, Settings};
use fairways_policy::lfoc::{Class, Lfoc, Parameters};
use fairways_profiles::{Mix, PhasedProgram, ProfileTable, ProgramCatalog, ProgramPhase};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

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
        let activity = watch(&mut model, &mut policy, |_, _, _, _| ());
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

/// Changes of class of random phased programs, and how long the policy's classes were right.
#[derive(Clone, Debug, Default)]
pub struct ClassChanges {
    /// The changes of programs whose class before was known to the policy.
    pub changes: Vec<ClassChange>,
    /// Phased programs that ran.
    pub programs: u32,
    /// Nanoseconds for which the policy's classes of programs were right, of all nanoseconds.
    pub right: (u128, u128),
}

/// Runs `runs` mixes of eight programs each, with two to four phases of 5 to 40 G instructions
/// drawn from the table, for a minute under LFOC without profiles.
#[must_use]
pub fn class_changes(
    table: &ProfileTable,
    ways: Ways,
    settings: &Settings,
    parameters: Parameters,
    runs: u64,
) -> ClassChanges {
    const PROGRAMS: usize = 8;
    let truth = classes(table, ways);
    let mut found = ClassChanges::default();
    for seed in (settings.seed..).take(usize::try_from(runs).unwrap_or(usize::MAX)) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let phased = (0..PROGRAMS).map(|number| random_program(&mut rng, table, number)).collect();
        let programs = ProgramCatalog::new(table.clone(), phased);
        let first = table.names().len();
        let jobs = (first..programs.len()).map(|index| job(&programs, index, ways, 1.0));
        let mut model = Model::new(Settings { seed, ..*settings }, jobs);
        let end = Time::ZERO.after(Duration::from_secs(60));
        model.stop_at(end);
        let mut open: BTreeMap<AppId, OpenClass> = BTreeMap::new();
        let mut before = Time::ZERO;
        watch(&mut model, &mut Lfoc::new(parameters), |at, _, model, policy: &Lfoc| {
            for (app, job, phase, turned) in model.running() {
                let is = truth[programs.phases(first + job)[phase].program];
                let taken = policy.class(app);
                let span = u128::from(at.nanos() - before.nanos());
                found.right.0 += if taken == Some(is) { span } else { 0 };
                found.right.1 += span;
                let open = open.entry(app).or_insert(OpenClass::new(is, turned, None));
                if open.is != is {
                    let known = open.taken.filter(|&taken| taken == open.is);
                    let turn = std::mem::replace(open, OpenClass::new(is, turned, known));
                    found.changes.extend(turn.close(turned));
                }
                open.taken = taken;
                if taken == Some(is) {
                    open.caught.get_or_insert(at);
                }
            }
            before = at;
        });
        found.changes.extend(open.into_values().filter_map(|turn| turn.close(end)));
        found.programs += u32::try_from(PROGRAMS).unwrap_or(0);
    }
    found
}

/// A program's current class.
#[derive(Clone, Copy)]
struct OpenClass {
    is: Class,
    since: Time,
    /// The class before, if the policy knew it.
    from: Option<Class>,
    /// The policy's last class, and when it was first right.
    taken: Option<Class>,
    caught: Option<Time>,
}

impl OpenClass {
    fn new(is: Class, since: Time, from: Option<Class>) -> Self {
        Self { is, since, from, taken: None, caught: None }
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
