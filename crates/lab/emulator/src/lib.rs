//! A filesystem that looks like /sys/fs/resctrl, with a simulated machine behind it.
//!
//! [`Emulator::start`] mounts it on a directory. Its files obey the [kernel's
//! rules](fairways_resctrl_rules::rules), and the [machine](Hardware) obeys its files: a class's
//! mask is where its programs' misses fill, its `MB` limits what they move, `llc_occupancy` is the
//! cache they occupy, `mbm_total_bytes` the bytes they moved. So a manager that controls a server
//! by these files can be pointed at it, and the cache answers.
//!
//! - **Programs** of the machine each have a real process, a [placeholder](hold_place), with the
//!   program's name, which clients find, move between groups, and see end. Ending the process ends
//!   the program.
//! - **Other tasks** of the system can be put into groups as well; inheritance of groups is found
//!   out from /proc afterwards, the one approximation.
//! - **The clock** follows [real time](Pace), as far as the simulation keeps up; or it stands still
//!   until a client lets time pass, so that the same requests give the same bytes every time.
//! - **Beside the files** there is a [control socket](fairways_emulated): the clock, counters of
//!   programs, and [faults](fairways_emulated::Fault) on demand.
//!
//! A user other than root plays root here: root's files in resctrl belong to that user.
//!
//! Known differences from a kernel: statfs(2) returns FUSE's magic number and the tables of mounts
//! list `fuse.resctrl`; a write of no bytes is not seen; an empty mask (AMD) is read as way 0; a
//! CPU that is taken off line still runs its program.

mod client_cpu;
mod clock;
mod control;
mod emulator;
mod faults;
mod filesystem;
mod handles;
pub mod hardware;
pub mod host_files;
mod inodes;
mod kernel_cache;
mod mount;
mod moved;
mod outside;
mod placeholder;
mod readings;
mod shared;
mod state;
mod stepped;
mod tasks;

pub use clock::Pace;
pub use emulator::{Emulator, Settings, StartError};
pub use hardware::{Hardware, Idle};
pub use mount::{MountError, guard};
pub use placeholder::{Starter, hold_place};
