//! Watches every program in windows, whichever policy runs.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Action, AppId, Event, Latencies, Policy, Time, WindowLength};

use crate::Attribution;

/// The length of a window that the policy did not request.
pub const WINDOW: Duration = Duration::from_millis(100);

/// The first windows of a program are shorter: while it fills the cache, they show its miss ratio
/// at each size.
pub const FIRST_WINDOW: Duration = Duration::from_millis(4);

/// How many first windows are short.
pub const FIRST_WINDOWS: u32 = 50;

/// A policy, and an attribution that reads the same events. Programs that the policy does not watch
/// get windows of [`WINDOW`]. The policy does not see those, so it decides as it would without the
/// attribution.
pub struct WatchedPolicy {
    policy: Box<dyn Policy>,
    /// What is known of its programs' losses.
    pub attribution: Attribution,
    programs: Vec<Watching>,
}

/// How a program is watched.
#[derive(Clone, Copy, Debug)]
struct Watching {
    app: AppId,
    by_policy: bool,
    /// Short windows still to come.
    first_windows: u32,
}

impl WatchedPolicy {
    /// A policy whose events `attribution` takes in.
    pub fn new(policy: Box<dyn Policy>, attribution: Attribution) -> Self {
        Self { policy, attribution, programs: Vec::new() }
    }

    fn watching(&mut self, app: AppId) -> Option<&mut Watching> {
        self.programs.iter_mut().find(|one| one.app == app)
    }

    /// Handles a window; returns whether the policy requested it.
    fn is_requested(&mut self, app: AppId, act: &mut dyn FnMut(Action<'_>)) -> bool {
        let Some(watching) = self.watching(app).filter(|one| !one.by_policy) else { return true };
        if watching.first_windows > 0 {
            watching.first_windows -= 1;
            if watching.first_windows == 0 {
                act(Action::Watch { app, every: WindowLength::Time(WINDOW) });
            }
        }
        false
    }
}

impl Policy for WatchedPolicy {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.attribution.handle(at, event);
        match *event {
            Event::Started { app, .. } => {
                self.programs.retain(|one| one.app != app);
                let first_windows = FIRST_WINDOWS;
                self.programs.push(Watching { app, by_policy: false, first_windows });
            }
            Event::Exited { app } => self.programs.retain(|one| one.app != app),
            Event::Sampled(sample) if !self.is_requested(sample.app, act) => return,
            // These latencies come with a window that the policy did not request.
            Event::Latency(Latencies { app, .. })
                if self.watching(app).is_some_and(|one| !one.by_policy) =>
            {
                return;
            }
            _ => {}
        }
        let programs = &mut self.programs;
        self.policy.handle(at, event, &mut |action| {
            if let Action::Watch { app, .. } = action {
                programs
                    .iter_mut()
                    .filter(|one| one.app == app)
                    .for_each(|one| one.by_policy = true);
            }
            act(action);
        });
        if let Event::Started { app, .. } = *event
            && self.watching(app).is_some_and(|one| !one.by_policy)
        {
            act(Action::Watch { app, every: WindowLength::Time(FIRST_WINDOW) });
        }
    }
}
