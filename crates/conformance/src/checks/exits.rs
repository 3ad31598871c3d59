//! Programs that end in the middle of things.

use fairways_core::Event;

use crate::drive::Drive;
use crate::promise::{self, hold};
use crate::spoil::{halves, shared};
use crate::subject::{Kind, Program, Subject};

/// A program ends in the middle of its window and of a plan: the window is not told, the others'
/// go on, and a plan that names it is refused.
///
/// # Panics
/// If it does not keep these.
pub fn exits_cut_windows_short(subject: &dyn Subject) {
    let ends = |kind, ends| Program { ends: Some(ends), ..Program::new(kind) };
    let programs = [Program::new(Kind::Sensitive), ends(Kind::Light, 60), ends(Kind::Streaming, 5)];
    let mut drive = Drive::new(subject, &programs);
    let apps = drive.starts(3);
    drive.watch(apps[0], drive.scale.by_time(4));
    drive.watch(apps[1], drive.scale.by_instructions(400));
    drive.watch(apps[2], drive.scale.by_instructions(7));
    let both = halves(&drive.llc(), &apps);
    drive.insist(both.clone());
    while drive.running().len() > 1 {
        let gone = drive.until(promise::LIVES, |_, event| match event {
            Event::Exited { app } => Some(*app),
            _ => None,
        });
        drive.watch(gone, drive.scale.by_time(1));
        let plan = drive.plan(&both);
        drive.refused(plan);
        drive.watch(gone, drive.scale.by_instructions(1));
        drive.samples(apps[0], 2);
        drive.insist(shared(&drive.llc(), drive.running()));
    }
    drive.samples(apps[0], 5);
}

/// A machine that has no more to tell never has.
///
/// # Panics
/// If it does not keep this.
pub fn the_end_is_final(subject: &dyn Subject) {
    let ends = |kind, ends| Program { ends: Some(ends), ..Program::new(kind) };
    let programs = [Kind::Light, Kind::Streaming].map(|kind| ends(kind, 3));
    let mut drive = Drive::new(subject, &programs);
    for app in drive.starts(2) {
        drive.watch(app, drive.scale.by_time(2));
    }
    if !(0..1000).any(|_| drive.next_event().is_none()) {
        return;
    }
    for _ in 0..1000 {
        let more = drive.next_event();
        hold(more.is_none(), promise::FINAL, format_args!("{more:?}"));
    }
}
