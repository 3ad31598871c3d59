//! Programs of several threads. The paper's windows are each thread's (§5.2: "we sample performance
//! counters every 100M instructions"); a machine counts those of all of a program's threads.
//!
//! Decision LFOC 22: a window is so many instructions for each thread that runs at a time, in the
//! mean. Rates need nothing: cycles are counted of all threads, too, so they are means of threads.

use fairways_core::{Action, AppId, Q32, Sample, WindowLength};

use super::Lfoc;
use super::monitor::Learner;

impl Lfoc {
    /// Watches a program in windows of so many instructions of each of its threads.
    pub(super) fn watch(&self, app: AppId, window: u64, act: &mut dyn FnMut(Action<'_>)) {
        let threads = self.learners.get(app).map_or(1, |learner| learner.threads);
        let instructions = window.saturating_mul(threads.into());
        act(Action::Watch { app, every: WindowLength::Instructions(instructions) });
    }

    /// Whether a window is long enough for the threads that ran in it. Where they are not as many
    /// as it was asked for, those that follow are asked for as many.
    pub(super) fn fits(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) -> bool {
        let (app, p) = (sample.app, &self.parameters);
        let running = sample.counters.running_threads(sample.window);
        let (Some(learner), Some(running)) = (self.learners.get_mut(app), running) else {
            return true;
        };
        let Some(change) = learner.take_threads(running) else { return true };
        let is_sampled = self.session.as_ref().is_some_and(|session| session.app == app);
        let window = if is_sampled { p.sampling_window } else { p.normal_window };
        self.watch(app, window, act);
        change == Change::Fewer
    }
}

/// How the threads that run at a time have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    More,
    Fewer,
}

impl Learner {
    /// Takes in how many threads ran at a time; whether they are others than before by more than a
    /// quarter and half a thread. By less, windows would be given up for a thread that now runs and
    /// now sleeps.
    fn take_threads(&mut self, running: Q32) -> Option<Change> {
        let (one, running) = (u128::from(Q32::ONE.raw()), u128::from(running.raw()));
        let asked = u128::from(self.threads);
        let change = if 4 * running > (5 * asked + 2) * one {
            Change::More
        } else if 4 * running + 2 * one < 3 * asked * one {
            Change::Fewer
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
