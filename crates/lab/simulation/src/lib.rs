//! Programs on a simulated machine, by their names.
//!
//! [`catalog`] finds profiles, [`World`] has the programs of the model and [`chip::World`] those of
//! a chip, [`suits`] and [`profile_needs`] say which policies suit which machine and profiles, and
//! [`SimulatedRun`] runs one of them. [`chip::ChipMachine`] is a chip behind the emulator's files.
//! Commands and the Python package make these of what their users wrote, and report what is wrong
//! with that in one line.

pub mod catalog;
pub mod chip;
pub mod profile_needs;
mod run;
pub mod suits;
mod world;

pub use run::{Alone, Best, ENDLESS, Fare, On, RunJournal, Running, SimulatedRun, run_until};
pub use world::{Names, World, cache, caches, promised, warn_of_promises};
