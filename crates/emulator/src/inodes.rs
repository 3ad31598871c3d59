//! Inode numbers: stable while a file is there, and never used again.

use std::collections::HashMap;
use std::time::SystemTime;

use fairways_resctrl::rules::Node;

/// The root's, by FUSE's convention.
pub(crate) const ROOT: u64 = 1;

/// Files and their numbers.
#[derive(Debug)]
pub(crate) struct Inodes {
    numbers: HashMap<Node, u64>,
    entries: HashMap<u64, Entry>,
    next: u64,
    /// How many there may be before those are looked for that are gone.
    sweep_at: usize,
}

/// A file that has a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) node: Node,
    /// Since when.
    pub(crate) since: SystemTime,
    /// How often the kernel was told of it, and has not forgotten.
    lookups: u64,
}

/// Fewer are not worth a look.
const FEW: usize = 4096;

impl Inodes {
    pub(crate) fn new(root: Node) -> Self {
        let mut inodes =
            Self { numbers: HashMap::new(), entries: HashMap::new(), next: ROOT, sweep_at: FEW };
        inodes.number(root);
        inodes
    }

    /// Another root is mounted in place of the one before.
    pub(crate) fn root_is(&mut self, node: Node) {
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

    /// The kernel is told of a file.
    pub(crate) fn told(&mut self, number: u64) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.lookups += 1;
        }
    }

    /// The kernel forgets that it was told so often.
    pub(crate) fn forget(&mut self, number: u64, lookups: u64) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.lookups = entry.lookups.saturating_sub(lookups);
        }
    }

    /// Gives up the numbers of files that are gone and that the kernel does not know, when they have become many.
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
