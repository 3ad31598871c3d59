//! Windows.

use std::time::Duration;

use fairways_core::{Event, WindowLength};

use crate::drive::Drive;
use crate::promise::{self, hold};
use crate::subject::{Kind, Program, Subject};

/// Windows by instructions and by time are told, one after the other.
///
/// # Panics
/// If it does not keep this.
pub fn windows_are_told(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &[Kind::Sensitive, Kind::Streaming, Kind::Light]);
    drive.watch(apps[0], drive.scale.by_instructions(4));
    drive.watch(apps[1], drive.scale.by_time(4));
    drive.samples(apps[0], 20);
    drive.samples(apps[1], 20);
    // A machine that tells of whoever is not watched is found out by now.
    drive.watch(apps[2], drive.scale.by_instructions(3));
    drive.samples(apps[2], 5);
}

/// A new watch gives up the window under way, whichever lengths they have, down to the least.
///
/// # Panics
/// If it does not keep this.
pub fn watches_begin_windows_anew(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &[Kind::Sensitive, Kind::Light]);
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
            drive.pass(3);
            drive.watch(apps[0], after);
            drive.samples(apps[0], 2);
            // At the very end of a window there is none to give up.
            drive.watch(apps[0], after);
            drive.samples(apps[0], 1);
            // The least windows flood those that wait.
            drive.watch(apps[0], scale.by_time(4));
        }
    }
}

/// A program's windows make up its life, but for the one that its exit cuts short.
///
/// # Panics
/// If it does not keep this.
pub fn windows_add_up(subject: &dyn Subject) {
    const LIFE: u32 = 50;
    let program = Program { ends: Some(LIFE), ..Program::new(Kind::Sensitive) };
    let mut drive = Drive::new(subject, &[program, Program::new(Kind::Streaming)]);
    let app = drive.starts(2)[0];
    drive.watch(app, drive.scale.by_instructions(4));
    let (mut sum, mut longest) = (Some(0), 0);
    drive.until(promise::LIVES, |_, event| match event {
        Event::Sampled(sample) => {
            let did = sample.counters.instructions;
            sum = sum.zip(did).map(|(sum, did)| sum + did);
            longest = longest.max(did.unwrap_or(0));
            None
        }
        Event::Exited { app: gone } => (*gone == app).then_some(()),
        _ => None,
    });
    // A machine that loses readings can't be held to their sum.
    let Some(sum) = sum else { return };
    let life = drive.scale.instructions * u64::from(LIFE);
    let slack = life / 100;
    let adds_up = sum <= life + slack && life <= sum + longest + slack;
    hold(adds_up, promise::GAPLESS, format_args!("{sum} of {life} instructions were told"));
}
