//! Other groups that count threads of a program: those of others, and ours below them.

use std::collections::BTreeSet;

use fairways_resctrl::language::Reading;

use crate::counts::events::AddedCounts;
use crate::tree::mon_data::CountedPlace;
use crate::tree::{Tree, monitor_in};

/// An adopted monitoring group of others, with its counts.
#[derive(Debug, Default)]
pub(crate) struct Adopted {
    /// Its name here.
    pub(crate) name: String,
    /// Its maker's name for it.
    pub(crate) theirs: String,
    pub(crate) counts: AddedCounts,
    /// Threads in it at the last look that do not belong to the program. A new child does not until
    /// it is listed.
    pub(crate) strangers: BTreeSet<i32>,
}

impl Adopted {
    pub(crate) fn new(name: String, theirs: String) -> Self {
        Self { name, theirs, ..Self::default() }
    }

    /// The bytes that it occupies in a place, where it is in this class.
    pub(crate) fn occupancy(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, counts, .. } = self;
        counts.occupancy(tree, || monitor_in(class, name), place)
    }

    /// The bytes that it has moved through a place since it came, or was first read there.
    pub(crate) fn memory(&mut self, tree: &Tree, class: &str, place: CountedPlace) -> Reading {
        let Self { name, counts, .. } = self;
        counts.memory(tree, || monitor_in(class, name), place)
    }
}

/// Threads of a program that stay in one group of others, and the group that counts them.
#[derive(Debug)]
pub(crate) struct StayingThreads {
    /// The path of that group: a class, or a monitoring group.
    pub(crate) theirs: String,
    /// The name of our monitoring group in it; `None` if theirs is a monitoring group, which is
    /// read itself.
    pub(crate) ours: Option<String>,
    /// `st_ino` of the group that counts them.
    pub(crate) inode: u64,
    pub(crate) counts: AddedCounts,
    /// The threads, as last listed.
    pub(crate) threads: BTreeSet<i32>,
    /// Threads in the counting group that did not belong to the program at the last look. A new
    /// child does not until it is listed.
    pub(crate) strangers: BTreeSet<i32>,
}

impl StayingThreads {
    pub(crate) fn new(theirs: String, ours: Option<String>, inode: u64) -> Self {
        let (threads, strangers) = (BTreeSet::new(), BTreeSet::new());
        Self { theirs, ours, inode, counts: AddedCounts::default(), threads, strangers }
    }

    /// The path of the group that counts them.
    pub(crate) fn counting_group(&self) -> String {
        counting_group(&self.theirs, self.ours.as_deref())
    }

    /// The bytes that they occupy in a place.
    pub(crate) fn occupancy(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        let Self { theirs, ours, counts, .. } = self;
        counts.occupancy(tree, || counting_group(theirs, ours.as_deref()), place)
    }

    /// The bytes that they have moved through a place since they were first counted there.
    pub(crate) fn memory(&mut self, tree: &Tree, place: CountedPlace) -> Reading {
        let Self { theirs, ours, counts, .. } = self;
        counts.memory(tree, || counting_group(theirs, ours.as_deref()), place)
    }
}

fn counting_group(theirs: &str, ours: Option<&str>) -> String {
    ours.map_or_else(|| theirs.to_owned(), |name| monitor_in(theirs, name))
}
