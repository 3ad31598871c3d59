//! Where programs stand among those that run, and which names are taken: looked up, not searched for.

use std::collections::{BTreeMap, BTreeSet};

use super::Program;

/// Of the programs of a [`Status`](super::Status), which it does not own: kept along with every start and end.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// By domain and number, where each stood when it was last looked up. It has only moved down since.
    places: BTreeMap<(u32, u32), usize>,
    /// By domain.
    taken: BTreeSet<(u32, String)>,
    /// By domain and name, the first number that may be free; 2 where there is none.
    lowest: BTreeMap<(u32, String), u64>,
    /// By domain, who has a cluster.
    placed: BTreeMap<u32, Vec<u32>>,
}

/// What is known of the same programs is the same.
impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Index {
    /// A program starts, the last in order; under its own name, or a numbered one if another has that.
    pub(super) fn start(&mut self, place: usize, domain: u32, app: u32, name: String) -> String {
        self.places.insert((domain, app), place);
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
        // There are more numbers than programs.
        std::mem::take(&mut key.1)
    }

    /// A program is over.
    pub(super) fn end(&mut self, domain: u32, app: u32, name: &str) {
        self.places.remove(&(domain, app));
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

    /// Where a program stands among those that run.
    pub(super) fn place(&self, programs: &[Program], domain: u32, app: u32) -> Option<usize> {
        let then = *self.places.get(&(domain, app))?;
        let upto = programs.len().min(then.saturating_add(1));
        programs[..upto].iter().rposition(|of| (of.domain, of.app) == (domain, app))
    }

    /// The same, remembered.
    pub(super) fn seek(&mut self, programs: &[Program], domain: u32, app: u32) -> Option<usize> {
        let place = self.place(programs, domain, app)?;
        self.places.insert((domain, app), place);
        Some(place)
    }

    /// These have clusters in a domain from now on; who had one until now.
    pub(super) fn placed(&mut self, domain: u32, apps: Vec<u32>) -> Vec<u32> {
        self.placed.insert(domain, apps).unwrap_or_default()
    }
}
