//! Threads come and go, live in several domains, and CPUs change; and what becomes of a policy's
//! requests.

use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Levers, Partition, PartitionError, PlanId, ThreadId, WayMask,
};
use fairways_host::machine::{Failure, Host, Successors};
use fairways_turns::Scheduler;

use crate::bench::Bench;
use crate::cpus::{Shared, Turning};

const REASON: &str = "a test";

/// Everything that happens until so long from now.
fn until(host: &mut Host, millis: u64) -> Vec<(u32, Event)> {
    host.stop_at(fairways_core::Time::from_nanos(millis * 1_000_000));
    std::iter::from_fn(|| host.next_event()).map(|(_, domain, event)| (domain, event)).collect()
}

/// What these events report: which programs started and ended in which domain, and other CPUs.
fn reported(events: &[(u32, Event)]) -> Vec<String> {
    let line = |(domain, event): &(u32, Event)| match event {
        Event::Started { app, .. } => Some(format!("{domain}: starts {}", app.0)),
        Event::Exited { app } => Some(format!("{domain}: ends {}", app.0)),
        Event::Cpus(cpus) => Some(format!("{domain}: {} CPUs", cpus.count)),
        Event::Machine(Levers { llc, .. }) => Some(format!("{domain}: {} ways", llc.ways)),
        Event::Refused { why, .. } => {
            assert_eq!(*why, PartitionError::Failed);
            Some(format!("{domain}: refused"))
        }
        _ => None,
    };
    events.iter().filter_map(line).collect()
}

fn allow(host: &mut Host, domain: u32, app: u32, cpus: &[u32]) {
    let thread = ThreadId::first_of(AppId(app));
    host.carry_out(domain, Action::Allow { thread, cpus: cpus.into(), reason: REASON.into() });
}

#[test]
fn every_thread_is_a_program_while_it_is_there() {
    let bench = Bench::new(&[&[0, 1]]);
    bench.start(100, 100, 5, "0-1");
    bench.start(100, 101, 6, "0-1");
    let mut host = bench.host(&[("web-1", 100)], None, false);
    let events = until(&mut host, 1000);
    assert_eq!(reported(&events), ["0: 12 ways", "0: 2 CPUs", "0: starts 0", "0: starts 1"]);
    assert_eq!((host.name(AppId(0)), host.name(AppId(1))), (Some("web-1"), Some("web-1/101")));
    assert_eq!((host.tasks(AppId(1)), host.scheduler()), (&[101][..], Some("first")));
    // One more, and one ends; its number is another's at once.
    bench.start(100, 102, 7, "0-1");
    bench.end(100, 101);
    bench.start(100, 101, 9, "0-1");
    let events = until(&mut host, 8000);
    assert_eq!(reported(&events), ["0: ends 1", "0: starts 2", "0: starts 3"]);
    let name = |app| host.name(AppId(app)).map(str::to_owned);
    assert_eq!(name(1), None);
    let mut names = [name(2), name(3)].map(Option::unwrap);
    names.sort_unstable();
    assert_eq!(names, ["web-1/101", "web-1/102"]);
    for thread in [100, 101, 102] {
        bench.end(100, thread);
    }
    let events = until(&mut host, 16_000);
    assert_eq!(reported(&events).len(), 3, "{events:?}");
    assert!(bench.cpus.borrow().threads.is_empty() && host.programs().is_empty());
}

#[test]
fn who_was_refused_is_asked_for_again() {
    let bench = Bench::new(&[&[0, 1]]);
    bench.start(100, 100, 5, "0-1");
    bench.cpus.borrow_mut().refused.insert(100, 0);
    let mut host = bench.host(&[("web-1", 100)], None, false);
    assert_eq!(reported(&until(&mut host, 20_000)).len(), 2);
    let asked = bench.cpus.borrow_mut().refused.remove(&100).unwrap();
    assert_eq!(host.errors().iter().collect::<Vec<_>>(), [("unknown", 1)], "as it is logged");
    assert!((2..=21).contains(&asked), "{asked} times in 20 s");
    assert_eq!(reported(&until(&mut host, 30_000)), ["0: starts 0"]);
    assert_eq!(host.name(AppId(0)), Some("web-1"));
}

