//! Monitoring groups that others made in the root's group, and that have only threads of one
//! program of ours. They are moved into the program's class by rename(2), with their monitoring id
//! and its counts, and are finally moved back.
//!
//! Until then, such a group has a name of ours, as its maker may make another one of the old name.

use std::collections::{BTreeSet, HashMap, HashSet};

use fairways_core::AppId;
use rustix::io::Errno;

use super::counted_groups::Adopted;
use super::programs::{Program, Programs};
use crate::error::Error;
use crate::ledger::BorrowedGroup;
use crate::ledger::borrowed_groups::{NAMES, to_root};
use crate::ledger::mount::Mount;
use crate::tree::monitor_in;

/// The kernel's longest name of a group.
const LONGEST: usize = 255;

impl Programs {
    /// Adopts the groups of a program's threads, if no other threads are in them and the kernel can
    /// move groups. Returns the threads that moved with them. `theirs` has the group of each thread
    /// in groups of others. The caller has the lock.
    pub(crate) fn adopt(
        &mut self,
        mount: &mut Mount,
        app: AppId,
        theirs: &HashMap<i32, String>,
        tasks: &[i32],
    ) -> Result<BTreeSet<i32>, Error> {
        let mut came = BTreeSet::new();
        if !mount.settings.adopt_monitors {
            return Ok(came);
        }
        let groups: BTreeSet<&str> =
            tasks.iter().filter_map(|thread| theirs.get(thread)).map(String::as_str).collect();
        let tasks: HashSet<i32> = tasks.iter().copied().collect();
        for path in groups {
            let Some(name) = path.strip_prefix("mon_groups/") else { continue };
            let inside = mount.tree.members(path)?;
            let program = self.get(app)?;
            let is_its = |thread: &i32| tasks.contains(thread) || program.knows(*thread);
            if inside.iter().all(is_its) && self.bring(mount, app, name)? {
                came.extend(inside);
            }
        }
        if let Some(program) = self.by_id.get_mut(&app) {
            program.others.retain(|thread, _| !came.contains(thread));
        }
        Ok(came)
    }

    /// Renames a group into a program's class. Returns whether that was possible.
    fn bring(&mut self, mount: &mut Mount, app: AppId, theirs: &str) -> Result<bool, Error> {
        let path = format!("mon_groups/{theirs}");
        let inode = mount.tree.inode(&path)?.filter(|inode| !self.unmovable.contains(inode));
        let Some(inode) = inode else { return Ok(false) };
        let program = self.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
        let names = (1..=NAMES).map(|number| match number {
            1 => format!("fairways.{}+{theirs}", app.0),
            _ => format!("fairways.{}+{theirs}~{number}", app.0),
        });
        // An earlier run may have left a group of that name.
        let borrowed = &mount.state.ledger.borrowed;
        let mut free = names.into_iter().filter(|name| {
            let is_used = program.adopted.iter().any(|of| of.name == *name);
            !is_used && borrowed.iter().all(|of| of.name != *name)
        });
        let Some(name) = free.next().filter(|name| name.len() <= LONGEST) else {
            return Ok(false);
        };
        let borrowed = BorrowedGroup { name: name.clone(), theirs: theirs.to_owned(), inode };
        mount.state.record(|ledger| ledger.borrowed.push(borrowed))?;
        mount.tree.keep(&path, inode);
        let done = mount.tree.rename(&path, &monitor_in(&program.class, &name));
        if done.is_err() {
            mount.tree.forget(&path);
            mount.strike_borrowed(&name);
        }
        match done {
            Ok(()) => {}
            Err(error) if cant_be(&error) => {
                self.is_unmovable(theirs, inode);
                return Ok(false);
            }
            Err(error) if error.is_gone() => return Ok(false),
            Err(error) => return Err(error),
        }
        tracing::info!(
            target: "fairways::actuate", app = app.0, group = path, class = program.class, name, "monitoring group adopted"
        );
        program.adopted.push(Adopted::new(name, theirs.to_owned()));
        Ok(true)
    }

    /// Marks a group as not movable, so that it is not tried again. Only the first is logged:
    /// nearly always it applies to all.
    fn is_unmovable(&mut self, group: &str, inode: u64) {
        self.unmovable.insert(inode);
        if self.unmovable.len() == 1 {
            tracing::warn!(
                target: "fairways::actuate", group,
                "monitoring groups of others can't be adopted: expected Linux 6.5 or later, ids that are not of their class (Arm), and groups \
                 that monitor no CPUs"
            );
        }
    }

