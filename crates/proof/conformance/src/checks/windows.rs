//! Windows.

use std::time::Duration;

use fairways_core::{Event, WindowLength};

use crate::drive::Drive;
use crate::promise::{self, require};
use crate::subject::{ProgramKind, Subject, TestProgram};

/// Windows by instructions and by time are reported, one after the other.
///
/// # Panics
/// If it does not keep this.
pub fn windows_are_reported(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::with_kinds(
        subject,
        &[ProgramKind::Sensitive, ProgramKind::Streaming, ProgramKind::Light],
    );
    drive.watch(apps[0], drive.scale.by_instructions(4));
    drive.watch(apps[1], drive.scale.by_time(4));
    drive.wait_for_samples(apps[0], 20);
    drive.wait_for_samples(apps[1], 20);
    // By now, a machine that reports programs that are not watched has failed.
    drive.watch(apps[2], drive.scale.by_instructions(3));
    drive.wait_for_samples(apps[2], 5);
}

/// A new watch drops the window under way, for all lengths, down to the shortest.
///
/// # Panics
/// If it does not keep this.
pub fn watches_restart_windows(subject: &dyn Subject) {
    let (mut drive, apps) =
        Drive::with_kinds(subject, &[ProgramKind::Sensitive, ProgramKind::Light]);
    let scale = drive.scale;
    let lengths = [
        scale.by_time(4),
        scale.by_instructions(4),
        WindowLength::Time(Duration::ZERO),
        scale.by_time(5),
        WindowLength::Instructions(0),
        scale.by_instructions(5),
    ];
    for before in [scale.by_time(16), scale.by_instructions(16)] {
        for after in lengths {
            drive.watch(apps[0], before);
            drive.let_pass(3);
            drive.watch(apps[0], after);
            drive.wait_for_samples(apps[0], 2);
            // At the very end of a window there is no window to drop.
            drive.watch(apps[0], after);
            drive.wait_for_samples(apps[0], 1);
            // The shortest windows flood the queue.
            drive.watch(apps[0], scale.by_time(4));
        }
    }
}

/// A program's windows add up to its run, except for the window that its exit cuts short.
///
/// # Panics
/// If it does not keep this.
pub fn windows_add_up(subject: &dyn Subject) {
    const LIFE: u32 = 50;
    let program = TestProgram::new(ProgramKind::Sensitive).running_for(LIFE);
    let mut drive = Drive::new(subject, &[program, TestProgram::new(ProgramKind::Streaming)]);
    let app = drive.wait_for_starts(2)[0];
    drive.watch(app, drive.scale.by_instructions(4));
    let (mut sum, mut longest) = (Some(0), 0);
    drive.wait_for(promise::LIVES, |_, event| match event {
        Event::Sampled(sample) => {
            let count = sample.counters.instructions;
            sum = sum.zip(count).map(|(sum, count)| sum + count);
            longest = longest.max(count.unwrap_or(0));
            None
        }
        Event::Exited { app: gone } => (*gone == app).then_some(()),
        _ => None,
    });
    // If a machine loses readings, their sum can't be checked.
    let Some(sum) = sum else { return };
    let life = drive.scale.instructions * u64::from(LIFE);
    let slack = life / 100;
    let adds_up = sum <= life + slack && life <= sum + longest + slack;
    require(adds_up, promise::GAPLESS, format_args!("{sum} of {life} instructions were reported"));
}
