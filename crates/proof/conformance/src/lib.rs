//! The promises that every [`Machine`](fairways_core::Machine) keeps, and checks of them.
//!
//! A machine's tests implement [`Subject`] and call [`check_all`], which panics with the
//! [`promise`] that was broken. The checks bring about situations and wait for the events that must
//! come; a [`Witness`] checks every event that the machine reports meanwhile.

pub mod checks;
mod drive;
mod partitions;
mod plans;
pub mod promise;
mod rng;
mod subject;
mod turns;
mod windows;
mod witness;

pub use subject::{ProgramKind, Scale, Subject, TestProgram, Walks};
pub use witness::Witness;

/// Runs every check that applies to this kind of machine.
///
/// # Panics
/// With the [`promise`] that the machine does not keep, and the event that breaks it.
pub fn check_all(subject: &dyn Subject) {
    use checks::*;

    programs_start_and_end(subject);
    starts_after_a_plan(subject);
    plans_that_break_a_rule_are_refused(subject);
    refusals_are_in_order(subject);
    levels_are_answered_or_refused(subject);
    exits_cut_windows_short(subject);
    the_end_is_final(subject);
    if subject.has_time() {
        windows_are_reported(subject);
        watches_restart_windows(subject);
        windows_add_up(subject);
        plans_change_between_and_in_windows(subject);
        alarms_ring(subject);
        instants_are_in_order(subject);
    }
    random_walks_keep_every_promise(subject);
    if subject.is_simulated() {
        the_same_actions_give_the_same_events(subject);
    }
}
