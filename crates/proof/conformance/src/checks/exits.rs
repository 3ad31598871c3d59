//! Programs that end in the middle of things.

use fairways_core::Event;

use crate::drive::Drive;
use crate::partitions::{halves, shared};
use crate::promise::{self, require};
use crate::subject::{ProgramKind, Subject, TestProgram};

/// A program ends in the middle of its window and of a plan: its window is not reported, other
/// windows continue, and a plan that names it is refused.
///
/// # Panics
/// If it does not keep these.
pub fn exits_cut_windows_short(subject: &dyn Subject) {
    let programs = [
        TestProgram::new(ProgramKind::Sensitive),
        TestProgram::new(ProgramKind::Light).running_for(60),
        TestProgram::new(ProgramKind::Streaming).running_for(5),
    ];
    let mut drive = Drive::new(subject, &programs);
    let apps = drive.wait_for_starts(3);
    drive.watch(apps[0], drive.scale.by_time(4));
    drive.watch(apps[1], drive.scale.by_instructions(400));
    drive.watch(apps[2], drive.scale.by_instructions(7));
    let both = halves(&drive.llc(), &apps);
    drive.insist(both.clone());
    while drive.running().len() > 1 {
        let gone = drive.wait_for(promise::LIVES, |_, event| match event {
            Event::Exited { app } => Some(*app),
            _ => None,
        });
        drive.watch(gone, drive.scale.by_time(1));
        let plan = drive.plan(&both);
        drive.wait_for_refusal(plan);
        drive.watch(gone, drive.scale.by_instructions(1));
        drive.wait_for_samples(apps[0], 2);
        drive.insist(shared(&drive.llc(), drive.running()));
    }
    drive.wait_for_samples(apps[0], 5);
}

/// A machine that has reported its last event never reports another.
///
/// # Panics
/// If it does not keep this.
pub fn the_end_is_final(subject: &dyn Subject) {
    let programs = [ProgramKind::Light, ProgramKind::Streaming]
        .map(|kind| TestProgram::new(kind).running_for(3));
    let mut drive = Drive::new(subject, &programs);
    for app in drive.wait_for_starts(2) {
        drive.watch(app, drive.scale.by_time(2));
    }
    if !(0..1000).any(|_| drive.next_event().is_none()) {
        return;
    }
    for _ in 0..1000 {
        let more = drive.next_event();
        require(more.is_none(), promise::FINAL, format_args!("{more:?}"));
    }
}
