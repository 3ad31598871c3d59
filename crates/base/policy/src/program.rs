//! A program as policies know it.

use alloc::sync::Arc;

use fairways_core::{AppId, Profile, Wish};

/// A program that runs.
#[derive(Clone, Debug)]
pub(crate) struct RunningProgram {
    pub(crate) app: AppId,
    pub(crate) wish: Wish,
    pub(crate) profile: Option<Arc<Profile>>,
}
