//! The client of resctrl: groups, masks, tasks, and what is put back.
//!
//! What Fairways did not make it does not change. It plans around other managers' groups: their
//! ways and classes of service are not offered to policies, and their tasks stay where they are
//! unless [`Settings::take_over`] says otherwise. Every change is recorded before it is made, so
//! that [`Actuator::open`], or [`restore`], can clean up after a process that was killed at any
//! moment.
//!
//! - A CTRL_MON group `fairways.N` is a class of service. Programs that a plan gives the same ways
//!   share one.
//! - A MON group `fairways.APP-NAME` in it belongs to one program, so that the program's occupancy
//!   and traffic are counted separately. A program that gets other ways is moved with its group by
//!   rename(2), which keeps its monitoring id and its counts.
//! - Programs without a plan are in the root's group, with all other programs.
//! - Threads that stay in a class of others are counted by a MON group `fairways.APP-NAME@N` below
//!   that class. If a program has a thread that no group counts, nothing is reported for it.
//!
//! The files are in folders, each of which imports only those before it:
//!
//! 1. `tree`: resctrl's files. How groups are listed, read, written and locked, and the lines of a
//!    `schemata` with masks.
//! 2. `counts`: what files of events show: occupancy, traffic, energy.
//! 3. `ledger`: what is written down before it is changed; recovery, and putting back.
//! 4. `offer`: what exists, what others have of it, and which ways and classes can be given out.
//! 5. `plan`: from policies' plans to classes with masks, and the limits that these must keep.
//! 6. `groups`: classes, monitoring groups, and the threads in them.
//! 7. `actuator`: what users of this crate call. A plan is carried out, or in a dry run logged.
//!
//! Beside them, and below all of them, are errors, settings, counts of failures, and pauses between
//! attempts.
//!
//! Sources: Documentation/filesystems/resctrl.rst; fs/resctrl of the kernel.

mod actuator;
mod backoff;
mod counts;
mod error;
mod groups;
mod ledger;
mod offer;
mod plan;
mod settings;
mod tally;
mod tree;

pub use actuator::Actuator;
pub use actuator::tasks::{Added, Moved};
pub use backoff::pause_after;
pub use counts::counted_events::counted_events;
pub use counts::packages::PackageCounts;
pub use error::{Error, Refused};
pub use fairways_ledger::{OpenError, Restored, Thing};
pub use groups::others_changes::Changes;
#[cfg(any(test, feature = "fuzzing"))]
pub use ledger::fuzz;
pub use ledger::recover::restore;
pub use offer::claims::Claims;
pub use offer::domain::Domain;
pub use offer::foreign::Foreign;
pub use offer::shown_caches::ShownCaches;
pub use offer::{bandwidth_domains, managers};
pub use plan::outcome::{Applied, Placed};
pub use settings::Settings;
pub use tally::{Errors, Ids};