#[test]
fn what_each_domain_allows_holds_for_its_cpus() {
    let bench = Bench::new(&[&[0, 1], &[2, 3]]);
    bench.start(100, 100, 5, "0-3");
    bench.start(200, 200, 5, "2-3");
    let mut host = bench.host(&[("both-1", 100), ("one-1", 200)], None, false);
    let events = until(&mut host, 500);
    let starts = ["0: starts 0", "1: starts 0", "1: starts 1"];
    let lines = reported(&events);
    assert!(starts.iter().all(|line| lines.contains(&(*line).to_owned())), "{lines:?}");
    assert_eq!(lines.len(), 7, "{lines:?}");
    let allowed = |thread| bench.cpus.borrow().thread(thread).allowed.to_list();
    assert_eq!(allowed(100), "");
    // A domain that has said nothing lets it run on all of its CPUs.
    allow(&mut host, 1, 0, &[1]);
    assert_eq!(allowed(100), "0-1,3");
    allow(&mut host, 0, 0, &[0]);
    assert_eq!(allowed(100), "0,3");
    // CPUs that do not exist are passed over, and without any left it is as before.
    allow(&mut host, 0, 0, &[1, 7]);
    assert_eq!(allowed(100), "1,3");
    allow(&mut host, 0, 0, &[7]);
    assert_eq!(allowed(100), "0-1,3");
    allow(&mut host, 1, 0, &[0, 1]);
    assert_eq!(allowed(100), "");
    // A thread of another domain, or none, is not this one's to move.
    allow(&mut host, 0, 1, &[0]);
    allow(&mut host, 0, 9, &[0]);
    assert_eq!(allowed(200), "");
    // Its owner lets it use CPUs of the other cache only: it ends in one, and starts in the other
    // under another id.
    bench.start(200, 200, 5, "0");
    let events = until(&mut host, 8000);
    assert_eq!(reported(&events), ["0: starts 2", "1: ends 1"]);
    allow(&mut host, 0, 2, &[1]);
    assert_eq!(allowed(200), "1");
}

/// What a policy allows it shows in its affinity, as what its owner lets it use does.
#[test]
fn who_is_confined_lives_where_its_owner_lets_it() {
    let bench = Bench::new(&[&[0, 1], &[2, 3]]);
    bench.start(100, 100, 5, "0,2");
    let mut host = bench.host(&[("both-1", 100)], None, false);
    assert_eq!(reported(&until(&mut host, 500)).len(), 6);
    // Of the first domain's CPUs its owner keeps it from this one.
    allow(&mut host, 0, 0, &[1]);
    assert_eq!(bench.affinity(100), "2");
    assert_eq!(reported(&until(&mut host, 20_000)), Vec::<String>::new());
    allow(&mut host, 0, 0, &[]);
    assert_eq!(bench.affinity(100), "0,2");
    // Its owner takes the second domain away.
    bench.start(100, 100, 5, "0-1");
    assert_eq!(reported(&until(&mut host, 40_000)), ["0: ends 0", "0: starts 1", "1: ends 0"]);
    allow(&mut host, 0, 1, &[1]);
    assert_eq!(bench.affinity(100), "1");
}

#[test]
fn a_turn_is_reported_to_the_domain_that_ordered_it() {
    let bench = Bench::new(&[&[0, 1], &[2, 3]]);
    bench.start(100, 100, 5, "0-3");
    let mut host = bench.host(&[("both-1", 100)], None, false);
    until(&mut host, 500);
    let order = |host: &mut Host, domain, millis| {
        let (thread, time) = (ThreadId::first_of(AppId(0)), Duration::from_millis(millis));
        host.carry_out(domain, Action::Quantum { thread, time, reason: REASON.into() });
    };
    let slices = |host: &mut Host, to| {
        let slice = |(domain, event): &(u32, Event)| match event {
            Event::QuantumGiven(slice) => {
                Some((*domain, slice.cpu, slice.ordered.as_millis(), slice.ran.as_millis()))
            }
            _ => None,
        };
        let mut slices: Vec<_> = until(host, to).iter().filter_map(slice).collect();
        slices.retain(|slice| slice.2 != 10);
        slices
    };
    // It runs on the first CPU of the first domain, and the turn is reported to the second, which
    // ordered it.
    order(&mut host, 1, 20);
    assert_eq!(slices(&mut host, 600), [(1, 0, 20, 20)]);
    // Its order is replaced before its turn: that turn is reported to both.
    order(&mut host, 1, 20);
    order(&mut host, 0, 5);
    assert_eq!(slices(&mut host, 700), [(0, 0, 5, 5), (1, 0, 20, 5)]);
}

