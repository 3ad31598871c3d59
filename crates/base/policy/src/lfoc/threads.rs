//! Programs of several threads. The paper's windows are those of a thread (§5.2: "we sample
//! performance counters every 100M instructions"); a machine counts the instructions of all threads
//! of a program.
//!
//! Decision LFOC 22: a window has that many instructions for each thread that runs at a time, on
//! average. Rates need no correction: cycles are also counted over all threads, so rates are means
//! over threads.

use fairways_core::{Action, AppId, Q32, Sample, WindowLength};

use super::Lfoc;
use super::monitor::Learner;

impl Lfoc {
    /// Watches a program in windows of `window` instructions of each of its threads.
    pub(super) fn watch(&self, app: AppId, window: u64, act: &mut dyn FnMut(Action<'_>)) {
        let threads = self.learners.get(app).map_or(1, |learner| learner.threads);
        let instructions = window.saturating_mul(threads.into());
        act(Action::Watch { app, every: WindowLength::Instructions(instructions) });
    }

    /// Whether a window is long enough for the threads that ran in it. If their number is not the
    /// one that the window was requested for, the next windows are requested for their number.
    pub(super) fn fits(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) -> bool {
        let (app, p) = (sample.app, &self.parameters);
        let running = sample.counters.running_threads(sample.window);
        let (Some(learner), Some(running)) = (self.learners.get_mut(app), running) else {
            return true;
        };
        let Some(change) = learner.update_threads(running) else { return true };
        let is_sampled = self.session.as_ref().is_some_and(|session| session.app == app);
        let window = if is_sampled { p.sampling_window } else { p.normal_window };
        self.watch(app, window, act);
        change == ThreadChange::Fewer
    }
}

/// How the number of running threads has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadChange {
    More,
    Fewer,
}

impl Learner {
    /// Handles how many threads ran at a time. Returns a change if they differ from before by more
    /// than a quarter and half a thread. With a smaller margin, windows would be given up because
    /// of a thread that runs and sleeps in turn.
    fn update_threads(&mut self, running: Q32) -> Option<ThreadChange> {
        let (one, running) = (u128::from(Q32::ONE.raw()), u128::from(running.raw()));
        let expected = u128::from(self.threads);
        let change = if 4 * running > (5 * expected + 2) * one {
            ThreadChange::More
        } else if 4 * running + 2 * one < 3 * expected * one {
            ThreadChange::Fewer
        } else {
            return None;
        };
        let threads = u32::try_from((running + one / 2) / one).unwrap_or(u32::MAX).max(1);
        // A single thread that sleeps is still one.
        let is_another = threads != self.threads;
        self.threads = threads;
        is_another.then_some(change)
    }
}
