//! Counters that a test invents, in a machine whose processor counts nothing. The program that
//! users start knows none: a test's program says with [`invent_by`] how they are made.

use std::fmt;
use std::sync::OnceLock;

use fairways_command_kit::BadInput;
use fairways_core::{Event, Time};
use fairways_host::machine::Host;
use fairways_perf::Source;

use crate::observer::HostObserver;

/// Gets each event of each domain.
pub type EventFollower = Box<dyn FnMut(u32, &Event)>;

/// Counters, and what they have to know of the run.
pub struct InventedCounters {
    /// The counters.
    pub source: Box<dyn Source>,
    /// Gets each event of each domain before the policy does.
    pub follow: EventFollower,
}

impl fmt::Debug for InventedCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InventedCounters").finish_non_exhaustive()
    }
}

/// How counters are invented.
#[derive(Clone, Copy, Debug)]
pub struct Inventor {
    /// The word of `counters.source` that asks for them; `WORD:REST` does, too.
    pub word: &'static str,
    /// Makes them, from what `counters.source` says and whether the policy schedules threads.
    pub make: fn(&str, bool) -> Result<InventedCounters, BadInput>,
}

static INVENTOR: OnceLock<Inventor> = OnceLock::new();

/// Lets this process invent counters; only the first call counts.
pub fn invent_by(inventor: Inventor) {
    let _ = INVENTOR.set(inventor);
}

/// The inventor of the counters that `counters.source` asks for by this text, if there is one.
pub(crate) fn inventor_of(text: &str) -> Option<&'static Inventor> {
    let word = text.split_once(':').map_or(text, |(word, _)| word);
    INVENTOR.get().filter(|inventor| inventor.word == word)
}

/// Lets invented counters follow the run.
pub(crate) struct InventionObserver(pub(crate) EventFollower);

impl HostObserver for InventionObserver {
    fn event(&mut self, _: &Host, domain: u32, _: Time, event: &Event) {
        (self.0)(domain, event);
    }
}
