//! What happens when.

use fairways_core::{Action, Event, Time};

use crate::drive::Drive;
use crate::promise::{self, hold};
use crate::spoil::{Spoil, halves, shared};
use crate::subject::{Kind, Subject};

/// Windows that see a plan carried out say so, and those that begin with it do not.
///
/// # Panics
/// If it does not keep this.
pub fn plans_change_between_and_in_windows(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &[Kind::Sensitive, Kind::Streaming]);
    let llc = drive.llc();
    drive.watch(apps[0], drive.scale.by_instructions(4));
    drive.watch(apps[1], drive.scale.by_time(4));
    drive.samples(apps[1], 2);
    for partition in [halves(&llc, &apps), shared(&llc, &apps), halves(&llc, &apps)] {
        // At the end of a window of one, which is amid one of the other.
        drive.insist(partition.clone());
        drive.samples(apps[0], 2);
        // Amid both, twice.
        drive.pass(1);
        drive.insist(partition.clone());
        drive.pass(1);
        drive.insist(partition);
        drive.samples(apps[1], 2);
        // And before a window that is begun at the same instant.
        drive.insist(shared(&llc, &apps));
        drive.watch(apps[0], drive.scale.by_instructions(4));
        drive.samples(apps[0], 1);
    }
}

/// The alarm rings at its time, or at once if that is past; a later one replaces it.
///
/// # Panics
/// If it does not keep this.
pub fn alarms_ring(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &[Kind::Light]);
    let scale = drive.scale;
    drive.watch(apps[0], scale.by_time(1));
    drive.pass(12);
    for (first, second) in [(2, 10), (10, 2)] {
        drive.wake(scale.time(first));
        drive.wake(scale.time(second));
        drive.woken();
        // Another would ring meanwhile.
        drive.samples(apps[0], 60);
    }
    for past in [Time::ZERO, drive.now()] {
        let now = drive.now();
        drive.act(Action::Wake { at: past });
        let rang = drive.woken();
        let at_once = rang == now || !drive.is_simulated;
        hold(at_once, promise::ALARM, format_args!("at {rang:?}, not {now:?}"));
    }
}

/// Windows of two programs, the alarm, and what became of plans, all at one instant if the machine
/// can; and an alarm that is replaced when its time has come and it has not rung.
///
/// # Panics
/// If it does not keep the order of events.
pub fn instants_are_in_order(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &[Kind::Light, Kind::Light, Kind::Streaming]);
    let (llc, scale) = (drive.llc(), drive.scale);
    for replaced in [false, true, false, true] {
        for &app in &apps {
            drive.watch(app, scale.by_time(4));
        }
        // A window is as long as the machine makes it: see how long, then aim at the end of the next.
        let length = drive.samples(apps[0], 1)[0].window;
        drive.wake(length);
        let end = drive.now().after(length);
        drive.until(promise::TOLD, |at, event| {
            (at >= end && matches!(event, Event::Sampled(_))).then_some(())
        });
        if replaced {
            drive.wake(scale.time(3));
        }
        let spoilt = Spoil::EmptyMask.partition(&llc, &apps, apps[0]).expect("any cache's rule");
        drive.insist(halves(&llc, &apps));
        let plan = drive.plan(&spoilt);
        drive.refused(plan);
        drive.woken();
        drive.insist(shared(&llc, &apps));
        drive.samples(apps[1], 2);
    }
}
