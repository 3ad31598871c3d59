//! The sources of what is shown.

mod emulator;
mod journal;
mod machine;
mod pacer;
mod poller;

use std::path::Path;
use std::time::Duration;

use super::history::History;
use super::{Pace, Target};
use fairways_command_kit::input::shown;
use fairways_record::blame::BlameReport;
use fairways_record::client;
use fairways_record::status::{Decision, MachineRecord, Status};
use journal::JournalPlayer;
use machine::SimulatedMachine;
pub use machine::{MakeMachine, WatchedMachine};
use poller::Poller;

/// The shortest interval between polls.
pub const SHORTEST: Duration = Duration::from_millis(100);
/// The longest interval between polls.
pub const LONGEST: Duration = Duration::from_secs(60);

/// From point to point of a history, ns: on the clock of a machine or a journal, and of a polled
/// source.
const PLAYED_POINT_NANOS: u64 = 100_000_000;
const POLLED_POINT_NANOS: u64 = 1_000_000_000;

/// All that a screen shows, apart from the user's choices.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) status: Status,
    /// The oldest first.
    pub(super) decisions: Vec<Decision>,
    /// What programs lose in each domain, where that is known.
    pub(super) losses: Vec<BlameReport>,
    pub(super) history: History,
    /// What is watched.
    pub(super) source: String,
    /// The speed, in words.
    pub(super) pace: String,
    /// What is wrong with the source.
    pub(super) note: Option<String>,
}

impl Scene {
    fn new(
        watched: &MachineRecord,
        losses: BlameReport,
        history: &History,
        from: &str,
        pace: String,
    ) -> Self {
        Self {
            status: watched.status.clone(),
            decisions: watched.decisions.kept().collect(),
            losses: if losses.is_empty() { Vec::new() } else { vec![losses] },
            history: history.clone(),
            source: from.to_owned(),
            pace,
            note: None,
        }
    }
}

/// What a poll finds out.
pub(super) struct PollAnswer {
    status: Status,
    decisions: Vec<Decision>,
    losses: Vec<BlameReport>,
}

impl PollAnswer {
    /// Asks the daemon that listens there.
    fn of_daemon(control: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self {
            status: client::status(control)?,
            decisions: client::decisions(control)?,
            // A daemon of an earlier version knows none, nor does one without windows.
            losses: client::losses(control, true).unwrap_or_default(),
        })
    }

    fn of_emulator(emulated: &mut emulator::Emulated) -> anyhow::Result<Self> {
        let (status, decisions) = emulated.ask()?;
        Ok(Self { status, decisions, losses: Vec::new() })
    }
}

/// What the user wants of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlayCommand {
    Pause,
    Faster,
    Slower,
    /// In a journal: by a decision, or all the way.
    Forward,
    Back,
    Start,
    End,
}

/// A source.
pub(super) enum Source {
    Polled(Poller),
    Played(Box<JournalPlayer>),
    Simulated(SimulatedMachine),
}

impl Source {
    /// Opens a source.
    ///
    /// # Errors
    /// If it is missing or not valid.
    pub(super) fn open(watch: Target, pace: Pace) -> anyhow::Result<Self> {
        let poller = match watch {
            Target::Journal { file, at, latency } => {
                let player = JournalPlayer::open(&file, latency, pace.speed, at)?;
                return Ok(Self::Played(Box::new(player)));
            }
            Target::Machine { make, .. } => {
                return Ok(Self::Simulated(SimulatedMachine::start(make, pace.speed)?));
            }
            Target::Emulator(dir) => {
                let mut emulated = emulator::Emulated::open(&dir)?;
                let from = emulated.shown_source();
                Poller::start(from, pace.interval, move || PollAnswer::of_emulator(&mut emulated))?
            }
            Target::Daemon(control) => {
                let from = socket_shown(control.as_deref());
                Poller::start(from, pace.interval, move || {
                    PollAnswer::of_daemon(control.as_deref())
                })?
            }
        };
        Ok(Self::Polled(poller))
    }

    /// The scene now; of a journal at a time or its end, of a machine at its end.
    ///
    /// # Errors
    /// As of [`open`](Self::open), and if a machine fails.
    pub(super) fn once(watch: Target) -> anyhow::Result<Scene> {
        let mut history = History::new(POLLED_POINT_NANOS);
        let (from, answer) = match watch {
            Target::Journal { file, at, latency } => {
                return Ok(JournalPlayer::at(&file, latency, at)?);
            }
            Target::Machine { make, .. } => return machine::once(make),
            Target::Emulator(dir) => {
                let mut emulated = emulator::Emulated::open(&dir)?;
                // Two readings are needed for counts in a window.
                emulated.ask()?;
                std::thread::sleep(Duration::from_secs(1));
                (emulated.shown_source(), PollAnswer::of_emulator(&mut emulated)?)
            }
            Target::Daemon(control) => {
                let control = control.as_deref();
                (socket_shown(control), PollAnswer::of_daemon(control)?)
            }
        };
        let PollAnswer { status, decisions, losses } = answer;
        history.record(&status);
        let pace = String::new();
        Ok(Scene { status, decisions, losses, history, source: from, pace, note: None })
    }

    /// The newest scene; `None` if nothing is new.
    pub(super) fn take_new_scene(&mut self) -> Option<Scene> {
        match self {
            Self::Polled(source) => source.take_new_scene(),
            Self::Played(source) => source.take_new_scene(),
            Self::Simulated(source) => source.take_new_scene(),
        }
    }

    /// Whether it can be stepped through, forward and back.
    pub(super) fn is_journal(&self) -> bool {
        matches!(self, Self::Played(_))
    }

    /// Whether its thread panicked, which was printed.
    pub(super) fn has_broken_off(&self) -> bool {
        matches!(self, Self::Simulated(source) if source.has_broken_off())
    }

    /// Does what the user wants.
    pub(super) fn play(&mut self, play: PlayCommand) {
        match self {
            Self::Polled(source) => source.play(play),
            Self::Played(source) => source.play(play),
            Self::Simulated(source) => source.play(play),
        }
    }
}

fn socket_shown(control: Option<&Path>) -> String {
    shown(control.unwrap_or(Path::new(client::SOCKET)))
}

/// A journal at its end.
#[cfg(test)]
pub(super) fn journal_at_end(path: &Path) -> Result<Scene, fairways_command_kit::BadInput> {
    JournalPlayer::at(path, |_| None, None)
}
