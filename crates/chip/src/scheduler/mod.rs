//! The operating system's scheduler: fixed priorities, and round robin among equals.
//!
//! Each CPU has a queue. A thread stays on its CPU for its quantum, up to the next clock tick, and
//! for another if nobody waits who may run there; then it goes to its CPU's queue. A CPU that is
//! free takes, from whatever queue, of the threads that may run there the one that has had the
//! fewest turns, and of those the one that has waited for longest. That is round robin, and where
//! there are several CPUs it is so too of threads whose turns are shorter than others': in the
//! order of waiting alone they would come back sooner, and have more of them. So the time that
//! threads get is as their quanta are. A thread is at most a turn ahead of the others for having
//! slept, or waited for a CPU that it may run on.
//!
//! Where one that waits may run on no CPU that is free, others make room, if they may run on one
//! that is.
//!
//! In the time-sharing class ([`TimeSharing`](crate::SchedulingClass::TimeSharing)) the highest
//! level comes first, and within a level the thread that has waited longest. A thread that waits
//! takes the place of one of a lower level, which later uses what is left of its quantum.
//!
//! A raised thread takes the place of one that is not, and one of the operating system's
//! ([`Job::system`](crate::Job::system)) that of any other. Switching costs the caches' warmth and
//! nothing else: copies in the private caches of a core that a thread has left stay good, for
//! nobody else writes to its lines.

mod placing;
mod queue;
mod state;
mod system;
mod thread;
mod time_sharing;
mod together;
mod turns;

pub(crate) use state::{Scheduler, Threads};
pub(crate) use thread::{Priority, Thread};
