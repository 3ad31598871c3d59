//! Plans that can't be carried out.

use fairways_core::{AppId, Bandwidth, Event, Partition, Resources};

use crate::drive::Drive;
use crate::promise::{self, hold};
use crate::spoil::{Spoil, halves, shared};
use crate::subject::{Kind, Subject};

const KINDS: [Kind; 3] = [Kind::Sensitive, Kind::Streaming, Kind::Light];

/// No program of a check has this id.
const STRANGER: AppId = AppId(u32::MAX);

/// Each rule that a partition can break is answered by its refusal, and the plan before stays.
///
/// # Panics
/// If it does not keep these.
pub fn plans_that_break_a_rule_are_refused(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &KINDS);
    drive.watch(apps[0], drive.scale.by_time(4));
    drive.watch(apps[1], drive.scale.by_instructions(4));
    let mut broken = 0;
    for spoil in Spoil::ALL {
        // Before the first plan, there is none that could stay.
        if broken == 1 {
            drive.insist(halves(&drive.llc(), &apps));
            drive.samples(apps[0], 2);
        }
        drive.pass(2);
        if let Some(partition) = spoil.partition(&drive.llc(), &apps, STRANGER) {
            let plan = drive.plan(&partition);
            drive.refused(plan);
            broken += 1;
        }
        drive.samples(apps[0], 2);
        drive.samples(apps[1], 1);
    }
    assert!(broken >= 7, "the subject's cache lets hardly a rule be broken: {:?}", drive.llc());
}

/// Several plans at one instant: those that break a rule are refused in order, and the last of the
/// others is in force.
///
/// # Panics
/// If it does not keep these.
pub fn refusals_are_in_order(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &KINDS);
    let llc = drive.llc();
    drive.watch(apps[0], drive.scale.by_time(4));
    drive.samples(apps[0], 1);
    drive.pass(2);
    let spoilt = |spoil: Spoil| spoil.partition(&llc, &apps, STRANGER).expect("any cache's rule");
    let first = drive.plan(&spoilt(Spoil::EmptyMask));
    drive.insist(shared(&llc, &apps));
    let second = drive.plan(&spoilt(Spoil::NoMember));
    let third = drive.plan(&spoilt(Spoil::NotPlaced));
    for plan in [first, second, third] {
        drive.refused(plan);
    }
    drive.samples(apps[0], 2);
}

/// A machine that can't limit memory bandwidth refuses no plan that has it limited, and answers
/// that it is not.
///
/// # Panics
/// If it does not keep this.
pub fn limits_without_a_lever_are_not_there(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::of(subject, &KINDS);
    let mut limited = Partition::default();
    for cluster in shared(&drive.llc(), &apps).clusters() {
        limited.add(Resources { bandwidth: Bandwidth::new(512), ..*cluster });
    }
    limited.place_all(apps, 0..=0);
    // A machine may fail; it is not to fail for this.
    drive.insist(limited);
    let (plan, actual) = drive.until(promise::NOT_THERE, |_, event| match event {
        Event::Applied { plan, actual } => Some((*plan, actual.clone())),
        _ => None,
    });
    let is_there = actual.clusters().iter().any(|cluster| cluster.bandwidth.is_some());
    let answered = drive.limits() || !is_there;
    hold(answered, promise::NOT_THERE, format_args!("{plan:?}: {actual:?}"));
}
