//! Steps of carrying out a plan.

use fairways_core::AppId;

use super::limits::Limits;
use super::masks::Masks;

/// A step that was done, by which it is undone.
#[derive(Debug)]
pub(super) enum Step {
    /// A class was made.
    Made(String),
    /// Masks of a group were changed from these; the root's name is empty.
    Masks(String, Masks),
    /// Limits of a class were changed from these.
    Limits(String, Limits),
    /// A program was moved from this class.
    Moved(AppId, String),
}
