//! Samples: the counts of a program in a window.

use core::time::Duration;

use crate::{AppId, Counters, PlanId, Q32};

/// The length of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WindowLength {
    /// Until the program has run this many instructions, at least 1.
    Instructions(u64),
    /// This long, whatever the program does; at least 1 ns.
    Time(
        #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        Duration,
    ),
}

/// A sample: the counts of one program in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// The program.
    pub app: AppId,
    /// The counts of the window.
    pub counters: Counters,
    /// The ways' worth of lines that it occupied at the window's end (resctrl's `llc_occupancy`
    /// over the bytes of a way); `None` if that could not be read, or is not all.
    pub occupancy: Option<Q32>,
    /// What was read where that is not all: lines that the program brought in before its
    /// monitoring group began count for another one until they are replaced.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub occupancy_at_least: Option<Q32>,
    /// The window's length, as measured: it may be longer than requested.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub window: Duration,
    /// The plan in force at the window's end; `None` before the first.
    pub plan: Option<PlanId>,
    /// Whether a plan was carried out during the window, so that the sample mixes two plans.
    pub straddled: bool,
}

impl Sample {
    /// A sample of which nothing is known besides its counts: no occupancy, and no plan in force.
    #[must_use]
    pub const fn new(app: AppId, counters: Counters, window: Duration) -> Self {
        let (occupancy, occupancy_at_least, plan, straddled) = (None, None, None, false);
        Self { app, counters, occupancy, occupancy_at_least, window, plan, straddled }
    }
}
