//! The entries of the list, and what they select.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;

use super::connector::Connector;
use super::dirs::{Matches, WantedIndex, matched};
use super::tree::Forest;
use super::{Programs, Selector, Wanted};

impl Programs {
    /// Replaces the list. The programs of an entry that stays, by name, selector and `each`, keep
    /// their keys; the next look reports the changes, by numbers of the new list.
    ///
    /// # Errors
    /// As [`new`](Self::new); the list is then as before.
    pub fn set_wanted(&mut self, wanted: Vec<Wanted>) -> io::Result<()> {
        if wanted.iter().any(|wanted| wanted.selector.selects_cgroups()) {
            self.open_forest()?;
        }
        // Steps that can fail come before the list is replaced.
        self.watcher.set_pending()?;
        self.pods.refresh_for(&wanted);
        if self.forest.is_some() && !wanted.iter().any(|wanted| wanted.selector.selects_cgroups()) {
            self.forest = None;
        }
        if wanted.iter().all(|wanted| wanted.selector.selects_cgroups()) {
            self.connector = None;
        } else if self.connector.is_none() && self.proc.own {
            self.connector = self.connect();
        }
        let now = follow(&self.wanted, &wanted);
        self.table.set_wanted(&wanted, &now);
        let mut numbers = vec![0; wanted.len()];
        for (&number, now) in self.numbers.iter().zip(&now) {
            if let Some(now) = *now {
                numbers[now] = number;
            }
        }
        self.ids.take();
        for ((old, of), program) in std::mem::take(&mut self.programs) {
            match now.get(old) {
                Some(&Some(now)) => {
                    self.programs.insert((now, of), program);
                }
                _ => self.unwanted.push(program.key),
            }
        }
        self.index = WantedIndex::new(&wanted);
        (self.wanted, self.numbers, self.scan) = (wanted, numbers, true);
        (self.has_changed, self.is_stale, self.regroup) = (true, true, true);
        self.rematch();
        Ok(())
    }

    /// Adds an entry at the list's end: containers whose pods ask to be part of the program of this
    /// name. The next look finds those that run already.
    ///
    /// # Errors
    /// As [`new`](Self::new); the list is then as before.
    pub fn add_asked(&mut self, name: &str) -> io::Result<usize> {
        self.open_forest()?;
        self.watcher.set_pending()?;
        let selector = Selector::Asked(name.to_owned());
        let wanted = Wanted { name: name.to_owned(), selector, each: false };
        let at = self.wanted.len();
        self.index.add(at, &wanted);
        self.table.add_cgroups_wanted();
        self.numbers.push(0);
        self.wanted.push(wanted);
        self.rematches = true;
        Ok(at)
    }

    /// Finds the cgroups, if that was not done before.
    fn open_forest(&mut self) -> io::Result<()> {
        if self.forest.is_some() {
            return Ok(());
        }
        let forest = Forest::open(&self.proc, &self.roots.cgroup)?;
        if let Some(fd) = forest.attention() {
            self.watcher.watch(fd)?;
        }
        tracing::info!(
            hierarchies = forest.trees.len(),
            watched = forest.is_watched(),
            "cgroups are searched"
        );
        self.forest = Some(forest);
        Ok(())
    }

    fn connect(&self) -> Option<Connector> {
        let opened = Connector::open().and_then(|connector| {
            self.watcher.watch(connector.as_fd())?;
            Ok(connector)
        });
        match opened {
            Ok(connector) => {
                tracing::info!("the proc connector reports processes");
                Some(connector)
            }
            Err(error) => {
                tracing::info!(%error, "processes are looked for: the proc connector is refused");
                None
            }
        }
    }

    /// Finds which cgroups and which announced containers the entries select.
    pub(super) fn rematch(&mut self) {
        self.rematched = true;
        self.rematch_announced();
        let trees = self.forest.as_ref().map_or(0, |forest| forest.trees.len());
        let mut all_before = std::mem::take(&mut self.matches);
        all_before.resize_with(trees, Matches::new);
        for (tree, before) in all_before.iter().enumerate() {
            let Some(forest) = &self.forest else { break };
            let now = matched(&self.wanted, &self.index, forest.paths(tree), &self.pods);
            let others = now.iter().filter(|(of, one)| before.get(*of) != Some(*one));
            let gone = before.iter().filter(|(of, _)| !now.contains_key(*of));
            for ((at, name), _) in others.chain(gone) {
                // An entry that is gone has no program.
                if *at < self.wanted.len() {
                    let id = self.id_of(*at, name);
                    self.regrouped.insert(id);
                }
            }
            self.matches.push(now);
        }
    }
}

/// Where each entry of the old list is in the new one, if it is there.
fn follow(before: &[Wanted], now: &[Wanted]) -> Vec<Option<usize>> {
    let mut places: HashMap<&Wanted, usize> = HashMap::new();
    for (at, new) in now.iter().enumerate() {
        places.entry(new).or_insert(at);
    }
    before.iter().map(|old| places.get(old).copied()).collect()
}
