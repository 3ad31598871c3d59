//! The analytic machine over time: programs with phases that share a cache, from profiles.
//!
//! [`Model`] is a [`fairways_core::Machine`]. Between events every program runs at the rate that
//! its profile gives for the lines it holds *now*, and its counters advance. What it holds moves
//! toward what the published static model says it comes to hold (the occupancy sweep of
//! [`fairways_profiles::divide`]), so programs that keep their phases come to run exactly as fast
//! as the static model has it. The way there is made of these rules:
//!
//! - A program fills at most one line a miss. A repartition costs what it costs on hardware: a
//!   program that hardly misses takes seconds to spread over ways it was given.
//! - Free lines are filled first; then lines are taken, in each way, from those who hold more of it
//!   than the sweep leaves them, in proportion to how much more.
//! - Lines outside a program's mask stay, and hit, until those who may fill those ways evict them,
//!   as with Intel's CAT: a mask governs where a program may fill, not where it may hit.
//! - A program that starts holds nothing; the lines of one that exits are free.
//!
//! The clock is integer nanoseconds. While lines move, time advances in steps in which at most
//! [`Settings::step`] ways change hands (midpoint rule); else from event to event in one.
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
pub use job::{Job, Phase, Then};
pub use machine::Model;
pub use settings::Settings;
