//! Checks that the machine without time behaves as every machine does.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_conformance::{Scale, Subject, TestProgram, check_all};
use fairways_core::{AppId, Event, Llc, Machine, Ways, Wish};
use fairways_experiments::StaticMachine;

struct Timeless;

impl Subject for Timeless {
    fn llc(&self) -> Llc {
        Llc { clos: 4, min_bits: 2, ..Llc::with_ways(Ways::new(11).unwrap()) }
    }

    fn scale(&self) -> Scale {
        Scale { instructions: 1000, time: Duration::from_micros(1) }
    }

    fn machine(&self, programs: &[TestProgram]) -> Box<dyn Machine + '_> {
        let (first, late): (Vec<TestProgram>, Vec<TestProgram>) =
            programs.iter().partition(|program| program.start_windows == 0);
        let nothing_known = first.iter().map(|_| (None, Wish::default()));
        let mut machine = StaticMachine::new(self.llc(), nothing_known);
        let mut later = Vec::new();
        for (id, program) in (0..).zip(first.into_iter().chain(late)) {
            let app = AppId(id);
            if program.start_windows > 0 {
                let started = Event::Started { app, wish: Wish::default(), profile: None };
                later.push((program.start_windows, started));
            }
            if let Some(ends) = program.run_windows {
                later.push((program.start_windows + ends, Event::Exited { app }));
            }
        }
        later.sort_by_key(|&(when, _)| when);
        for (_, event) in later {
            machine.then(event);
        }
        Box::new(machine)
    }

    fn has_time(&self) -> bool {
        false
    }
}

#[test]
fn without_time() {
    check_all(&Timeless);
}