    /// Moves adopted groups into another class. Those that the kernel refuses to move are returned
    /// to their makers. If one fails, the others go back.
    pub(crate) fn move_adopted(
        &mut self,
        mount: &mut Mount,
        app: AppId,
        from: &str,
        to: &str,
    ) -> Result<(), Error> {
        let Some(program) = self.by_id.get(&app) else { return Ok(()) };
        let names: Vec<String> = program.adopted.iter().map(|of| of.name.clone()).collect();
        let mut moved: Vec<&String> = Vec::new();
        for name in &names {
            let (old, new) = (monitor_in(from, name), monitor_in(to, name));
            let error = match mount.tree.rename(&old, &new) {
                Ok(()) => {
                    moved.push(name);
                    continue;
                }
                Err(error) if cant_be(&error) => {
                    if let Some(inode) = mount.tree.inode(&old)? {
                        self.is_unmovable(name, inode);
                    }
                    self.give_back(mount, app, name).err()
                }
                Err(error) if error.is_gone() && mount.tree.find(&old)?.is_none() => {
                    self.lose_adopted(mount, app, name);
                    None
                }
                Err(error) => Some(error),
            };
            if let Some(error) = error {
                for name in moved {
                    let (old, new) = (monitor_in(from, name), monitor_in(to, name));
                    if let Err(error) = mount.tree.rename(&new, &old) {
                        tracing::error!(target: "fairways::actuate", group = new, %error, "not moved back");
                        mount.errors.came(&error);
                    }
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Forgets an adopted group that was removed from outside; its threads are looked up again.
    fn lose_adopted(&mut self, mount: &mut Mount, app: AppId, name: &str) {
        let Some(program) = self.by_id.get_mut(&app) else { return };
        program.let_go(&mount.tree, name);
        program.lose_placed();
        mount.tree.forget(&monitor_in(&program.class, name));
        mount.strike_borrowed(name);
    }

    /// Forgets what was adopted into a class that is gone.
    pub(crate) fn lose_all_adopted(&mut self, mount: &mut Mount, app: AppId) {
        let names = self.by_id.get(&app).into_iter().flat_map(|program| &program.adopted);
        let names: Vec<String> = names.map(|of| of.name.clone()).collect();
        names.iter().for_each(|name| self.lose_adopted(mount, app, name));
    }

    /// Gives a group back to where it was; its threads then no longer belong to the program. The
    /// caller has the lock.
    fn give_back(&mut self, mount: &mut Mount, app: AppId, name: &str) -> Result<(), Error> {
        let Some(program) = self.by_id.get_mut(&app) else { return Ok(()) };
        let Some(adopted) = program.adopted.iter().find(|of| of.name == name) else {
            return Ok(());
        };
        let place = monitor_in(&program.class, name);
        let inside = mount.tree.members(&place)?;
        let back = to_root(&mount.tree, &place, &adopted.theirs)?;
        program.let_go(&mount.tree, name);
        let (lost, placed): (BTreeSet<i32>, _) =
            program.placed.iter().partition(|thread| inside.contains(thread));
        program.placed = placed;
        program.lose(lost);
        mount.strike_borrowed(name);
        tracing::info!(target: "fairways::actuate", app = app.0, group = back, "monitoring group given back");
        Ok(())
    }

    /// Gives back the groups that have any of these threads; all groups, if the whole program ends.
    pub(crate) fn give_back_with(
        &mut self,
        mount: &mut Mount,
        app: AppId,
        threads: Option<&[i32]>,
    ) -> Result<(), Error> {
        let Some(program) = self.by_id.get(&app) else { return Ok(()) };
        let mut names = Vec::new();
        for adopted in &program.adopted {
            let inside = mount.tree.members(&monitor_in(&program.class, &adopted.name))?;
            if threads.is_none_or(|threads| inside.iter().any(|thread| threads.contains(thread))) {
                names.push(adopted.name.clone());
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let _lock = mount.lock()?;
        names.iter().try_for_each(|name| self.give_back(mount, app, name))
    }

    /// Finds adopted groups that are gone, and gives back those that have had threads of others for
    /// longer than from one look to the next.
    pub(crate) fn see_adopted(&mut self, mount: &mut Mount) -> Result<(), Error> {
        for app in self.ids() {
            let (mut gone, mut shared) = (Vec::new(), Vec::new());
            let Some(program) = self.by_id.get_mut(&app) else { continue };
            let Program { class, adopted, placed, .. } = program;
            for of in adopted {
                let place = monitor_in(class, &of.name);
                if mount.tree.find(&place)?.is_none() {
                    gone.push(of.name.clone());
                    continue;
                }
                let mut now: BTreeSet<i32> = mount.tree.members(&place)?.into_iter().collect();
                now.retain(|thread| !placed.contains(thread));
                if now.intersection(&of.strangers).next().is_some() {
                    shared.push(of.name.clone());
                }
                of.strangers = now;
            }
            gone.iter().for_each(|name| self.lose_adopted(mount, app, name));
            shared.iter().try_for_each(|name| self.give_back(mount, app, name))?;
        }
        Ok(())
    }
}

/// Whether the error means that the kernel can't rename such groups.
fn cant_be(error: &Error) -> bool {
    error.errno() == Some(Errno::PERM)
}
