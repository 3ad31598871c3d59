//! Where what is shown comes from.

mod asked;
mod emulated;
mod journal;
mod machine;
mod pacer;

use std::path::Path;
use std::time::Duration;

use super::history::History;
use super::{Pace, Watch};
use asked::Asked;
use fairways_command_kit::input::shown;
use fairways_record::ask;
use fairways_record::status::{Decision, Status, Watched};
use journal::Played;
use machine::Simulated;
pub use machine::{Machine, Make};

/// Others are asked no more often.
pub const SHORTEST: Duration = Duration::from_millis(100);
/// Nor less often.
pub const LONGEST: Duration = Duration::from_secs(60);

/// From point to point of a history, on the clock of a machine or a journal, and on the clock of others.
const PLAYED_POINT: u64 = 100_000_000;
const ASKED_POINT: u64 = 1_000_000_000;

/// All that a screen shows, but for what the user has chosen.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) status: Status,
    /// The oldest first.
    pub(super) decisions: Vec<Decision>,
    pub(super) history: History,
    /// What is watched.
    pub(super) from: String,
    /// How fast.
    pub(super) pace: String,
    /// What is wrong with it, or that it is over.
    pub(super) note: Option<String>,
}

impl Scene {
    fn of(watched: &Watched, history: &History, from: &str, pace: String) -> Self {
        Self {
            status: watched.status.clone(),
            decisions: watched.decisions.kept().cloned().collect(),
            history: history.clone(),
            from: from.to_owned(),
            pace,
            note: None,
        }
    }
}

/// What the user wants of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Play {
    Pause,
    Faster,
    Slower,
    /// Of a journal: by a decision, or all the way.
    Forward,
    Back,
    Start,
    End,
}

/// Where what is shown comes from.
pub(super) enum Source {
    Asked(Asked),
    Played(Box<Played>),
    Simulated(Simulated),
}

impl Source {
    /// Opens it.
    ///
    /// # Errors
    /// If there is none, or it is not as it should be.
    pub(super) fn open(watch: Watch, pace: Pace) -> anyhow::Result<Self> {
        let asked = match watch {
            Watch::Journal { file, at } => {
                return Ok(Self::Played(Box::new(Played::open(&file, pace.speed, at)?)));
            }
            Watch::Machine { make, .. } => {
                return Ok(Self::Simulated(Simulated::start(make, pace.speed)?));
            }
            Watch::Emulator(dir) => {
                let mut emulated = emulated::Emulated::open(&dir)?;
                let from = emulated.from();
                Asked::start(from, pace.interval, move || emulated.ask())?
            }
            Watch::Daemon(control) => {
                let from = from(control.as_deref());
                Asked::start(from, pace.interval, move || {
                    let control = control.as_deref();
                    Ok((ask::status_of(control)?, ask::decisions(control)?))
                })?
            }
        };
        Ok(Self::Asked(asked))
    }

    /// How it is now; a journal at a time, or at its end, and a machine at its end.
    ///
    /// # Errors
    /// As of [`open`](Self::open), and if a machine could not go on.
    pub(super) fn once(watch: Watch) -> anyhow::Result<Scene> {
        let mut history = History::new(ASKED_POINT);
        let (from, (status, decisions)) = match watch {
            Watch::Journal { file, at } => return Ok(Played::at(&file, at)?),
            Watch::Machine { make, .. } => return machine::once(make),
            Watch::Emulator(dir) => {
                let mut emulated = emulated::Emulated::open(&dir)?;
                // What counters have counted says something where there are two readings.
                emulated.ask()?;
                std::thread::sleep(Duration::from_secs(1));
                (emulated.from(), emulated.ask()?)
            }
            Watch::Daemon(control) => {
                let control = control.as_deref();
                (from(control), (ask::status_of(control)?, ask::decisions(control)?))
            }
        };
        history.take(&status);
        let pace = String::new();
        Ok(Scene { status, decisions, history, from, pace, note: None })
    }

    /// What is new; `None` if nothing is.
    pub(super) fn look(&mut self) -> Option<Scene> {
        match self {
            Self::Asked(of) => of.look(),
            Self::Played(of) => of.look(),
            Self::Simulated(of) => of.look(),
        }
    }

    /// Whether it can be stepped through, forward and back.
    pub(super) fn is_journal(&self) -> bool {
        matches!(self, Self::Played(_))
    }

    /// Whether nothing comes from it any more, for a reason that was told.
    pub(super) fn broke_off(&self) -> bool {
        matches!(self, Self::Simulated(of) if of.broke_off())
    }

    /// Does what the user wants.
    pub(super) fn play(&mut self, play: Play) {
        match self {
            Self::Asked(of) => of.play(play),
            Self::Played(of) => of.play(play),
            Self::Simulated(of) => of.play(play),
        }
    }
}

fn from(control: Option<&Path>) -> String {
    shown(control.unwrap_or(Path::new(ask::SOCKET)))
}

/// A journal at its end.
#[cfg(test)]
pub(super) fn played(path: &Path) -> Result<Scene, fairways_command_kit::BadInput> {
    Played::at(path, None)
}
