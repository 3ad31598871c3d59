//! The operating system's scheduler: fixed priorities, and round robin among equals.
//!
//! Each CPU has a queue. A thread stays on its CPU for its quantum, up to the next clock tick, and
//! for another quantum if no thread waits that may run there; then it goes to its CPU's queue. A
//! free CPU takes, from any queue, the thread that may run there and has had the fewest turns;
//! among equals, the one that has waited for longest. This is round robin. With several CPUs it is
//! fair to threads with short turns, too: by waiting time alone they would come back sooner and get
//! more turns. So threads get CPU time in proportion to their quanta. A thread is at most a turn
//! ahead of the others after it slept, or waited for a CPU that it may run on.
//!
//! If a waiting thread may not run on any free CPU, other threads make room, if they may run on a
//! free one.
//!
//! In the time-sharing class ([`TimeSharing`](crate::SchedulingClass::TimeSharing)) the highest
//! level comes first, and within a level the thread that has waited longest. A waiting thread
//! preempts a thread of a lower level, which later uses the rest of its quantum.
//!
//! A raised thread preempts a thread that is not raised, and a thread of the operating system
//! ([`Job::system`](crate::Job::system)) preempts any other. Switching costs the caches' warmth and
//! nothing else: copies in the private caches of a core that a thread has left stay valid, since no
//! other program writes to its lines.

mod co_run;
mod placing;
mod queue;
mod state;
mod system;
mod turns;

pub(crate) use state::{ScheduledThreads, Scheduler};
