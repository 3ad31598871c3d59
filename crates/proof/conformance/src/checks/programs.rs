//! Programs that start and end.

use fairways_core::{Event, Levers};

use crate::drive::Drive;
use crate::partitions::{BrokenRule, shared};
use crate::promise::{self, require};
use crate::subject::{ProgramKind, Subject, TestProgram};

/// The machine comes first, with its cache; then each start and each end is reported.
///
/// # Panics
/// If it does not keep these.
pub fn programs_start_and_end(subject: &dyn Subject) {
    let programs = [(0, 4), (0, 2), (1, 4), (6, 1)].map(|(start, run)| {
        TestProgram::new(ProgramKind::Sensitive).starting_after(start).running_for(run)
    });
    let mut drive = Drive::new(subject, &programs);
    let first = drive.next_event();
    let is_the_cache =
        matches!(&first, Some((_, Event::Machine(Levers { llc, .. }))) if *llc == subject.llc());
    require(is_the_cache, promise::FIRST, format_args!("{first:?}"));
    let (mut started, mut exited) = (0, 0);
    drive.wait_for(promise::LIVES, |_, event| {
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
    let programs =
        [(ProgramKind::Sensitive, 0), (ProgramKind::Light, 0), (ProgramKind::Streaming, 3)]
            .map(|(kind, start)| TestProgram::new(kind).starting_after(start));
    let mut drive = Drive::new(subject, &programs);
    let early = drive.wait_for_starts(2);
    drive.watch(early[0], drive.scale.by_time(4));
    drive.insist(shared(&drive.llc(), &early));
    let late = drive.wait_for_starts(1)[0];
    drive.watch(late, drive.scale.by_instructions(4));
    drive.wait_for_samples(late, 5);
    let without = BrokenRule::NotPlaced.partition(&drive.llc(), &[late, early[0], early[1]], late);
    let plan = drive.plan(&without.expect("a program has no place"));
    drive.wait_for_refusal(plan);
    drive.insist(shared(&drive.llc(), &[early[0], early[1], late]));
    drive.wait_for_samples(late, 2);
    drive.wait_for_samples(early[0], 2);
}
