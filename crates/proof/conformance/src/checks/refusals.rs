//! Plans that can't be carried out.

use fairways_core::{AppId, BandwidthLevel, Event, Partition, Resources};

use crate::drive::Drive;
use crate::partitions::{BrokenRule, halves, shared};
use crate::promise::{self, require};
use crate::subject::{ProgramKind, Subject};

const KINDS: [ProgramKind; 3] =
    [ProgramKind::Sensitive, ProgramKind::Streaming, ProgramKind::Light];

/// No program of a check has this id.
const STRANGER: AppId = AppId(u32::MAX);

/// Each rule that a partition can break is answered by its refusal, and the plan before stays.
///
/// # Panics
/// If it does not keep these.
pub fn plans_that_break_a_rule_are_refused(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::with_kinds(subject, &KINDS);
    drive.watch(apps[0], drive.scale.by_time(4));
    drive.watch(apps[1], drive.scale.by_instructions(4));
    let mut broken = 0;
    for rule in BrokenRule::ALL {
        // Before the first plan, no plan could stay in force.
        if broken == 1 {
            drive.insist(halves(&drive.llc(), &apps));
            drive.wait_for_samples(apps[0], 2);
        }
        drive.let_pass(2);
        if let Some(partition) = rule.partition(&drive.llc(), &apps, STRANGER) {
            let plan = drive.plan(&partition);
            drive.wait_for_refusal(plan);
            broken += 1;
        }
        drive.wait_for_samples(apps[0], 2);
        drive.wait_for_samples(apps[1], 1);
    }
    assert!(broken >= 7, "few rules can be broken on the subject's cache: {:?}", drive.llc());
}

/// Several plans at one instant: those that break a rule are refused in order, and the last of the
/// others is in force.
///
/// # Panics
/// If it does not keep these.
pub fn refusals_are_in_order(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::with_kinds(subject, &KINDS);
    let llc = drive.llc();
    drive.watch(apps[0], drive.scale.by_time(4));
    drive.wait_for_samples(apps[0], 1);
    drive.let_pass(2);
    let spoilt =
        |spoil: BrokenRule| spoil.partition(&llc, &apps, STRANGER).expect("any cache's rule");
    let first = drive.plan(&spoilt(BrokenRule::EmptyMask));
    drive.insist(shared(&llc, &apps));
    let second = drive.plan(&spoilt(BrokenRule::NoMember));
    let third = drive.plan(&spoilt(BrokenRule::NotPlaced));
    for plan in [first, second, third] {
        drive.wait_for_refusal(plan);
    }
    drive.wait_for_samples(apps[0], 2);
}

/// A plan's levels of memory bandwidth are answered as they are in force. A machine that can't
/// limit memory bandwidth refuses the plan.
///
/// # Panics
/// If it does not keep this.
pub fn levels_are_answered_or_refused(subject: &dyn Subject) {
    let (mut drive, apps) = Drive::with_kinds(subject, &KINDS);
    let lever = drive.bandwidth();
    let level = lever.map_or(BandwidthLevel::new(50), |lever| Some(lever.least));
    let mut limited = Partition::default();
    for cluster in shared(&drive.llc(), &apps).clusters() {
        limited.add(Resources { bandwidth: level, ..*cluster });
    }
    limited.place_all(apps, 0..=0);
    if lever.is_none() {
        let plan = drive.plan(&limited);
        drive.wait_for_refusal(plan);
        return;
    }
    // A machine may fail, but not because of the level.
    drive.insist(limited);
    let actual = drive.wait_for(promise::LEVELS, |_, event| match event {
        Event::Applied { actual, .. } => Some(actual.clone()),
        _ => None,
    });
    let has_levels = actual.clusters().iter().all(|cluster| cluster.bandwidth.is_some());
    require(has_levels, promise::LEVELS, format_args!("{actual:?}"));
}
