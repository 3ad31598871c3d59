//! What was counted while a program ran.

use core::time::Duration;

use crate::{AppId, Counters, PlanId, Q32};

/// How long a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WindowLength {
    /// As long as the program takes for this many instructions, at least 1.
    Instructions(u64),
    /// This long, whatever the program does; at least a nanosecond.
    Time(
        #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        Duration,
    ),
}

/// A window of one program that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// The program.
    pub app: AppId,
    /// What it did in the window.
    pub counters: Counters,
    /// The ways' worth of lines that it held at the window's end (resctrl's `llc_occupancy` over
    /// the bytes of a way); `None` if that could not be read.
    pub occupancy: Option<Q32>,
    /// How long the window was, as measured: it may be longer than asked for.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub window: Duration,
    /// The plan in force at the window's end; `None` before the first.
    pub plan: Option<PlanId>,
    /// Whether a plan was carried out during the window, so that it tells of two.
    pub straddled: bool,
}
