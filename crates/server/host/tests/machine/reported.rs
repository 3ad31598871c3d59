//! Windows that the counters' source reports.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fairways_core::{Action, AppId, Counters, Event, Q32, Sample, WindowLength};
use fairways_host::machine::Host;
use fairways_perf::{EndedWindow, Source, Target};
use fairways_programs::{Roots, Selector};

use crate::real::{Bench, LOOK, Sleeper, all_started, await_one, managed, partition, plan};

/// What a source was asked, and what it is to report.
#[derive(Default)]
struct Script {
    asked: Vec<(AppId, u32, Option<u64>)>,
    reads: u64,
    ended: Vec<EndedWindow>,
    is_silent: bool,
}

/// A source that reports what its script holds. Each read finds a million instructions more.
struct ScriptedSource {
    script: Rc<RefCell<Script>>,
    receiver: UnixStream,
}

impl Source for ScriptedSource {
    fn begin(&mut self, _: &Target) {}

    fn threads(&mut self, _: AppId, _: &[i32]) {}

    fn read(&mut self, _: AppId, _: u32) -> Counters {
        let mut script = self.script.borrow_mut();
        script.reads += 1;
        Counters { instructions: Some(script.reads * 1_000_000), ..Counters::default() }
    }

    fn end(&mut self, _: AppId) {}

    fn report_windows(&mut self, app: AppId, domain: u32, instructions: Option<u64>) -> bool {
        let mut script = self.script.borrow_mut();
        script.asked.push((app, domain, instructions));
        !script.is_silent
    }

    fn reports_windows(&self, _: AppId, _: u32) -> bool {
        !self.script.borrow().is_silent
    }

    fn attention(&self) -> Option<BorrowedFd<'_>> {
        Some(self.receiver.as_fd())
    }

    fn take_ended(&mut self, reported: &mut Vec<EndedWindow>) {
        let _ = self.receiver.read(&mut [0; 16]);
        reported.append(&mut self.script.borrow_mut().ended);
    }
}

const APP: AppId = AppId(0);
const MILLI: Duration = Duration::from_millis(1);

fn ended(instructions: u64, length: Duration, ago: Duration) -> EndedWindow {
    let counters = Counters { instructions: Some(instructions), ..Counters::default() };
    EndedWindow { app: APP, domain: 0, counters, length, ago }
}

fn sampled(host: &mut Host) -> Sample {
    await_one(host, |_, event| match event {
        Event::Sampled(sample) => Some(*sample),
        _ => None,
    })
}

/// A host with this program, whose windows its source reports by a script; a byte to the stream has
/// it read.
fn scripted(bench: &Bench, program: &Sleeper) -> (Host, Rc<RefCell<Script>>, UnixStream) {
    let script = Rc::new(RefCell::new(Script::default()));
    let (receiver, sender) = UnixStream::pair().unwrap();
    receiver.set_nonblocking(true).unwrap();
    let source = Box::new(ScriptedSource { script: Rc::clone(&script), receiver });
    let list = vec![managed("a", Selector::Pid(program.id()))];
    let mut host = bench.host_of(bench.parts(source, Roots::default()), list, LOOK);
    assert_eq!(all_started(&mut host, 1), [(0, APP)]);
    (host, script, sender)
}

