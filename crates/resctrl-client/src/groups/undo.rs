//! Steps of carrying out a plan.

use std::collections::BTreeMap;

use fairways_core::{AppId, BandwidthLevel};

use crate::plan::limits::Limits;
use crate::tree::schemata::Masks;

/// A step that was done, by which it is undone.
#[derive(Debug)]
pub(crate) enum Step {
    /// A class was made.
    Made(String),
    /// Masks of a group were changed from these; the root's name is empty.
    Masks(String, Masks),
    /// Limits of a class were changed from these.
    Limits(String, Limits),
    /// The planned levels of memory bandwidth of a class were changed from these.
    Levels(String, BTreeMap<u32, BandwidthLevel>),
    /// A program was moved from this class.
    Moved(AppId, String),
}
