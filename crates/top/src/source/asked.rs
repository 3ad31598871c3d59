//! Those that are asked again and again: a daemon, or an emulator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairways_record::status::{Decision, Status};
use parking_lot::{Condvar, Mutex};

use super::{ASKED_POINT, LONGEST, Play, SHORTEST, Scene};
use crate::history::History;

/// Asks on a thread of its own, so that one who does not answer holds up nobody else.
pub(crate) struct Asked {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Something else is wanted.
    wanted: Condvar,
}

struct State {
    interval: Duration,
    paused: bool,
    over: bool,
    /// As it was last; whether that was looked at.
    scene: Scene,
    is_new: bool,
}

impl State {
    fn pace(&self) -> String {
        if self.paused {
            return "paused".to_owned();
        }
        format!("every {}", humantime::format_duration(self.interval))
    }
}

impl Asked {
    /// Asks at once, and then so often.
    ///
    /// # Errors
    /// If the first question is not answered.
    pub(super) fn start(
        from: String,
        interval: Duration,
        mut ask: impl FnMut() -> anyhow::Result<(Status, Vec<Decision>)> + Send + 'static,
    ) -> anyhow::Result<Self> {
        let (status, decisions) = ask()?;
        let mut history = History::new(ASKED_POINT);
        history.take(&status);
        let scene = Scene { status, decisions, history, from, pace: String::new(), note: None };
        let (paused, over, is_new) = (false, false, true);
        let mut state = State { interval, paused, over, scene, is_new };
        state.scene.pace = state.pace();
        let shared = Arc::new(Shared { state: Mutex::new(state), wanted: Condvar::new() });
        let here = Arc::clone(&shared);
        std::thread::Builder::new().name("asks".to_owned()).spawn(move || {
            while here.wait() {
                let told = ask();
                let mut state = here.state.lock();
                let scene = &mut state.scene;
                match told {
                    Ok((status, decisions)) => {
                        // Another one has taken its place.
                        if status.pid != scene.status.pid {
                            scene.history = History::new(ASKED_POINT);
                        }
                        scene.history.take(&status);
                        (scene.status, scene.decisions) = (status, decisions);
                        scene.note = None;
                    }
                    Err(why) => scene.note = Some(format!("as it was last; {why:#}")),
                }
                state.is_new = true;
            }
        })?;
        Ok(Self { shared })
    }

    /// What is new.
    pub(super) fn look(&mut self) -> Option<Scene> {
        let mut state = self.shared.state.lock();
        std::mem::take(&mut state.is_new).then(|| state.scene.clone())
    }

    pub(super) fn play(&mut self, play: Play) {
        let mut state = self.shared.state.lock();
        match play {
            Play::Pause => state.paused = !state.paused,
            Play::Faster => state.interval = (state.interval / 2).max(SHORTEST),
            Play::Slower => state.interval = (state.interval * 2).min(LONGEST),
            Play::Forward | Play::Back | Play::Start | Play::End => return,
        }
        state.scene.pace = state.pace();
        state.is_new = true;
        self.shared.wanted.notify_all();
    }
}

impl Shared {
    /// Waits until it is time to ask again; false if nobody wants to know any more.
    fn wait(&self) -> bool {
        let began = Instant::now();
        let mut state = self.state.lock();
        loop {
            if state.over {
                return false;
            }
            let until = began + state.interval;
            if state.paused {
                self.wanted.wait(&mut state);
            } else if self.wanted.wait_until(&mut state, until).timed_out() {
                return true;
            }
        }
    }
}

impl Drop for Asked {
    /// The thread ends by itself, after the answer for which it waits.
    fn drop(&mut self) {
        self.shared.state.lock().over = true;
        self.shared.wanted.notify_all();
    }
}
