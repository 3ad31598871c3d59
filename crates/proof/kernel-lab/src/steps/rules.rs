//! The rules of `fairways-resctrl`, with as much of a file system around them as steps can detect.

use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::{Event, Platform};
use fairways_resctrl_rules::rules::{Attributes, Caller, Class, Node, Owner, Resctrl, World};

use super::{Entry, Errno, LABELS, Target};

const EPERM: Errno = Errno(1);
const ENOENT: Errno = Errno(2);
const EACCES: Errno = Errno(13);
const EBUSY: Errno = Errno(16);
const EEXIST: Errno = Errno(17);
const ENOTDIR: Errno = Errno(20);
const EISDIR: Errno = Errno(21);
const EINVAL: Errno = Errno(22);
const ENOTEMPTY: Errno = Errno(39);

/// The id of the first labelled task; the others follow.
const FIRST: i32 = 20_001;

/// How often the kernel checks whether RMIDs are clean, in milliseconds.
const LIMBO: u64 = 1_000;

type Answer<T> = Result<T, Errno>;

/// The rules as a target.
#[derive(Debug)]
pub struct Rules {
    resctrl: Resctrl,
    user: u32,
}

/// The labelled tasks and the first process; counters that count nothing.
struct Tasks;

impl World for Tasks {
    fn owner(&mut self, thread: i32) -> Option<Owner> {
        let user = match usize::try_from(thread - FIRST) {
            _ if thread == 1 => 0,
            Ok(i) => LABELS.get(i)?.user,
            Err(_) => return None,
        };
        Some(Owner { uid: user, suid: user })
    }

    fn threads(&mut self) -> Vec<i32> {
        ids().map(|(_, id)| id).chain([1]).collect()
    }

    fn counter(&mut self, _: Class, _: u32, _: Event) -> Reading {
        Reading::Value(0)
    }
}

fn ids() -> impl Iterator<Item = (&'static str, i32)> {
    LABELS.iter().map(|label| label.name).zip(FIRST..)
}

fn answer<T>(result: Result<T, fairways_resctrl_rules::rules::Errno>) -> Answer<T> {
    result.map_err(|errno| Errno(errno.code()))
}

impl Rules {
    /// The machine just booted.
    #[must_use]
    pub fn new(platform: Platform) -> Self {
        Self { resctrl: Resctrl::new(platform), user: 0 }
    }

    fn caller(&self) -> Caller {
        Caller { thread: FIRST, uid: self.user, gid: 0 }
    }

    fn attributes(&self, node: Node) -> Answer<Attributes> {
        self.resctrl.attributes(node).ok_or(ENOENT)
    }

    /// The node that a path names, as the kernel walks it (path_resolution(7)).
    fn walk(&self, path: &str) -> Answer<Node> {
        let mut node = self.resctrl.root();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !node.is_directory() {
                return Err(ENOTDIR);
            }
            if name != "." {
                node = self.resctrl.lookup(node, name).ok_or(ENOENT)?;
            }
        }
        Ok(node)
    }

    /// Whether a node is another or somewhere in it.
    fn is_within(&self, node: Node, other: Node) -> bool {
        node == other || self.resctrl.parent(node).is_some_and(|above| self.is_within(above, other))
    }

    /// The directory and the name that a path ends with.
    fn last<'a>(&self, path: &'a str) -> Answer<(Node, &'a str)> {
        let path = path.trim_end_matches('/');
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let node = self.walk(above)?;
        if node.is_directory() { Ok((node, name)) } else { Err(ENOTDIR) }
    }

    /// Whether the user may change the entries of a directory, or the content of a file. No user
    /// here is in any file's group.
    fn may_write(&self, node: Node) -> Answer<()> {
        let Attributes { mode, uid, .. } = self.attributes(node)?;
        let bit = if uid == self.user { 0o200 } else { 0o002 };
        if self.user == 0 || mode & bit != 0 { Ok(()) } else { Err(EACCES) }
    }
}

