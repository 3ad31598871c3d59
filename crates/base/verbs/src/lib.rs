//! What both front doors have: how a program starts and ends ([`Door`]), the commands and flags
//! that are the same ([`args`]), the trial, and the manual.

pub mod args;
mod door;
mod help;
pub mod manual;
mod policies;
pub mod trial;

pub use door::{Door, DoorArgs, OtherDoor, is_given, reworded};
