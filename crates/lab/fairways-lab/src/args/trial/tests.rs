//! Verdicts of trials on a chip, against the true differences.

use std::time::Duration;

use clap::Parser as _;
use fairways_core::{Action, AppId, Counter, Event, Partition, Policy, Time};
use fairways_record::trial::Trial as OnTrial;
use fairways_simulation::SimulatedRun;
use fairways_verbs::trial::{MATTERS, RunningTrial, Verdict};
use rayon::prelude::*;

use super::Trial;
use crate::args::{Args, Command};
use crate::run::fixed;

/// How close to [`MATTERS`] a true difference may be for both verdicts to be right.
const NEAR: f64 = 0.0025;

/// Of the cache of 768 KiB, some need a part, some need all, some gain nothing from it, and one
/// does not use it.
const PROGRAMS: [&str; 8] = [
    "mlr:100K",
    "mlr:200K",
    "mlr:300K",
    "mlr:500K",
    "mlr:700K",
    "mload:20M",
    "mload:60M",
    "lookbusy",
];

/// How long programs run before the policy of a warm trial begins.
const WARM: Duration = Duration::from_secs(4);

/// The last but one promises most of the cache to a program that gains nothing by it.
const POLICIES: [&[&str]; 5] = [
    &["--policy", "equal"],
    &["--policy", "lfoc"],
    &["--policy", "kpart"],
    &["--policy", "static", "--baselines", "mload:60M=10"],
    &["--policy", "static"],
];

fn trial(programs: &str, policy: &[&str]) -> Trial {
    let words = [
        "fairways-lab",
        "trial",
        "--machine",
        "chip:xeon-d:cores=4:sets=1024",
        "--programs",
        programs,
        "--time-scale",
        "0.02",
        "--learn",
        "6s",
        "--block",
        "1s",
        "--duration",
        "12s",
    ];
    match Args::try_parse_from(words.iter().chain(policy)).unwrap().command {
        Command::Trial(trial) => *trial,
        other => panic!("{other:?}"),
    }
}

fn run(args: &Trial) -> SimulatedRun {
    args.of.simulated(&args.on.machine).unwrap()
}

/// A trial on programs that have run before: as a daemon that is started then, its policies learn
/// of them all at once, and of nothing that happened before.
struct WarmTrial(RunningTrial);

impl OnTrial for WarmTrial {
    fn of(&self, domain: u32, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        let policy = self.0.of(domain, policy);
        Box::new(LatePolicy { policy, before: Vec::new(), has_begun: false })
    }

    fn named(&self, app: AppId, name: &str) {
        self.0.named(app, name);
    }

    fn counters(&self) -> Vec<Counter> {
        self.0.counters()
    }

    fn follow(&self, at: Time) -> bool {
        self.0.follow(at)
    }
}

/// A policy that begins when programs have run for a while.
struct LatePolicy {
    policy: Box<dyn Policy>,
    /// What happened before.
    before: Vec<Event>,
    has_begun: bool,
}

impl Policy for LatePolicy {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.has_begun {
            self.policy.handle(at, event, act);
        } else if matches!(event, Event::Woke) {
            self.has_begun = true;
            for event in &self.before {
                self.policy.handle(at, event, act);
            }
        } else {
            self.before.push(event.clone());
            act(Action::Wake { at: Time::ZERO.after(WARM) });
        }
    }
}

/// The verdict of a trial, and the plan that it is about.
fn outcome(args: &mut Trial, is_warm: bool) -> (Verdict, Partition) {
    let trial = args.prepared().unwrap();
    match is_warm {
        true => crate::run::tried(run(args), &WarmTrial(trial.clone()), trial.takes() + WARM),
        false => crate::run::tried(run(args), &trial, trial.takes()),
    }
    .unwrap();
    assert_eq!(trial.broken(), None);
    (trial.verdict(0), trial.decided(0, 0).unwrap())
}

/// The true difference of the geometric mean of IPC, from separate runs six times as long as a
/// block. As on a host, programs have run before: a partition keeps a program from filling ways,
/// but not from hitting lines that are in other ways already.
fn truth(args: &Trial, decided: &Partition) -> f64 {
    let (from, to) = (Duration::from_secs(2), Duration::from_secs(8));
    let with = fixed(run(args), Some(decided), from, to);
    let without = fixed(run(args), None, from, to);
    let ratios = with.iter().zip(&without).map(|(with, without)| (with / without).ln());
    (ratios.sum::<f64>() / with.len() as f64).exp() - 1.0
}

fn is_right(verdict: Verdict, truth: f64) -> bool {
    match verdict {
        Verdict::Helped => truth > MATTERS - NEAR,
        Verdict::DidHarm => truth < -MATTERS + NEAR,
        Verdict::DidNot => truth.abs() < MATTERS + NEAR,
        Verdict::Inconclusive | Verdict::NothingWasTried => false,
    }
}

/// Whether the machine's twelve ways are all every program's.
fn limits_none(plan: &Partition) -> bool {
    plan.masks().all(|mask| mask.count() == 12)
}

/// At least nineteen of twenty mixes, five policies on four each, get a right verdict about the
/// plan that it names, also where programs have run before, and none gets a false one. CI tries
/// five mixes of both kinds; `FAIRWAYS_TRIALS=20` tries all: from the start one too many gets none.
#[test]
fn trials_say_what_is_so() {
    check(false);
}

#[test]
fn trials_on_programs_that_have_run_say_what_is_so() {
    check(true);
}

fn check(is_warm: bool) {
    let mixes = std::env::var("FAIRWAYS_TRIALS").ok().and_then(|text| text.parse().ok());
    let mixes: usize = mixes.unwrap_or(5);
    let answer = |number: usize| {
        let policy = POLICIES[number % 5];
        // Four programs that differ from mix to mix.
        let mut programs: Vec<&str> =
            (0..4).map(|at| PROGRAMS[(number * (2 * at + 1) + 3 * at + number / 8) % 8]).collect();
        if policy.contains(&"--baselines") {
            programs.retain(|program| *program != "mload:60M");
            programs.insert(0, "mload:60M");
        }
        let mut args = trial(&programs.join(","), policy);
        let (verdict, decided) = outcome(&mut args, is_warm);
        let (right, truth) = match verdict {
            Verdict::NothingWasTried => (limits_none(&decided), 0.0),
            verdict => {
                let truth = truth(&args, &decided);
                (is_right(verdict, truth) && !limits_none(&decided), truth)
            }
        };
        let mark = if right { "right" } else { "WRONG" };
        eprintln!("{} {programs:?}: {verdict:?}, {:+.2} %: {mark}", policy[1], truth * 100.0);
        (verdict, right)
    };
    let answers: Vec<_> = (0..mixes).into_par_iter().map(answer).collect();
    let count = |is: &dyn Fn(&(Verdict, bool)) -> bool| answers.iter().filter(|of| is(of)).count();
    // One that says nothing is no false one.
    assert_eq!(count(&|of| !of.1 && of.0 != Verdict::Inconclusive), 0);
    assert!(count(&|(_, right)| !right) <= mixes / 20);
    // Each verdict occurs; otherwise the test would show little.
    let all = [Verdict::Helped, Verdict::DidHarm, Verdict::NothingWasTried];
    for verdict in &all[..if mixes < 20 { 2 } else { 3 }] {
        assert!(count(&|(other, right)| other == verdict && *right) >= mixes / 10, "{verdict:?}");
        assert!(answers.iter().any(|(other, _)| other == verdict), "{verdict:?}");
    }
}
