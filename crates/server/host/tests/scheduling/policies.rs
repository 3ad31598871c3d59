//! CASC on made-up CPUs: it finds out what threads miss, and they run where it says.

use std::time::Duration;

use fairways_conformance::{Scale, Subject, TestProgram, Witness};
use fairways_core::{Action, Event, Llc, Machine, Observer, Q32, Time, Ways, run};
use fairways_host::machine::Host;
use fairways_policy::casc::{Casc, Parameters, buckets};

use crate::bench::Bench;

/// What the witness must know.
struct Made;

impl Subject for Made {
    fn llc(&self) -> Llc {
        Llc { clos: 1, ..Llc::with_ways(Ways::new(12).unwrap()) }
    }

    fn scale(&self) -> Scale {
        Scale { instructions: 1000, time: Duration::from_millis(1) }
    }

    fn machine(&self, _: &[TestProgram]) -> Box<dyn Machine + '_> {
        unreachable!("no check makes one")
    }

    fn is_simulated(&self) -> bool {
        false
    }
}

/// A host of one domain, to its end.
struct One(Host);

impl Machine for One {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        let (at, domain, event) = self.0.next_event()?;
        assert_eq!(domain, 0);
        Some((at, event))
    }

    fn carry_out(&mut self, action: Action<'_>) {
        self.0.carry_out(0, action);
    }
}

/// How many events and actions of each kind there were.
#[derive(Default)]
struct TurnCounts {
    together: u32,
    given: u32,
    estimates: u32,
    raised: u32,
}

impl<M: ?Sized, P: ?Sized> Observer<M, P> for TurnCounts {
    fn event(&mut self, _: Time, event: &Event, _: &M) {
        self.together += u32::from(matches!(event, Event::RanTogether(_)));
        self.given += u32::from(matches!(event, Event::QuantumGiven(_)));
    }

    fn action(&mut self, _: Time, action: &Action<'_>, _: &M) {
        self.estimates += u32::from(matches!(action, Action::Estimated { .. }));
        self.raised += u32::from(matches!(action, Action::Priority { .. }));
    }
}

/// The witness holds every event to the contract, turns and times together among them.
#[test]
fn casc_measures_threads_and_lets_them_run_where_their_bucket_is() {
    let bench = Bench::new(&[&[0, 1, 2, 3]]);
    let rates: [(i32, u64); 7] =
        [(100, 40), (200, 40), (300, 40), (400, 2), (500, 2), (600, 2), (700, 2)];
    let names = rates.map(|(pid, rate)| (format!("p{pid}-{rate}"), pid));
    for (_, pid) in &names {
        bench.start(*pid, *pid, 1, "0-3");
    }
    let programs: Vec<(&str, i32)> = names.iter().map(|(name, pid)| (&**name, *pid)).collect();
    let mut host = bench.host(&programs, None, false);
    host.stop_at(Time::ZERO.after(Duration::from_secs(20)));
    let mut machine = Witness::new(&Made, Box::new(One(host)));
    let mut casc = Casc::new(Parameters::default());
    let mut counts = TurnCounts::default();
    run(&mut machine, &mut casc, &mut [&mut counts]);
    let TurnCounts { together, given, estimates, raised } = counts;
    assert_eq!(machine.cpus(), Some(4));
    assert!(estimates == 7 && raised == 2, "{estimates} {raised}");
    assert!(together > 100 && given > 1000, "{together} {given}");
    // What the policy's own arithmetic makes of the rates, which are exact here.
    let pcmrs: Vec<Q32> = rates.iter().map(|&(_, rate)| Q32::ratio(rate, 1)).collect();
    let assignment = buckets::assign(&pcmrs, 4, &Parameters::default());
    let cpus = bench.cpus.borrow();
    for (&(pid, _), &pcmr) in rates.iter().zip(&pcmrs) {
        let mut expected: Vec<u32> = buckets::allowed(&assignment.max_pcmrs, pcmr).collect();
        expected.sort_unstable();
        let found: Vec<u32> = cpus.thread(pid).allowed.iter().collect();
        let found = if found.is_empty() { vec![0, 1, 2, 3] } else { found };
        assert_eq!(found, expected, "{pid}");
        assert!(!cpus.thread(pid).raised);
    }
    let confined = |pid: i32| !cpus.thread(pid).allowed.is_empty();
    assert!(confined(100) && confined(200) && confined(300) && !confined(400));
    // Greedy threads that share fewer CPUs than frugal ones get less time.
    assert!(cpus.thread(100).ran < cpus.thread(400).ran);
}
