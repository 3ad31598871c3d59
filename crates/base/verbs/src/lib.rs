//! The commands that both doors have: what they do, and their manual.

pub mod manual;
pub mod policies;
pub mod trial;
