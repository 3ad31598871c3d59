//! The analytic machine over time: programs with phases that share a cache, from profiles.
//!
//! [`Model`] is a [`fairways_core::Machine`]. Between events every program runs at the rate that
//! its profile gives for its *current* occupancy, and its counters advance. Its occupancy moves
//! toward that of the published static model (the occupancy sweep of
//! [`fairways_profiles::divide`]), so programs that stay in their phases end up exactly as fast as
//! in the static model. On the way these rules apply:
//!
//! - A program fills at most one line a miss. A repartition costs as much as on hardware: a program
//!   that hardly misses takes seconds to spread over new ways.
//! - Free lines are filled first; then each way's lines are taken from programs that occupy more of
//!   the way than the sweep leaves them, in proportion to the excess.
//! - Lines outside a program's mask stay, and hit, until programs that may fill those ways evict
//!   them, as with Intel's CAT: a mask governs where a program may fill, not where it may hit.
//! - A program starts without lines; the lines of a program that exits are free.
//!
//! Where memory has a limit, a plan can limit each cluster to a level of it, a percent
//! ([`fairways_profiles::MemoryBandwidth::limit`]); it acts from the instant of the plan on.
//!
//! The clock is integer nanoseconds. While lines move, time advances in steps in which at most
//! [`Settings::step`] ways change hands (midpoint rule); otherwise it advances from event to event
//! in one step.
//!
//! Everything random (measurement noise, lost samples, refusals) comes from one seeded generator:
//! the same settings, jobs and actions give the same events, to the last bit.

mod advance;
mod app;
mod cache;
mod events;
mod job;
mod machine;
mod observe;
mod rates;
mod settings;
mod window;

pub use app::Work;
pub use job::{AfterRun, Job, JobPhase};
pub use machine::Model;
pub use settings::Settings;
