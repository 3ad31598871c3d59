//! Programs that start and end.

use fairways_core::{Event, Levers};

use crate::drive::Drive;
use crate::promise::{self, hold};
use crate::spoil::{Spoil, shared};
use crate::subject::{Kind, Program, Subject};

/// The machine comes first, with the cache that it has; then each start and each end is told.
///
/// # Panics
/// If it does not keep these.
pub fn programs_start_and_end(subject: &dyn Subject) {
    let ends = |starts, ends| Program { kind: Kind::Sensitive, starts, ends: Some(ends) };
    let mut drive = Drive::new(subject, &[ends(0, 4), ends(0, 2), ends(1, 4), ends(6, 1)]);
    let first = drive.next_event();
    let is_the_cache =
        matches!(&first, Some((_, Event::Machine(Levers { llc, .. }))) if *llc == subject.llc());
    hold(is_the_cache, promise::FIRST, format_args!("{first:?}"));
    let (mut started, mut exited) = (0, 0);
    drive.until(promise::LIVES, |_, event| {
        started += u32::from(matches!(event, Event::Started { .. }));
        exited += u32::from(matches!(event, Event::Exited { .. }));
        (started == 4 && exited == 4).then_some(())
    });
}

/// A program that starts while a plan is in force runs, and the next plan must place it.
///
/// # Panics
/// If it does not keep these.
pub fn starts_after_a_plan(subject: &dyn Subject) {
    let programs = [(Kind::Sensitive, 0), (Kind::Light, 0), (Kind::Streaming, 3)]
        .map(|(kind, starts)| Program { starts, ..Program::new(kind) });
    let mut drive = Drive::new(subject, &programs);
    let early = drive.starts(2);
    drive.watch(early[0], drive.scale.by_time(4));
    drive.insist(shared(&drive.llc(), &early));
    let late = drive.starts(1)[0];
    drive.watch(late, drive.scale.by_instructions(4));
    drive.samples(late, 5);
    let without = Spoil::NotPlaced.partition(&drive.llc(), &[late, early[0], early[1]], late);
    let plan = drive.plan(&without.expect("a program has no place"));
    drive.refused(plan);
    drive.insist(shared(&drive.llc(), &[early[0], early[1], late]));
    drive.samples(late, 2);
    drive.samples(early[0], 2);
}
