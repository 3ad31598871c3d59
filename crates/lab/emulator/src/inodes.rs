//! Inode numbers: stable while a file exists, and never used again.

use std::collections::HashMap;
use std::time::SystemTime;

use fairways_resctrl_rules::rules::Node;

/// The root's, by FUSE's convention.
pub(crate) const ROOT: u64 = 1;

/// Files and their numbers.
#[derive(Debug)]
pub(crate) struct Inodes {
    numbers: HashMap<Node, u64>,
    entries: HashMap<u64, Entry>,
    next: u64,
    /// How many entries there may be before a sweep for files that are gone.
    sweep_at: usize,
}

/// A file that has a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) node: Node,
    /// Since when.
    pub(crate) since: SystemTime,
    /// How often the kernel has looked it up, and not forgotten it.
    lookups: u64,
}

/// Fewer are not worth a sweep.
const FEW: usize = 4096;

impl Inodes {
    pub(crate) fn new(root: Node) -> Self {
        let mut inodes =
            Self { numbers: HashMap::new(), entries: HashMap::new(), next: ROOT, sweep_at: FEW };
        inodes.number(root);
        inodes
    }

    /// Replaces the mounted root.
    pub(crate) fn set_root(&mut self, node: Node) {
        if let Some(entry) = self.entries.get_mut(&ROOT) {
            self.numbers.remove(&entry.node);
            entry.node = node;
            self.numbers.insert(node, ROOT);
        }
    }

    /// The file with this number.
    pub(crate) fn get(&self, number: u64) -> Option<Entry> {
        self.entries.get(&number).copied()
    }

    /// A file's number.
    pub(crate) fn number(&mut self, node: Node) -> u64 {
        if let Some(&number) = self.numbers.get(&node) {
            return number;
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(node, number);
        self.entries.insert(number, Entry { node, since: SystemTime::now(), lookups: 0 });
        number
    }

    /// Counts a lookup of a file by the kernel.
    pub(crate) fn count_lookup(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.lookups += 1;
        }
    }

    /// The kernel forgets that many lookups.
    pub(crate) fn forget(&mut self, number: u64, lookups: u64) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.lookups = entry.lookups.saturating_sub(lookups);
        }
    }

    /// Drops the numbers of files that are gone and that the kernel does not know, when they have
    /// become many.
    pub(crate) fn sweep(&mut self, is_there: impl Fn(Node) -> bool) {
        if self.entries.len() < self.sweep_at {
            return;
        }
        let Self { numbers, entries, .. } = self;
        entries
            .retain(|&number, entry| number == ROOT || entry.lookups > 0 || is_there(entry.node));
        numbers.retain(|_, number| entries.contains_key(number));
        self.sweep_at = FEW.max(2 * self.entries.len());
    }
}
