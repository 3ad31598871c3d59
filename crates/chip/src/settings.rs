//! How a chip is simulated.

use crate::geometry::Geometry;
use crate::pages::{PageSize, Placement};
use crate::scheduler::Scheduling;

/// A chip, and how it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The chip.
    pub chip: Geometry,
    /// The size of pages.
    pub pages: PageSize,
    /// Where they are.
    pub placement: Placement,
    /// One of so many sets of the last-level cache is simulated; what goes to the others hits as often
    /// as what goes to those has of late.
    pub set_sampling: u32,
    /// How many times shorter everything takes than the policy is told: times, instructions and
    /// counters are told so many times larger.
    pub time_scale: u32,
    /// How programs take turns on the CPUs, on the policy's clock; `None`: each has one to itself.
    pub scheduler: Option<Scheduling>,
    /// The seed of all that is random.
    pub seed: u64,
}

impl Settings {
    /// A chip with small pages anywhere, all of it simulated, as it is.
    #[must_use]
    pub fn new(chip: Geometry) -> Self {
        Self {
            chip,
            pages: PageSize::Small,
            placement: Placement::Random,
            set_sampling: 1,
            time_scale: 1,
            scheduler: None,
            seed: 1,
        }
    }
}
