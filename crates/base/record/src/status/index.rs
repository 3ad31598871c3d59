//! Looks up the position of programs among those that run, and the names in use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ProgramStatus;

/// The index of the programs of a [`Status`](super::Status); updated with every start and end.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// By domain and number: the position at the last look-up, and the name. Positions only
    /// decrease.
    positions: BTreeMap<(u32, u32), (usize, Arc<str>)>,
    /// The names in use, by domain.
    taken: BTreeSet<(u32, String)>,
    /// By domain and name: the first number that may be free; 2 if there is no entry.
    lowest: BTreeMap<(u32, String), u64>,
    /// By domain, the programs in clusters.
    placed: BTreeMap<u32, Vec<u32>>,
}

/// Always equal: the index follows from the programs, which are compared themselves.
impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Index {
    /// Adds a program at the end, and returns its name: its own, or a numbered one if that is in
    /// use.
    pub(super) fn start(&mut self, place: usize, domain: u32, app: u32, name: String) -> String {
        let name = self.free_name(domain, name);
        self.positions.insert((domain, app), (place, name.as_str().into()));
        name
    }

    /// Takes a name: this one, or a numbered one if it is in use.
    fn free_name(&mut self, domain: u32, name: String) -> String {
        let mut key = (domain, name);
        if self.taken.insert(key.clone()) {
            return key.1;
        }
        let lowest = self.lowest.get(&key).copied().unwrap_or(2);
        for number in lowest.. {
            let numbered = (domain, format!("{}#{number}", key.1));
            if self.taken.insert(numbered.clone()) {
                self.lowest.insert(key, number + 1);
                return numbered.1;
            }
        }
        // Never reached: there are more numbers than programs.
        std::mem::take(&mut key.1)
    }

    /// Removes a program.
    pub(super) fn end(&mut self, domain: u32, app: u32, name: &str) {
        self.positions.remove(&(domain, app));
        self.taken.remove(&(domain, name.to_owned()));
        let Some((base, number)) = name.rsplit_once('#') else { return };
        let Ok(number @ 2..) = number.parse::<u64>() else { return };
        let key = (domain, base.to_owned());
        match self.lowest.get_mut(&key) {
            Some(lowest) if number < *lowest && number > 2 => *lowest = number,
            Some(lowest) if number < *lowest => drop(self.lowest.remove(&key)),
            _ => {}
        }
    }

    /// The position of a program among those that run.
    pub(super) fn position(
        &self,
        programs: &[ProgramStatus],
        domain: u32,
        app: u32,
    ) -> Option<usize> {
        self.named(programs, domain, app).map(|(place, _)| place)
    }

    /// Like [`position`](Self::position), with the program's name.
    pub(super) fn named(
        &self,
        programs: &[ProgramStatus],
        domain: u32,
        app: u32,
    ) -> Option<(usize, &Arc<str>)> {
        let (then, name) = self.positions.get(&(domain, app))?;
        let upto = programs.len().min(then.saturating_add(1));
        let place = programs[..upto]
            .iter()
            .rposition(|program| (program.domain, program.app) == (domain, app))?;
        Some((place, name))
    }

    /// Like [`position`](Self::position), and remembers the result.
    pub(super) fn look_up(
        &mut self,
        programs: &[ProgramStatus],
        domain: u32,
        app: u32,
    ) -> Option<usize> {
        let place = self.position(programs, domain, app)?;
        if let Some((at, _)) = self.positions.get_mut(&(domain, app)) {
            *at = place;
        }
        Some(place)
    }

    /// Sets the programs that have clusters in a domain, and returns the previous ones.
    pub(super) fn set_placed(&mut self, domain: u32, apps: Vec<u32>) -> Vec<u32> {
        self.placed.insert(domain, apps).unwrap_or_default()
    }
}
