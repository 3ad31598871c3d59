//! What is tried, on a machine that carries every plan out.

use std::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Curve, Event, Llc, Partition, PlanId, Policy, Profile, Q32, Sample,
    Time, WayMask, Ways, WindowLength, Wish,
};
use fairways_policy::lfoc;
use fairways_record::trial::Trial as _;

use super::progress::progress;
use super::*;

const WAYS: u32 = 8;

/// A policy that has learned nothing: it makes plans by its clock, and notes what it sees.
struct ScriptedPolicy {
    /// Seconds since it began, the ways of program 0, and the reason.
    plans: Vec<(u64, u32, &'static str)>,
    began: Option<Time>,
    made: u32,
    seen: Arc<Mutex<Vec<String>>>,
}

fn scripted(plans: &[(u64, u32, &'static str)]) -> (Box<dyn Policy>, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (plans, began, made) = (plans.to_vec(), None, 0);
    (Box::new(ScriptedPolicy { plans, began, made, seen: Arc::clone(&seen) }), seen)
}

impl Policy for ScriptedPolicy {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let began = *self.began.get_or_insert(at);
        match event {
            Event::Applied { plan, .. } => self.seen.lock().push(format!("applied {}", plan.0)),
            Event::Refused { plan, .. } => self.seen.lock().push(format!("refused {}", plan.0)),
            Event::Started { app, profile, .. } => {
                let has = if profile.is_some() { "with" } else { "without" };
                self.seen.lock().push(format!("started {} {has} profile", app.0));
            }
            Event::Sampled(sample) => {
                let plan = sample.plan.map(|plan| plan.0);
                self.seen.lock().push(format!("sampled {} under {plan:?}", sample.app.0));
            }
            _ => {}
        }
        while let Some(&(after, ways, reason)) = self.plans.first() {
            if began.after(Duration::from_secs(after)) > at {
                break;
            }
            self.plans.remove(0);
            let mut partition = Partition::default();
            let own = partition.add_cluster(WayMask::span(0, ways));
            partition.place(AppId(0), own);
            let plan = PlanId(self.made);
            self.made += 1;
            act(Action::Partition { plan, partition: (&partition).into(), reason: reason.into() });
        }
        if let Some((after, ..)) = self.plans.first() {
            act(Action::Wake { at: began.after(Duration::from_secs(*after)) });
        }
    }
}

/// A machine with one program that is twice as fast with half of the ways as with all.
struct OneProgramMachine {
    policy: Box<dyn Policy>,
    at: Time,
    alarm: Option<Time>,
    now: Option<PlanId>,
    ways: u32,
    watched: Option<Duration>,
    /// The machine refuses plans that limit the program.
    refuses: bool,
    /// Which numbers of ways were in force, in turn.
    tried: Vec<u32>,
}

impl OneProgramMachine {
    fn start(trial: &RunningTrial, policy: Box<dyn Policy>, refuses: bool) -> Self {
        let policy = trial.of(0, policy);
        let (at, alarm, now, ways) = (Time::ZERO, None, None, WAYS);
        let tried = Vec::new();
        let mut machine = Self { policy, at, alarm, now, ways, watched: None, refuses, tried };
        machine.report(&Event::Machine(Llc::with_ways(Ways::new(WAYS).unwrap()).into()));
        machine.report(&started());
        trial.named(AppId(0), "web");
        machine
    }

    fn report(&mut self, event: &Event) {
        let mut answers = Vec::new();
        let Self { policy, at, alarm, now, ways, watched, refuses, tried } = self;
        policy.handle(*at, event, &mut |action| match action {
            Action::Partition { plan, partition, .. } => {
                let wanted = partition.mask_of(AppId(0)).map_or(WAYS, WayMask::count);
                if *refuses && wanted < WAYS {
                    let why =
                        fairways_core::PartitionError::TooManyClusters { clusters: 2, clos: 1 };
                    answers.push(Event::Refused { plan, why });
                    return;
                }
                (*now, *ways) = (Some(plan), wanted);
                tried.push(wanted);
                answers.push(Event::Applied { plan, actual: partition.into_owned() });
            }
            Action::Wake { at } => *alarm = Some(at),
            Action::Watch { every: WindowLength::Time(every), .. } => *watched = Some(every),
            _ => {}
        });
        for answer in answers {
            self.report(&answer);
        }
    }

    /// Goes on until the trial is over, or this time.
    fn run(&mut self, trial: &RunningTrial, until: Time) {
        while !trial.follow(self.at) {
            let window = self.watched.map(|every| self.at.after(every));
            let alarm = self.alarm.expect("a trial always has an alarm");
            if window.unwrap_or(alarm).min(alarm) > until {
                break;
            }
            if let Some(end) = window.filter(|end| *end <= alarm) {
                self.at = end;
                let (cycles, instructions) = (Some(1000), Some(1000 * u64::from(WAYS / self.ways)));
                let counters = Counters { instructions, cycles, ..Counters::default() };
                let window = self.watched.unwrap();
                let sample = Sample { plan: self.now, ..Sample::new(AppId(0), counters, window) };
                self.report(&Event::Sampled(sample));
            } else {
                self.at = alarm;
                self.alarm = None;
                self.report(&Event::Woke);
            }
        }
    }
}

/// The program starts, with a profile.
fn started() -> Event {
    let curve = Curve::new(vec![Q32::ONE; WAYS as usize]).unwrap();
    let [ipc, llcmpki, llcmpkc, bandwidth_mbps, stalls_l2_miss] = [(); 5].map(|()| curve);
    let profile = Profile { ipc, llcmpki, llcmpkc, bandwidth_mbps, stalls_l2_miss };
    Event::Started { app: AppId(0), wish: Wish::default(), profile: Some(Arc::new(profile)) }
}

fn trial(policies: Option<ComparedPolicies>) -> RunningTrial {
    let second = Duration::from_secs(1);
    RunningTrial::new(second * 60, second, Some(second * 12), 1, policies).unwrap()
}

fn printed(trial: &RunningTrial, json: bool) -> (String, anyhow::Result<()>) {
    let mut out = Vec::new();
    let tried = Tried { policy: "scripted".to_owned(), interrupted: false, ended: Ok(()) };
    let ended = trial.print(tried, json, &mut out);
    (String::from_utf8(out).unwrap(), ended)
}

/// The policy's last decision is its best by its estimate: neither the plan that was in force for
/// longest, nor one that only measures a program.
#[test]
fn the_last_decision_is_tried() {
    let trial = trial(None);
    let plans = [(0, 2, "first"), (50, 4, "better"), (59, 1, lfoc::SAMPLING)];
    let (policy, _) = scripted(&plans);
    let mut machine = OneProgramMachine::start(&trial, policy, false);
    machine.run(&trial, Time::ZERO.after(Duration::from_secs(100)));
    assert!(trial.found.lock().is_over());
    assert!(machine.tried[3..].iter().all(|ways| [4, WAYS].contains(ways)), "{:?}", machine.tried);
    assert_eq!(trial.verdict(0), Verdict::Helped);
    let (text, ended) = printed(&trial, false);
    ended.unwrap();
    assert!(text.contains("plan  ....AAAA  better\n  A  4 ways: web\n"), "{text}");
    let (json, _) = printed(&trial, true);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["plan"][0]["clusters"][0]["programs"][0], "web");
    assert_eq!((&json["plan"][0]["clusters"][0]["ways"], &json["since"]), (&4.into(), &().into()));
}

/// Each reason is a verdict of its own, with its own exit code, and no block is run.
#[test]
fn nothing_to_try_is_said_with_the_reason() {
    let cases = [
        (&[(0, WAYS, "all alike")][..], false, "it lets every program fill every way"),
        (&[(0, 2, lfoc::SAMPLING)], false, "it only sampled programs during --learn"),
        (&[], false, "it made no plan during --learn"),
        (&[(0, 2, "half")], true, "this machine refused its plans"),
    ];
    for (plans, refuses, why) in cases {
        let trial = trial(None);
        let mut machine = OneProgramMachine::start(&trial, scripted(plans).0, refuses);
        machine.run(&trial, Time::ZERO.after(Duration::from_secs(100)));
        assert_eq!(machine.at, Time::ZERO.after(Duration::from_secs(60)), "{why}");
        assert_eq!(trial.verdict(0), Verdict::NothingWasTried);
        let (text, ended) = printed(&trial, false);
        let first = format!("scripted: nothing was tried, since {why}");
        assert_eq!(text.lines().next(), Some(&*first));
        assert_eq!(fairways_command_kit::exit::code_of(&ended.unwrap_err()), NOTHING_TRIED);
        let json: serde_json::Value = serde_json::from_str(&printed(&trial, true).0).unwrap();
        assert_eq!((&json["verdict"], &json["since"]), (&"nothing_was_tried".into(), &why.into()));
    }
}

#[test]
fn what_a_trial_has_not_come_to_is_said() {
    let trial = trial(None);
    let mut machine = OneProgramMachine::start(&trial, scripted(&[(0, 4, "half")]).0, false);
    machine.run(&trial, Time::ZERO.after(Duration::from_secs(30)));
    let tried = Tried { policy: "scripted".to_owned(), interrupted: true, ended: Ok(()) };
    let mut out = Vec::new();
    let ended = trial.print(tried, false, &mut out);
    assert!(ended.unwrap_err().is::<Interrupted>());
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("scripted: nothing was tried, since the trial ended before\n"));
    assert!(text.contains("A  4 ways: web"), "{text}");
}