#[test]
fn other_cpus_are_reported_and_numbered_again() {
    let bench = Bench::new(&[&[0, 1, 2]]);
    bench.start(100, 100, 5, "0-3");
    let mut host = bench.host(&[("web-1", 100)], None, false);
    until(&mut host, 500);
    allow(&mut host, 0, 0, &[2]);
    let allowed = || bench.cpus.borrow().thread(100).allowed.to_list();
    assert_eq!((allowed().as_str(), host.cpus(0)), ("2", &[0, 1, 2][..]));
    // As many as before: nothing to report, but the policy's CPU 2 is another now.
    bench.caches(&[&[0, 2, 3]]);
    assert_eq!(reported(&until(&mut host, 3000)), Vec::<String>::new());
    assert_eq!(allowed(), "3");
    bench.caches(&[&[0, 2]]);
    assert_eq!(reported(&until(&mut host, 6000)), ["0: 2 CPUs"]);
    // Where the policy's CPU is not there any longer, the thread is not kept from any.
    assert_eq!(allowed(), "");
}

#[test]
fn a_plan_is_refused_and_nothing_observed_is_carried_out() {
    let bench = Bench::new(&[&[0, 1]]);
    bench.start(100, 100, 5, "0-1");
    let mut host = bench.host(&[("web-1", 100)], None, true);
    until(&mut host, 500);
    let mut partition = Partition::default();
    let cluster = partition.add_cluster(WayMask::span(0, 12));
    partition.place(AppId(0), cluster);
    let plan = Action::Partition {
        plan: PlanId(0),
        partition: (&partition).into(),
        reason: REASON.into(),
    };
    host.carry_out(0, plan);
    let thread = ThreadId::first_of(AppId(0));
    allow(&mut host, 0, 0, &[1]);
    let time = Duration::from_millis(20);
    host.carry_out(
        0,
        Action::Priority { threads: (&[thread][..]).into(), raised: true, reason: REASON.into() },
    );
    host.carry_out(0, Action::Quantum { thread, time, reason: REASON.into() });
    assert_eq!(reported(&until(&mut host, 900)), ["0: refused"]);
    let cpus = bench.cpus.borrow();
    let of = cpus.thread(100);
    assert!(of.allowed.is_empty() && !of.raised && of.ordered.is_none(), "{of:?}");
}

#[test]
fn another_scheduler_does_what_the_one_before_was_asked_for() {
    let bench = Bench::new(&[&[0, 1]]);
    bench.start(100, 100, 5, "0-1");
    bench.start(200, 200, 5, "0-1");
    let instead = Box::new(Following { cpus: bench.cpus.clone(), others: 1, has_first: false });
    let mut host = bench.host(&[("web-1", 100), ("batch-1", 200)], Some(instead), false);
    until(&mut host, 500);
    let thread = ThreadId::first_of(AppId(0));
    allow(&mut host, 0, 0, &[1]);
    host.carry_out(
        0,
        Action::Priority { threads: (&[thread][..]).into(), raised: true, reason: REASON.into() },
    );
    host.carry_out(0, Action::WatchTogether { shortest: Duration::from_millis(3) });
    bench.cpus.borrow_mut().ends = true;
    // It refuses one of the threads, which is reported to have ended.
    bench.cpus.borrow_mut().refused.insert(200, 0);
    let events = until(&mut host, 1000);
    assert!(host.failure().is_none() && reported(&events) == ["0: ends 1"], "{events:?}");
    assert_eq!(host.scheduler(), Some("second"));
    let cpus = bench.cpus.borrow();
    assert_eq!(cpus.watched, Some(Duration::from_millis(3)));
    let of = cpus.thread(100);
    assert_eq!((of.allowed.to_list().as_str(), of.raised), ("1", true));
    drop(cpus);
    bench.cpus.borrow_mut().refused.clear();
    assert_eq!(reported(&until(&mut host, 4000)), ["0: starts 2"]);
    // There is none in the place of the second.
    bench.cpus.borrow_mut().ends = true;
    until(&mut host, 5000);
    assert!(matches!(host.failure(), Some(Failure::Scheduler(_))), "{:?}", host.failure());
}