impl Target for Rules {
    fn mount(&mut self, options: &str) -> Answer<()> {
        self.resctrl.unmount();
        // Sequences take time; ids freed by one are clean when the next begins, if they ever are.
        self.resctrl.check_limbo(&mut Tasks);
        if self.user != 0 {
            return Err(EPERM);
        }
        answer(self.resctrl.mount(options, &mut Tasks))
    }

    fn mkdir(&mut self, path: &str) -> Answer<()> {
        let (above, name) = self.last(path)?;
        if matches!(name, "" | ".") || self.resctrl.lookup(above, name).is_some() {
            return Err(EEXIST);
        }
        self.may_write(above)?;
        let caller = self.caller();
        answer(self.resctrl.mkdir(above, name, &caller, &mut Tasks)).map(drop)
    }

    fn rmdir(&mut self, path: &str) -> Answer<()> {
        let (above, name) = self.last(path)?;
        match name {
            // The mount point belongs to root.
            "" => return Err(if self.user == 0 { EBUSY } else { EACCES }),
            "." => return Err(EINVAL),
            _ => {}
        }
        let node = self.resctrl.lookup(above, name).ok_or(ENOENT)?;
        self.may_write(above)?;
        answer(self.resctrl.rmdir(node, &mut Tasks))
    }

    fn rename(&mut self, from: &str, to: &str) -> Answer<()> {
        let (above, name) = self.last(from)?;
        let (new_above, new_name) = self.last(to)?;
        if matches!(name, "" | ".") || matches!(new_name, "" | ".") {
            return Err(EBUSY);
        }
        let source = self.resctrl.lookup(above, name).ok_or(ENOENT)?;
        // Loops are checked before permissions (lock_rename).
        if self.is_within(new_above, source) {
            return Err(EINVAL);
        }
        let target = self.resctrl.lookup(new_above, new_name);
        if target.is_some_and(|target| self.is_within(above, target)) {
            return Err(ENOTEMPTY);
        }
        if self.user != 0 {
            self.may_write(above)?;
            self.may_write(new_above)?;
        }
        answer(self.resctrl.rename(above, name, new_above, new_name, &mut Tasks))
    }

    fn write(&mut self, path: &str, text: &[u8]) -> Answer<usize> {
        let node = self.walk(path)?;
        if node.is_directory() {
            return Err(EISDIR);
        }
        self.may_write(node)?;
        answer(self.resctrl.open(node, false, true))?;
        let caller = self.caller();
        answer(self.resctrl.write(node, text, &caller, &mut Tasks)).map(|()| text.len())
    }

    fn read(&mut self, path: &str) -> Answer<Vec<u8>> {
        let node = self.walk(path)?;
        if node.is_directory() {
            return Err(EISDIR);
        }
        let caller = self.caller();
        answer(self.resctrl.read(node, &caller, &mut Tasks))
    }

    fn list(&mut self, path: &str) -> Answer<Vec<Entry>> {
        let node = self.walk(path)?;
        if !node.is_directory() {
            return Err(ENOTDIR);
        }
        let mut entries = Vec::new();
        for (name, child) in self.resctrl.children(node) {
            let Attributes { directory, mode, uid, .. } = self.attributes(child)?;
            entries.push(Entry { name, directory, permissions: mode.into(), user: uid });
        }
        Ok(entries)
    }

    fn cpu(&mut self, cpu: u32, online: bool) -> Answer<()> {
        if online {
            self.resctrl.cpu_online(cpu, &mut Tasks);
        } else {
            self.resctrl.cpu_offline(cpu);
        }
        Ok(())
    }

    fn wait(&mut self, milliseconds: u64) {
        if milliseconds >= LIMBO {
            self.resctrl.check_limbo(&mut Tasks);
        }
    }

    fn act_as(&mut self, user: u32) -> Answer<()> {
        self.user = user;
        Ok(())
    }

    fn tasks(&self) -> Vec<(&'static str, i32)> {
        ids().collect()
    }
}
