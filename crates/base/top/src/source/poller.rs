//! Sources that are polled: a daemon, or an emulator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::{LONGEST, POLLED_POINT_NANOS, PlayCommand, PollAnswer, SHORTEST, Scene};
use crate::history::History;

/// Polls on a thread of its own, so that a slow answer blocks nothing else.
pub(crate) struct Poller {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Signals a new interval, a pause, or the end.
    wanted: Condvar,
}

struct State {
    interval: Duration,
    is_paused: bool,
    is_over: bool,
    /// The last scene; whether it was not taken yet.
    scene: Scene,
    is_new: bool,
}

impl State {
    fn pace(&self) -> String {
        if self.is_paused {
            return "paused".to_owned();
        }
        format!("every {}", humantime::format_duration(self.interval))
    }
}

impl Poller {
    /// Polls at once, and then every `interval`.
    ///
    /// # Errors
    /// If the first poll fails.
    pub(super) fn start(
        from: String,
        interval: Duration,
        mut ask: impl FnMut() -> anyhow::Result<PollAnswer> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let PollAnswer { status, decisions, losses } = ask()?;
        let mut history = History::new(POLLED_POINT_NANOS);
        history.record(&status);
        let (pace, note) = (String::new(), None);
        let scene = Scene { status, decisions, losses, history, source: from, pace, note };
        let (paused, over, is_new) = (false, false, true);
        let mut state = State { interval, is_paused: paused, is_over: over, scene, is_new };
        state.scene.pace = state.pace();
        let shared = Arc::new(Shared { state: Mutex::new(state), wanted: Condvar::new() });
        let here = Arc::clone(&shared);
        std::thread::Builder::new().name("asks".to_owned()).spawn(move || {
            while here.wait() {
                let answer = ask();
                let mut state = here.state.lock();
                let scene = &mut state.scene;
                match answer {
                    Ok(PollAnswer { status, decisions, losses }) => {
                        // Another process has taken its place.
                        if status.pid != scene.status.pid {
                            scene.history = History::new(POLLED_POINT_NANOS);
                        }
                        scene.history.record(&status);
                        (scene.status, scene.decisions) = (status, decisions);
                        scene.losses = losses;
                        scene.note = None;
                    }
                    Err(why) => scene.note = Some(format!("last known state; {why:#}")),
                }
                state.is_new = true;
            }
        })?;
        Ok(Self { shared })
    }

    /// The scene, if it is new.
    pub(super) fn take_new_scene(&mut self) -> Option<Scene> {
        let mut state = self.shared.state.lock();
        std::mem::take(&mut state.is_new).then(|| state.scene.clone())
    }

    pub(super) fn play(&mut self, play: PlayCommand) {
        let mut state = self.shared.state.lock();
        match play {
            PlayCommand::Pause => state.is_paused = !state.is_paused,
            PlayCommand::Faster => state.interval = (state.interval / 2).max(SHORTEST),
            PlayCommand::Slower => state.interval = (state.interval * 2).min(LONGEST),
            PlayCommand::Forward | PlayCommand::Back | PlayCommand::Start | PlayCommand::End => {
                return;
            }
        }
        state.scene.pace = state.pace();
        state.is_new = true;
        self.shared.wanted.notify_all();
    }
}

impl Shared {
    /// Waits until the next poll is due; false if the source is closed.
    fn wait(&self) -> bool {
        let began = Instant::now();
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return false;
            }
            let until = began + state.interval;
            if state.is_paused {
                self.wanted.wait(&mut state);
            } else if self.wanted.wait_until(&mut state, until).timed_out() {
                return true;
            }
        }
    }
}

impl Drop for Poller {
    /// The thread ends by itself, after the answer for which it waits.
    fn drop(&mut self) {
        self.shared.state.lock().is_over = true;
        self.shared.wanted.notify_all();
    }
}