#[test]
fn a_scheduler_that_the_kernel_ended_is_tried_again_a_few_times() {
    let bench = Bench::new(&[&[0, 1]]);
    bench.start(100, 100, 5, "0-1");
    let instead = Box::new(Following { cpus: bench.cpus.clone(), others: 9, has_first: true });
    let mut host = bench.host(&[("web-1", 100)], Some(instead), false);
    until(&mut host, 500);
    allow(&mut host, 0, 0, &[1]);
    assert!(host.degraded().is_empty());
    // It is back after 10, 30 and 90 s, with what was requested; the fourth end is one too many.
    let mut now = 500;
    for (ends, pause) in [(1, 10_000), (2, 30_000), (3, 90_000)] {
        bench.cpus.borrow_mut().ends = true;
        until(&mut host, now + 1000);
        assert_eq!(host.scheduler(), Some("second"));
        let [line] = &host.degraded()[..] else { panic!("{:?}", host.degraded()) };
        assert!(line.contains("a test ends it; second takes its place"), "{line}");
        until(&mut host, now + pause - 1000);
        assert_eq!(host.scheduler(), Some("second"), "after end {ends}");
        now += pause + 2000;
        until(&mut host, now);
        assert_eq!(host.scheduler(), Some("first"), "after end {ends}");
        assert!(host.degraded().is_empty());
        assert_eq!(host.scheduler_counts().unwrap().ended, ends);
        assert_eq!(bench.cpus.borrow().thread(100).allowed.to_list(), "1");
    }
    bench.cpus.borrow_mut().ends = true;
    until(&mut host, now + 300_000);
    assert_eq!((host.scheduler(), host.scheduler_counts().unwrap().ended), (Some("second"), 4));
}

#[test]
fn why_there_is_none_is_said_of_both() {
    let bench = Bench::new(&[&[0, 1]]);
    bench.start(100, 100, 5, "0-1");
    let instead = Box::new(Following { cpus: bench.cpus.clone(), others: 0, has_first: false });
    let mut host = bench.host(&[("web-1", 100)], Some(instead), false);
    until(&mut host, 500);
    bench.cpus.borrow_mut().ends = true;
    until(&mut host, 1000);
    let said = host.failure().unwrap().to_string();
    assert!(said.contains("a test ends it") && said.contains("no second"), "{said}");
}

/// So many schedulers in the place of the first, and the first again if there is one.
struct Following {
    cpus: Shared,
    others: usize,
    has_first: bool,
}

impl Following {
    /// The kernel, or the scheduler before, has put all threads back.
    fn scheduler(&self, name: &'static str) -> Box<dyn Scheduler> {
        self.cpus.borrow_mut().threads.values_mut().for_each(|thread| {
            (thread.allowed, thread.raised) = Default::default();
        });
        Box::new(Turning(self.cpus.clone(), name))
    }
}

impl Successors for Following {
    fn substitute(&mut self) -> std::io::Result<Box<dyn Scheduler>> {
        self.others =
            self.others.checked_sub(1).ok_or_else(|| std::io::Error::other("no second"))?;
        Ok(self.scheduler("second"))
    }

    fn may_return(&self) -> Result<(), String> {
        self.has_first.then_some(()).ok_or_else(|| "no first".to_owned())
    }

    fn first(&mut self) -> std::io::Result<Box<dyn Scheduler>> {
        Ok(self.scheduler("first"))
    }
}
