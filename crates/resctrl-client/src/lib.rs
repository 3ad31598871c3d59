//! The client of resctrl: groups, masks, tasks, and what is put back.
//!
//! What Fairways did not make it does not change. Other managers' groups are planned around: their
//! ways and classes of service are not offered to policies, and their tasks stay where they are
//! unless [`Settings::take_over`] says otherwise. What is made or changed is written down before it
//! is, so that a process that was killed at any moment can be cleaned up after: [`Actuator::open`]
//! does, and [`restore`].
//!
//! - A CTRL_MON group `fairways.N` is a class of service. Programs that a plan gives the same ways
//!   share one.
//! - A MON group `fairways.APP-NAME` in it is one program's, so that what it holds and moves is
//!   counted for itself. A program that gets other ways is taken along by rename(2), which keeps
//!   its monitoring id and what was counted.
//! - Programs that no plan knows yet are in the root's group, with all other programs.
//! - Threads that stay in a class of others are counted by a MON group `fairways.APP-NAME@N` below
//!   that class. Of a program with a thread that nothing counts, nothing is reported.
//!
//! Sources: Documentation/filesystems/resctrl.rst; fs/resctrl of the kernel.

mod actuator;
mod added_counts;
mod adopt;
mod adopted;
mod applied;
mod apply;
mod backoff;
pub mod bandwidth_domains;
mod borrowed_groups;
mod changes;
mod claims;
mod class;
mod classes;
mod confine;
mod confine_io;
mod counter_turns;
mod counters;
mod domain;
mod dry_run;
mod energy;
mod enforced;
mod enforcement;
mod error;
mod events;
mod findings;
mod foreign;
mod io_fills;
mod ledger;
mod leftover;
mod limiting;
mod limits;
mod lock;
mod look;
pub mod managers;
mod masks;
mod monitored;
mod monitors;
mod mount;
mod moving;
mod offer;
mod packages;
mod places;
mod program;
mod programs;
mod put_back;
mod recover;
mod refine;
mod release;
mod settings;
mod shown_caches;
mod staying_threads;
mod stays;
mod step;
mod survey;
mod taken_threads;
mod tally;
mod tasks;
mod threads;
mod tree;
mod withheld;
mod write_masks;

pub use actuator::Actuator;
pub use applied::{Applied, Placed};
pub use backoff::pause_after;
pub use changes::Changes;
pub use claims::Claims;
pub use domain::Domain;
pub use error::{Error, Refused};
pub use fairways_ledger::{OpenError, Restored, Thing};
pub use foreign::Foreign;
#[cfg(any(test, feature = "fuzzing"))]
pub use ledger::fuzz;
pub use monitored::counted_events;
pub use packages::PackageCounts;
pub use recover::restore;
pub use settings::Settings;
pub use shown_caches::ShownCaches;
pub use tally::{Errors, Ids};
pub use tasks::{Added, Moved};
