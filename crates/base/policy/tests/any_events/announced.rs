//! Checks what policies announce about programs: only about those that run, in the order of
//! decisions, and nothing twice.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fairways_core::{Action, AppId, Event, Q32, ThreadId};
use fairways_policy::words;

/// The announced classes and numbers.
pub(crate) struct Announced {
    /// Whether the policy gives out ways, and whether it may decide twice about one event.
    partitions: bool,
    twice: bool,
    classes: BTreeMap<AppId, (&'static str, &'static str)>,
    numbers: BTreeMap<(ThreadId, &'static str), (Q32, i64)>,
    /// Since the last event or plan: the programs and words of announced numbers.
    numbered: Vec<(AppId, &'static str)>,
    /// Whether there was a plan since the last event.
    planned: bool,
}

impl Announced {
    pub(crate) const fn new(partitions: bool, twice: bool) -> Self {
        Self {
            partitions,
            twice,
            classes: BTreeMap::new(),
            numbers: BTreeMap::new(),
            numbered: Vec::new(),
            planned: false,
        }
    }

    /// Something happened.
    pub(crate) fn event(&mut self, event: &Event) {
        self.numbered.clear();
        self.planned = false;
        if let Event::Exited { app } = event {
            self.classes.remove(app);
            self.numbers.retain(|(thread, _), _| thread.app != *app);
        }
    }

    /// The policy took this action.
    pub(crate) fn action(&mut self, action: &Action<'_>, running: &[AppId]) {
        match action.clone() {
            Action::Partition { reason, .. } => {
                assert!(!reason.is_empty());
                self.numbered.clear();
                self.planned = true;
            }
            Action::Allow { reason, .. }
            | Action::Priority { reason, .. }
            | Action::Quantum { reason, .. } => assert!(!reason.is_empty()),
            Action::Classified { app, class, reason } => {
                let (class, reason) = (static_text(class), static_text(reason));
                assert!(running.contains(&app) && !class.is_empty() && !reason.is_empty());
                let before = self.classes.insert(app, (class, reason));
                if self.partitions {
                    let void = self.numbers.keys().any(|(thread, _)| thread.app == app);
                    assert!(before != Some((class, reason)) || void, "{app} is announced twice");
                    let has_numbers = self.numbered.iter().any(|&(of, _)| of == app);
                    assert!(!has_numbers, "the class of {app} stands behind its numbers");
                    self.numbers.retain(|(thread, _), _| thread.app != app);
                    self.before_the_plan(action);
                }
            }
            Action::Estimated { thread, what, value, raw } => {
                let what = static_text(what);
                assert!(running.contains(&thread.app) && words::ALL.contains(&what), "{action:?}");
                let before = self.numbers.insert((thread, what), (value, raw));
                if self.partitions {
                    assert!(!words::outlives_class(what), "{action:?}");
                    assert_ne!(before, Some((value, raw)), "{action:?} is announced twice");
                    assert!(!self.numbered.contains(&(thread.app, what)), "two of {action:?}");
                    self.numbered.push((thread.app, what));
                    self.before_the_plan(action);
                }
            }
            Action::Watch { .. } | Action::WatchTogether { .. } | Action::Wake { .. } => {}
        }
    }

    fn before_the_plan(&self, action: &Action<'_>) {
        assert!(!self.planned || self.twice, "{action:?} stands behind its plan");
    }
}

/// A text that a policy announces, which must be static.
fn static_text(text: Cow<'static, str>) -> &'static str {
    match text {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => panic!("{text:?} was made up"),
    }
}
