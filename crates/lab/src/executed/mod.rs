//! Programs on the chip that executes addresses.

mod compare;
mod measure;
mod sweep;
mod timeline;

pub use compare::{ChipComparison, ChipOutcome, ChipProtocol, Fare, compare_on_chip};
pub use measure::{Rate, measure, profile};
pub use sweep::table_of;
pub use timeline::{Moment, timeline};