#[test]
fn a_window_ends_as_the_source_says_and_nobody_polls() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let (mut host, script, mut sender) = scripted(&bench, &sleeper);
    let mut report = |of: &[EndedWindow]| {
        script.borrow_mut().ended.extend_from_slice(of);
        sender.write_all(b"x").unwrap();
    };
    host.carry_out(0, Action::Watch { app: APP, every: WindowLength::Instructions(1000) });
    assert_eq!(script.borrow().asked, [(APP, 0, Some(1000))]);
    let reads = script.borrow().reads;

    // For many looks nothing ends, and nobody reads.
    let soon = |host: &mut Host| {
        let at = host.next_event().map(|(at, ..)| at);
        at.unwrap_or_default()
    };
    host.carry_out(0, Action::Wake { at: fairways_core::Time::ZERO.after(400 * MILLI) });
    assert!(soon(&mut host) >= fairways_core::Time::ZERO.after(400 * MILLI));
    report(&[ended(1001, 7 * MILLI, MILLI)]);
    let sample = sampled(&mut host);
    assert_eq!((sample.window, sample.counters.instructions), (7 * MILLI, Some(1001)));
    assert_eq!((sample.plan, sample.straddled), (None, false));

    // A plan comes into force before its end is known, and after it ended.
    let before_plan = Instant::now();
    plan(&mut host, 0, 1, &partition(&[(0x3, &[APP])]));
    std::thread::sleep(20 * MILLI);
    let earlier = Duration::from_secs(60);
    report(&[ended(1002, 5 * MILLI, earlier)]);
    assert!(sampled(&mut host).straddled);
    report(&[ended(1003, before_plan.elapsed() + earlier, MILLI)]);
    let sample = sampled(&mut host);
    assert!(sample.straddled && sample.plan.is_some(), "{sample:?}");
    // Two at once: each is reported, without bytes, as nobody knows whose they are.
    report(&[ended(1004, MILLI, MILLI), ended(1005, MILLI, Duration::ZERO)]);
    for instructions in [1004, 1005] {
        let sample = sampled(&mut host);
        assert!(!sample.straddled, "{sample:?}");
        assert_eq!(sample.counters.instructions, Some(instructions));
        assert_eq!(sample.counters.memory_bytes, None);
    }
    assert_eq!(script.borrow().reads, reads);

    // The source no longer reports: the window begins again, and is polled.
    script.borrow_mut().is_silent = true;
    report(&[]);
    let sample = sampled(&mut host);
    assert!(sample.counters.instructions >= Some(1_000_000), "{sample:?}");
    assert_eq!(script.borrow().asked.len(), 2);
    assert!(script.borrow().reads > reads + 1);
    // And by time it is not asked to.
    host.carry_out(0, Action::Watch { app: APP, every: WindowLength::Time(MILLI) });
    assert_eq!(script.borrow().asked.last(), Some(&(APP, 0, None)));
    assert!(sampled(&mut host).window >= MILLI);
}

/// The emulated machine moves no bytes, whatever the source says of misses.
/// Its group begins while it runs: what it holds is at least what is counted, until it has missed.
#[test]
fn what_a_program_holds_that_ran_before_is_known_once_it_has_missed() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let (mut host, script, mut sender) = scripted(&bench, &sleeper);
    host.carry_out(0, Action::Watch { app: APP, every: WindowLength::Instructions(1000) });
    let mut found = Vec::new();
    for misses in [None, Some(0), Some(1_000_000), Some(0)] {
        let mut window = ended(1000, MILLI, MILLI);
        window.counters.llc_misses = misses;
        script.borrow_mut().ended.push(window);
        sender.write_all(b"x").unwrap();
        let Sample { occupancy, occupancy_at_least, .. } = sampled(&mut host);
        found.push((occupancy, occupancy_at_least));
    }
    let (all, in_part) = ((Some(Q32::default()), None), (None, Some(Q32::default())));
    assert_eq!(found, [in_part, in_part, all, all]);
}

#[test]
fn bytes_that_stay_at_0_beside_many_misses_are_missing_and_named() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let (mut host, script, mut sender) = scripted(&bench, &sleeper);
    host.carry_out(0, Action::Watch { app: APP, every: WindowLength::Instructions(1000) });
    for (misses, bytes) in
        [(None, Some(0)), (Some(100_000), Some(0)), (Some(100_000), Some(0)), (Some(100_000), None)]
    {
        assert!(host.degraded().is_empty(), "{:?}", host.degraded());
        let mut window = ended(1001, 7 * MILLI, MILLI);
        window.counters.llc_misses = misses;
        script.borrow_mut().ended.push(window);
        sender.write_all(b"x").unwrap();
        assert_eq!(sampled(&mut host).counters.memory_bytes, bytes, "{misses:?}");
    }
    let [line] = &host.degraded()[..] else { panic!("{:?}", host.degraded()) };
    assert!(line.starts_with("memory traffic in domain 0 stays at 0 beside more than"), "{line}");
    assert!(line.ends_with(": of a"), "{line}");
}
