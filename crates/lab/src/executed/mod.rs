//! Programs on the chip that executes addresses.

mod compare;
mod measure;
mod timeline;

pub use compare::{ChipComparison, ChipOutcome, ChipProtocol, Fare, compare_on_chip};
pub use measure::{Rate, measure, profile};
pub use timeline::{Moment, timeline};
