//! The checks pass a machine that keeps every promise, and each promise that one breaks is named.

#![allow(clippy::unwrap_used)]

mod tiny;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fairways_conformance::{Scale, Subject, TestProgram, check_all, promise};
use fairways_core::{Llc, Machine, Ways};

use tiny::Tiny;

const SCALE: Scale = Scale { instructions: 1000, time: Duration::from_micros(1) };

/// A defect of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    NoMachine,
    TimeGoesBack,
    ReusesIds,
    HidesExits,
    ReportsAfterExit,
    ReportsCutWindow,
    ExitsFirst,
    AlarmFirst,
    NeverReports,
    ShortWindows,
    Gap,
    KeepsWatch,
    KeepsWindow,
    ManyMisses,
    EarlyLatency,
    UnsortedLatency,
    LongLatency,
    EmptyObjective,
    ForgetsPlan,
    ForgetsStraddling,
    StraddlesAll,
    AcceptsAll,
    AppliesRefused,
    AnswersNothing,
    AnswersOfStrangers,
    ClaimsLimits,
    RefusesAll,
    RefusesLate,
    RefusesLastFirst,
    NeverRings,
    RingsEarly,
    KeepsAlarm,
    GoesOn,
    Moody,
}

impl Subject for Fault {
    fn llc(&self) -> Llc {
        Llc { clos: 3, min_bits: 2, ..Llc::with_ways(Ways::new(8).unwrap()) }
    }

    fn scale(&self) -> Scale {
        SCALE
    }

    fn machine(&self, programs: &[TestProgram]) -> Box<dyn Machine + '_> {
        Box::new(Tiny::new(*self, self.llc(), programs))
    }
}

#[test]
fn a_machine_that_keeps_every_promise_passes() {
    check_all(&Fault::None);
}

#[test]
fn each_broken_promise_is_named() {
    let faults = [
        (Fault::NoMachine, promise::FIRST),
        (Fault::TimeGoesBack, promise::FORWARD),
        (Fault::ReusesIds, promise::NO_REUSE),
        (Fault::HidesExits, promise::LIVES),
        (Fault::ReportsAfterExit, promise::RUNNING),
        (Fault::ReportsCutWindow, promise::LONG),
        (Fault::ExitsFirst, promise::ORDER),
        (Fault::AlarmFirst, promise::ORDER),
        (Fault::NeverReports, promise::REPORTED),
        (Fault::ShortWindows, promise::LONG),
        (Fault::Gap, promise::GAPLESS),
        (Fault::KeepsWatch, promise::GAPLESS),
        (Fault::KeepsWindow, promise::GAPLESS),
        (Fault::ManyMisses, promise::COUNTERS),
        (Fault::EarlyLatency, promise::LATENCIES),
        (Fault::UnsortedLatency, promise::LATENCIES),
        (Fault::LongLatency, promise::LATENCIES),
        (Fault::EmptyObjective, promise::WISHES),
        (Fault::ForgetsPlan, promise::PLAN),
        (Fault::ForgetsStraddling, promise::STRADDLED),
        (Fault::StraddlesAll, promise::STRADDLED),
        (Fault::AcceptsAll, promise::REFUSED),
        (Fault::AppliesRefused, promise::PLAN),
        (Fault::RefusesAll, promise::CARRIED_OUT),
        (Fault::AnswersNothing, promise::ANSWERED),
        (Fault::AnswersOfStrangers, promise::ACTUAL),
        (Fault::ClaimsLimits, promise::LEVELS),
        (Fault::RefusesLate, promise::ANSWERED),
        (Fault::RefusesLastFirst, promise::ANSWERED),
        (Fault::NeverRings, promise::ALARM),
        (Fault::RingsEarly, promise::ALARM),
        (Fault::KeepsAlarm, promise::ALARM),
        (Fault::GoesOn, promise::FINAL),
        (Fault::Moody, promise::SAME),
    ];
    for (fault, promise) in faults {
        let caught = catch_unwind(AssertUnwindSafe(|| check_all(&fault)));
        let message = caught.expect_err(&format!("{fault:?} is not noticed"));
        let message = message.downcast::<String>().unwrap();
        assert!(message.starts_with(promise), "{fault:?} breaks {promise:?}, not {message:?}");
    }
}
