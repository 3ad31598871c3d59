//! Every cache policy decides behind the files as it does on a chip by itself: the same events, to
//! the last digit, and the same plans at the same times.

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::service::{RequestLoad, Stage};
use fairways_chip::{AfterRun, CacheShape, Chip, Job, Phase, Settings, preset, program};
use fairways_core::{
    Action, AppId, BandwidthLevel, Event, Levers, Llc, Machine, Objective, Observer, Partition,
    PlanId, Policy, Q32, Resources, Time, WayMask, WindowLength, Wish, run,
};
use fairways_experiments::profile;
use fairways_policy::by_name;

use crate::common::{Bench, can_mount};

/// Everything in this Xeon E5-2630 is this many times smaller and faster, so that a second is as
/// long for it as for a large one.
const SMALLER: u32 = 320;

fn settings() -> Settings {
    let mut chip = preset::preset("xeon-e5-2630").unwrap();
    chip.sets /= SMALLER;
    (chip.l1, chip.l2) = (CacheShape { sets: 1, ways: 8 }, None);
    chip.llc = Llc { clos: 6, ..chip.llc };
    Settings { time_scale: SMALLER, seed: 5, ..Settings::new(chip) }
}

fn job(text: &str) -> Job {
    let phase =
        |(program, length): (Option<_>, _)| Phase { program: program.map(Arc::new), length };
    let phases = program::parse(text, |_| None).unwrap().into_iter().map(phase).collect();
    Job { phases, then: AfterRun::Exit, ..Job::default() }
}

/// A service, and programs that are sensitive, stream, and hardly use the cache; one of them ends
/// on the way.
fn jobs(policy: &str) -> Vec<Job> {
    let silo = "regions:13.7:40%13K:35%75K:25%300K:request=415k:cv=0.56:cpi=0.7:overlap=2";
    let objective = Objective { slo: Duration::from_millis(2), percentile: Q32::from_int(99) };
    let asked = |ways| Wish { baseline_ways: Some(ways), ..Wish::default() };
    let service = Wish { objective: Some(objective), ..asked(4) };
    let loads = vec![Stage::of(RequestLoad::Poisson { per_second: 1500.0 })];
    let mut jobs = vec![
        Job { wish: service, loads, ..job(silo) },
        Job { wish: asked(3), ..job("regions:10:40%20K:20%50K:40%stream:cpi=0.55:overlap=5") },
        Job { wish: asked(3), ..job("mlr:40K") },
        Job { wish: asked(2), ..job("mload:1M") },
        Job { instructions: Some(1_500_000_000), ..job("lookbusy") },
    ];
    if matches!(policy, "ucp" | "ucp-slowdown" | "yu-petrov") {
        let time = Duration::from_millis(200);
        for job in &mut jobs {
            job.profile = Some(Arc::new(profile(settings(), job, time, time).unwrap()));
        }
    }
    jobs
}

/// What the machine reported and the policy requested until then, a line each.
struct StoryLines {
    until: Time,
    now: Time,
    lines: Vec<String>,
}

impl<M: ?Sized, P: ?Sized> Observer<M, P> for StoryLines {
    fn event(&mut self, at: Time, event: &Event, _: &M) {
        self.now = at;
        if at < self.until && !matches!(event, Event::Started { .. }) {
            self.lines.push(format!("{} {event:?}", at.nanos()));
        }
    }

    fn action(&mut self, at: Time, action: &Action<'_>, _: &M) {
        let is_finding = matches!(action, Action::Estimated { .. } | Action::Classified { .. });
        if at < self.until && !is_finding {
            self.lines.push(format!("{} {action:?}", at.nanos()));
        }
    }

    fn is_done(&self) -> bool {
        self.now >= self.until
    }
}

fn story(machine: &mut dyn Machine, policy: &mut dyn Policy, until: Time) -> Vec<String> {
    let mut story = StoryLines { until, now: Time::ZERO, lines: Vec::new() };
    run(machine, policy, &mut [&mut story]);
    story.lines
}

fn compare(name: &str, seconds: u64) {
    let until = Time::ZERO.after(Duration::from_secs(seconds));
    let alone = compare_on(settings(), jobs(name), &|| by_name(name).unwrap(), until);
    let plans = alone.iter().filter(|line| line.contains("Partition {")).count();
    let exits = alone.iter().filter(|line| line.contains("Exited")).count();
    assert!(plans >= 1 && exits == 1, "{name}: {plans} plans, {exits} exits");
}

