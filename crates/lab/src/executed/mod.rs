//! Programs on the chip that executes addresses.

mod compare;
mod measure;
mod observed;
mod served;
mod sweep;
mod timeline;

pub use compare::{ChipComparison, ChipOutcome, ChipProtocol, Fare, compare_on_chip};
pub use measure::{Alone, Rate, measure, measure_alone, profile};
pub use observed::Observed;
pub use served::{Kept, Latency, Served};
pub use sweep::table_of;
pub use timeline::{Moment, timeline};