/// The second policy sees programs that start when it begins, and none of the first one's plans
/// and windows.
#[test]
fn each_policy_learns_as_if_it_were_the_first() {
    let names = ["ucp", "stock"].map(str::to_owned).to_vec();
    let trial = trial(Some(ComparedPolicies { names, ..ComparedPolicies::default() }));
    let (first, _) = scripted(&[(0, 4, "half"), (10, 2, "quarter")]);
    let (second, seen) = scripted(&[(0, 1, "one"), (10, 4, "half")]);
    let candidates = [(first, true), (second, false)];
    let candidates =
        candidates.map(|(policy, gets_profiles)| CandidatePolicy { policy, gets_profiles });
    let Planned { order, .. } = &trial.planned;
    assert_eq!(order.len(), 12);
    let of = PolicyOnTrial::new(
        candidates.into_iter().collect(),
        0,
        trial.planned.clone(),
        Arc::clone(&trial.found),
    );
    let mut machine = OneProgramMachine::start(&trial, scripted(&[]).0, false);
    machine.policy = Box::new(of);
    machine.report(&Event::Machine(Llc::with_ways(Ways::new(WAYS).unwrap()).into()));
    machine.report(&started());
    machine.run(&trial, Time::ZERO.after(Duration::from_secs(200)));
    assert_eq!(machine.at, Time::ZERO.after(Duration::from_secs(2 * 60 + 12)));
    let seen = seen.lock();
    let expected = ["started 0 without profile", "applied 0", "applied 1"];
    assert_eq!(*seen, expected);
    for (policy, ways) in [(0, 2), (1, 4)] {
        let plan = trial.decided(0, policy).unwrap();
        assert_eq!(plan.mask_of(AppId(0)).map(WayMask::count), Some(ways));
    }
}

#[test]
fn progress_names_the_policy_and_the_time_that_is_left() {
    let trial = trial(None);
    let mut machine = OneProgramMachine::start(&trial, scripted(&[(0, 4, "half")]).0, false);
    let text = progress(&trial.found.lock(), &[], Time::ZERO);
    assert_eq!(text.as_deref(), Some("scripted decides; 1m 12s left"));
    machine.run(&trial, Time::ZERO.after(Duration::from_secs(60)));
    let text = progress(&trial.found.lock(), &[], machine.at).unwrap();
    assert!(text.starts_with("block 1 of 12, with") && text.ends_with("; 12s left"), "{text}");
    machine.run(&trial, Time::ZERO.after(Duration::from_secs(100)));
    assert_eq!(progress(&trial.found.lock(), &[], machine.at), None);
}