/// Checks that both are the same until then; returns what happened.
fn compare_on(
    settings: Settings,
    jobs: Vec<Job>,
    policy: &dyn Fn() -> Box<dyn Policy>,
    until: Time,
) -> Vec<String> {
    let mut chip = Chip::new(settings, jobs.clone()).unwrap();
    chip.stop_at(until);
    let alone = story(&mut chip, policy().as_mut(), until);
    let bench = Bench::new(settings, &jobs);
    let mut host = bench.host_of_all(until);
    let behind = {
        let mut machine = host.one_domain().unwrap();
        story(&mut machine, policy().as_mut(), until)
    };
    let name = policy().name();
    assert!(host.failure().is_none(), "{name}: {:?}", host.failure());
    for (line, (alone, behind)) in alone.iter().zip(&behind).enumerate() {
        assert_eq!(alone, behind, "{name}, line {line}");
    }
    assert_eq!(alone.len(), behind.len(), "{name}: {:?}", alone.last());
    let restored = host.close();
    assert!(restored.left.is_empty(), "{name}: {restored}");
    alone
}

/// Takes the first program's level down by a step in each window, to the lowest, and then up again.
#[derive(Default)]
struct Stairs {
    levers: Option<Levers>,
    apps: Vec<AppId>,
    level: Option<BandwidthLevel>,
    is_going_up: bool,
    plan: u32,
}

impl Policy for Stairs {
    fn name(&self) -> &'static str {
        "stairs"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Machine(levers) => self.levers = Some(*levers),
            Event::Started { app, .. } => {
                self.apps.push(*app);
                let every = WindowLength::Time(Duration::from_millis(200));
                act(Action::Watch { app: *app, every });
            }
            Event::Sampled(sample) if self.apps.first() == Some(&sample.app) => {
                let Some(Levers { llc, bandwidth: Some(lever) }) = self.levers else { return };
                let level = self.level.unwrap_or(lever.most);
                let next = if self.is_going_up { lever.above(level) } else { lever.below(level) };
                self.is_going_up |= next.is_none();
                self.level = next.or(Some(level));
                let mut partition = Partition::default();
                let half = WayMask::span(0, llc.ways.get() / 2);
                partition.add(Resources { mask: half, bandwidth: self.level });
                partition.add_cluster(WayMask::full(llc.ways));
                for (cluster, app) in [0, 1].into_iter().zip(&self.apps) {
                    partition.place(*app, cluster);
                }
                self.plan += 1;
                act(Action::Partition {
                    plan: PlanId(self.plan),
                    partition: (&partition).into(),
                    reason: "a step".into(),
                });
            }
            _ => {}
        }
    }
}

/// Levels of memory bandwidth act as on a chip by itself.
#[test]
fn levels() {
    if !can_mount() {
        return;
    }
    let mut chip = preset::preset("skylake").unwrap();
    chip.sets /= 64;
    (chip.l1, chip.l2) = (CacheShape { sets: 1, ways: 8 }, None);
    chip.llc = Llc { clos: 6, ..chip.llc };
    let settings = Settings { time_scale: 64, seed: 5, ..Settings::new(chip) };
    let jobs = vec![job("mload:16M:overlap=8"), job("mlr:200K")];
    let until = Time::ZERO.after(Duration::from_secs(5));
    let story = compare_on(settings, jobs, &|| Box::new(Stairs::default()), until);
    for level in (1..=10).map(|step| 10 * step) {
        let in_force = format!("bandwidth: Some(BandwidthLevel({level}))");
        let is_it = |line: &String| line.contains("Applied") && line.contains(&in_force);
        assert!(story.iter().any(is_it), "{level}");
    }
}

macro_rules! parity {
    ($($test:ident: $name:literal for $seconds:literal;)*) => {$(
        #[test]
        fn $test() {
            if can_mount() {
                compare($name, $seconds);
            }
        }
    )*};
}

parity! {
    stock: "stock" for 3;
    equal: "equal" for 3;
    fixed: "static" for 3;
    ucp: "ucp" for 3;
    ucp_slowdown: "ucp-slowdown" for 3;
    yu_petrov: "yu-petrov" for 3;
    dcat: "dcat" for 12;
    dunn: "dunn" for 6;
    kpart: "kpart" for 6;
    lfoc: "lfoc" for 6;
    lfoc_plus: "lfoc-plus" for 6;
    locpart: "locpart" for 12;
}
