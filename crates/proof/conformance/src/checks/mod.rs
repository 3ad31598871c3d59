//! The checks: each brings a situation about, and panics with the [`promise`](crate::promise) that
//! is broken.

mod exits;
mod instants;
mod programs;
mod refusals;
mod walk;
mod windows;

pub use exits::{exits_cut_windows_short, the_end_is_final};
pub use instants::{alarms_ring, instants_are_in_order, plans_change_between_and_in_windows};
pub use programs::{programs_start_and_end, starts_after_a_plan};
pub use refusals::{
    levels_are_answered_or_refused, plans_that_break_a_rule_are_refused, refusals_are_in_order,
};
pub use walk::{random_walks_keep_every_promise, the_same_actions_give_the_same_events};
pub use windows::{watches_restart_windows, windows_add_up, windows_are_reported};
