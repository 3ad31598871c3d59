//! Order and timing of events.

use fairways_core::{Action, Event, Time};

use crate::drive::Drive;
use crate::partitions::{BrokenRule, halves, shared};
use crate::promise::{self, require};
use crate::subject::{ProgramKind, Subject};

/// Windows in which a plan is carried out are marked; windows that begin with the plan are not.
///
/// # Panics
/// If it does not keep this.
pub fn plans_change_between_and_in_windows(subject: &dyn Subject) {
    let (mut drive, apps) =
        Drive::with_kinds(subject, &[ProgramKind::Sensitive, ProgramKind::Streaming]);
    let llc = drive.llc();
    drive.watch(apps[0], drive.scale.by_instructions(4));
    drive.watch(apps[1], drive.scale.by_time(4));
    drive.wait_for_samples(apps[1], 2);
    for partition in [halves(&llc, &apps), shared(&llc, &apps), halves(&llc, &apps)] {
        // At the end of one program's window, in the middle of the other's.
        drive.insist(partition.clone());
        drive.wait_for_samples(apps[0], 2);
        // In the middle of both windows, twice.
        drive.let_pass(1);
        drive.insist(partition.clone());
        drive.let_pass(1);
        drive.insist(partition);
        drive.wait_for_samples(apps[1], 2);
        // And before a window that is begun at the same instant.
        drive.insist(shared(&llc, &apps));
        drive.watch(apps[0], drive.scale.by_instructions(4));
        drive.wait_for_samples(apps[0], 1);
    }
}

/// The alarm rings at its time, or at once if that is past; a later one replaces it.
///
/// # Panics
/// If it does not keep this.
pub fn alarms_ring(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::with_kinds(subject, &[ProgramKind::Light]);
    let scale = drive.scale;
    drive.watch(apps[0], scale.by_time(1));
    drive.let_pass(12);
    for (first, second) in [(2, 10), (10, 2)] {
        drive.wake(scale.time(first));
        drive.wake(scale.time(second));
        drive.wait_for_alarm();
        // Another would ring meanwhile.
        drive.wait_for_samples(apps[0], 60);
    }
    for past in [Time::ZERO, drive.now()] {
        let now = drive.now();
        drive.act(Action::Wake { at: past });
        let rang = drive.wait_for_alarm();
        let at_once = rang == now || !drive.is_simulated;
        require(at_once, promise::ALARM, format_args!("at {rang:?}, not {now:?}"));
    }
}

/// Windows of two programs, the alarm, and answers to plans, all at one instant if the machine can;
/// and an alarm that is replaced after its time has come and before it has rung.
///
/// # Panics
/// If it does not keep the order of events.
pub fn instants_are_in_order(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::with_kinds(
        subject,
        &[ProgramKind::Light, ProgramKind::Light, ProgramKind::Streaming],
    );
    let (llc, scale) = (drive.llc(), drive.scale);
    for replaced in [false, true, false, true] {
        for &app in &apps {
            drive.watch(app, scale.by_time(4));
        }
        // A window is as long as the machine makes it: see how long, then aim at the end of the
        // next.
        let length = drive.wait_for_samples(apps[0], 1)[0].window;
        drive.wake(length);
        let end = drive.now().after(length);
        drive.wait_for(promise::REPORTED, |at, event| {
            (at >= end && matches!(event, Event::Sampled(_))).then_some(())
        });
        if replaced {
            drive.wake(scale.time(3));
        }
        let spoilt =
            BrokenRule::EmptyMask.partition(&llc, &apps, apps[0]).expect("any cache's rule");
        drive.insist(halves(&llc, &apps));
        let plan = drive.plan(&spoilt);
        drive.wait_for_refusal(plan);
        drive.wait_for_alarm();
        drive.insist(shared(&llc, &apps));
        drive.wait_for_samples(apps[1], 2);
    }
}
