//! The open windows, and when to look at each.

use std::collections::BTreeMap;

use fairways_core::{AppId, Time};

use super::agenda::Deadlines;
use super::windows::{Window, WindowLooks};

/// A domain, and a program in it.
pub(super) type WindowKey = (u32, AppId);

/// The open windows.
#[derive(Default)]
pub(super) struct WindowTable {
    by_key: BTreeMap<WindowKey, Window>,
    /// In the same order. Kept apart from the windows, which are large: all of these are scanned
    /// whenever the machine wakes.
    looks: Vec<(WindowKey, WindowLooks)>,
}

impl WindowTable {
    pub(super) fn get(&self, key: WindowKey) -> Option<&Window> {
        self.by_key.get(&key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&WindowKey, &Window)> {
        self.by_key.iter()
    }

    /// Begins a window; it replaces one of the same key.
    pub(super) fn insert(&mut self, key: WindowKey, window: Window) {
        let looks = window.looks();
        match self.place(key) {
            Ok(place) => self.looks[place].1 = looks,
            Err(place) => self.looks.insert(place, (key, looks)),
        }
        self.by_key.insert(key, window);
    }

    /// Changes a window, if there is one.
    pub(super) fn change<T>(
        &mut self,
        key: WindowKey,
        what: impl FnOnce(&mut Window) -> T,
    ) -> Option<T> {
        let window = self.by_key.get_mut(&key)?;
        let done = what(window);
        let looks = window.looks();
        if let Ok(place) = self.place(key) {
            self.looks[place].1 = looks;
        }
        Some(done)
    }

    pub(super) fn remove(&mut self, key: WindowKey) {
        self.by_key.remove(&key);
        if let Ok(place) = self.place(key) {
            self.looks.remove(place);
        }
    }

    /// Removes all of a domain.
    pub(super) fn leave(&mut self, domain: u32) {
        self.by_key.retain(|&(id, _), _| id != domain);
        self.looks.retain(|&((id, _), _)| id != domain);
    }

    /// Records that another plan came into force in a domain.
    pub(super) fn straddle(&mut self, domain: u32, now: Time) {
        for (_, window) in self.by_key.iter_mut().filter(|&(&(id, _), _)| id == domain) {
            window.common.straddle(now);
        }
    }

    /// Finds the windows that are due, in the order of their keys; `by_instructions` if the clock
    /// notices retired instructions.
    pub(super) fn find_due(&self, now: Time, by_instructions: bool, due: &mut Vec<WindowKey>) {
        if by_instructions {
            let over = self.by_key.iter().filter(|(_, window)| window.is_due(now, true));
            due.extend(over.map(|(&key, _)| key));
            return;
        }
        for &(key, looks) in &self.looks {
            let window = self.by_key.get(&key).filter(|_| looks.from <= now);
            if window.is_some_and(|window| window.is_due(now, false)) {
                due.push(key);
            }
        }
    }

    /// Adds the times at which windows end.
    pub(super) fn add_deadlines(&self, deadlines: &mut Deadlines, by_instructions: bool) {
        for &((domain, app), looks) in &self.looks {
            let count = if by_instructions && looks.about < WindowLooks::NEVER.about {
                self.by_key.get(&(domain, app)).and_then(Window::ends_at)
            } else {
                None
            };
            match count {
                Some(count) => deadlines.instructions.push((app, count)),
                None => deadlines.about = deadlines.about.min(looks.about),
            }
            deadlines.until = deadlines.until.min(looks.until);
        }
    }

    fn place(&self, key: WindowKey) -> Result<usize, usize> {
        self.looks.binary_search_by_key(&key, |&(other, _)| other)
    }
}
