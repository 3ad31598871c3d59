//! Records changes before they are made.

pub(crate) mod borrowed_groups;
pub(crate) mod leftover;
pub(crate) mod mount;
pub(crate) mod put_back;
pub(crate) mod recover;
pub(crate) mod taken_threads;

use fairways_ledger::Book;
use serde::{Deserialize, Serialize};

use crate::tree::Tree;

const VERSION: u32 = 2;

/// Everything that Fairways has made or changed, or was about to, in one mounted resctrl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ledger {
    version: u32,
    /// `/proc/sys/kernel/random/boot_id`: after another boot, these changes no longer exist.
    pub(crate) boot: String,
    /// Where the mount was, for messages.
    pub(crate) root: String,
    /// `st_dev` of the mount; a later mount may have the same.
    pub(crate) device: u64,
    /// `st_ino` of its `info`. Another mount may have the same, where kernfs numbers from the mount
    /// on. (The times of kernfs are those at which a file was looked up, as far as is known, and
    /// show nothing.)
    pub(crate) info: Option<u64>,
    pub(crate) groups: Vec<MadeGroup>,
    pub(crate) values: Vec<ChangedMask>,
    pub(crate) tasks: Vec<TakenThread>,
    pub(crate) borrowed: Vec<BorrowedGroup>,
    /// What devices filled (`io_alloc_cbm`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) io: Vec<ChangedMask>,
}

impl Ledger {
    /// An empty ledger for this boot and mount.
    pub(crate) fn new(boot: String, tree: &Tree, info: Option<u64>) -> Self {
        let (root, device) = (tree.root().display().to_string(), tree.device());
        Self { version: VERSION, boot, root, device, info, ..Self::default() }
    }

    /// Whether it has a group of this name, which may be left from an earlier run; a new group must
    /// then have another name.
    pub(crate) fn has_group(&self, name: &str) -> bool {
        self.groups.iter().any(|made| made.name == name)
    }

    /// Removes this group, which is gone, but no other group of its name.
    pub(crate) fn strike(&mut self, gone: &MadeGroup) {
        if let Some(at) = self.groups.iter().position(|made| made == gone) {
            self.groups.remove(at);
        }
    }
}

/// A group, identified by its name and its inode together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MadeGroup {
    /// Its name; for a MON group, without its class. Two have the same name while a program moves
    /// from one class to another.
    pub(crate) name: String,
    /// Whether it is a MON group.
    pub(crate) monitors: bool,
    /// `st_ino`, by which another group of that name is recognized; `null` until it was made.
    pub(crate) inode: Option<u64>,
}

/// A mask of the root's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangedMask {
    /// The line of `schemata`.
    pub(crate) line: String,
    pub(crate) domain: u32,
    /// The mask's bits before.
    pub(crate) before: u32,
    /// The masks that were written, or may have been, the last one last.
    pub(crate) ours: Vec<u32>,
}

/// Records that this mask replaces `was`. If others have written to it since the last time, their
/// mask is the one to restore.
pub(crate) fn note_change(
    changes: &mut Vec<ChangedMask>,
    line: &str,
    domain: u32,
    was: u32,
    mask: u32,
) {
    match changes.iter_mut().find(|of| of.line == line && of.domain == domain) {
        Some(of) if of.ours.contains(&was) || of.before == was => {
            if !of.ours.contains(&mask) {
                of.ours.push(mask);
            }
        }
        Some(of) => (of.before, of.ours) = (was, vec![mask]),
        None if was == mask => {}
        None => {
            changes.push(ChangedMask {
                line: line.to_owned(),
                domain,
                before: was,
                ours: vec![mask],
            });
        }
    }
}

/// A thread that was in another manager's group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TakenThread {
    pub(crate) thread: i32,
    /// When it started, by which another thread of that id is recognized (proc_pid_stat(5), field
    /// 22; clock ticks since boot).
    pub(crate) started: u64,
    /// The path of the group that it was in.
    pub(crate) group: String,
    /// That group's `st_ino`.
    pub(crate) inode: u64,
}

/// A MON group that another manager made in the root's group, and that is in a class of ours, or in
/// the root's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BorrowedGroup {
    /// Its name here.
    pub(crate) name: String,
    /// Its name before, in the root's `mon_groups`.
    pub(crate) theirs: String,
    /// Its `st_ino`, which rename(2) keeps.
    pub(crate) inode: u64,
}

impl Book for Ledger {
    const NAME: &'static str = "resctrl";
    const VERSION: u32 = VERSION;

    fn version(&self) -> u32 {
        self.version
    }

    fn is_empty(&self) -> bool {
        let Self { groups, values, tasks, borrowed, io, .. } = self;
        let are_masks_as_before = values.is_empty() && io.is_empty();
        groups.is_empty() && are_masks_as_before && tasks.is_empty() && borrowed.is_empty()
    }

    fn check(&self) -> Result<(), String> {
        self.groups.iter().try_for_each(|made| ours(&made.name))?;
        self.values.iter().chain(&self.io).try_for_each(|value| line(&value.line))?;
        self.tasks.iter().try_for_each(|task| group(&task.group))?;
        self.borrowed.iter().try_for_each(|of| {
            ours(&of.name)?;
            group(&format!("mon_groups/{}", of.theirs))
        })
    }
}

/// The state directory, with the changes of resctrl that are to be restored.
pub(crate) type State = fairways_ledger::State<Ledger>;

/// Checks that a name is one of our groups' names: a name and no path.
fn ours(name: &str) -> Result<(), String> {
    let is_name = name.starts_with("fairways.") && is_plain(name);
    is_name.then_some(()).ok_or_else(|| format!("expected a group `fairways.*`, found {name:?}"))
}

/// Checks that a path is a group's: the root's, a class, or a monitoring group in one of these.
fn group(path: &str) -> Result<(), String> {
    let names: Vec<&str> = path.split('/').collect();
    let is_group = match names[..] {
        [class] => class.is_empty() || is_plain(class),
        ["mon_groups", monitor] => is_plain(monitor),
        [class, "mon_groups", monitor] => is_plain(class) && is_plain(monitor),
        _ => false,
    };
    is_group.then_some(()).ok_or_else(|| format!("expected a group, found {path:?}"))
}

fn is_plain(name: &str) -> bool {
    !["", ".", ".."].contains(&name) && !name.contains(['/', '\0', '\n'])
}

fn line(name: &str) -> Result<(), String> {
    let is_line = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_line.then_some(()).ok_or_else(|| format!("expected a line of schemata, found {name:?}"))
}

/// Any bytes as the ledger of resctrl (fuzz/README.md).
#[cfg(any(test, feature = "fuzzing"))]
pub fn fuzz(bytes: &[u8]) {
    fairways_ledger::fuzz::any::<Ledger>(bytes);
}

#[cfg(test)]
mod tests {
    #[test]
    fn ledgers() {
        fairways_testing::corpora::run("ledger", 50, super::fuzz);
    }
}
