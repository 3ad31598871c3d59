//! Moves programs from one class to another.

use fairways_core::AppId;
use rustix::io::Errno;

use super::classes::Step;
use super::monitoring_groups::make_monitor;
use super::programs::Programs;
use crate::error::Error;
use crate::ledger::mount::Mount;
use crate::tree::monitor_in;

impl Programs {
    /// Moves a program to another class, with its MON group.
    pub(crate) fn change_class(
        &mut self,
        mount: &mut Mount,
        app: AppId,
        to: &str,
        reason: &str,
        done: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let Some(program) = self.by_id.get(&app).filter(|program| program.class != to) else {
            return Ok(());
        };
        let (name, from) = (program.name.clone(), program.class.clone());
        if !program.monitored {
            // The other class may have ids of its own.
            self.monitoring.reset();
        }
        let old = monitor_in(&from, &name);
        let mut renamed = false;
        let is_gone = !from.is_empty() && mount.tree.find(&from)?.is_none();
        if is_gone {
            self.lose_all_adopted(mount, app);
        } else {
            self.move_adopted(mount, app, &from, to)?;
        }
        let Some(program) = self.by_id.get_mut(&app) else { return Ok(()) };
        if is_gone {
            // The class was just removed, and the kernel moved its threads to the root's group,
            // from where they are fetched like new ones.
            program.lost();
            let inode = mount.tree.made(&old);
            mount.tree.forget(&from);
            mount.strike_group(&name, inode);
        } else if program.monitored {
            match mount.tree.rename(&old, &monitor_in(to, &name)) {
                Ok(()) => renamed = true,
                // This happens before Linux 6.5, and if monitoring ids belong to their class (Arm
                // MPAM).
                Err(error) if error.errno() == Some(Errno::PERM) => {}
                Err(error) if error.is_gone() && mount.tree.find(&old)?.is_none() => {
                    let inode = mount.tree.made(&old);
                    mount.tree.forget(&old);
                    program.unmonitored();
                    mount.strike_group(&name, inode);
                }
                Err(error) => return Err(error),
            }
        }
        if !renamed {
            self.move_by_threads(mount, app, to)?;
        }
        if let Some(program) = self.by_id.get_mut(&app) {
            to.clone_into(&mut program.class);
        }
        tracing::info!(
            target: "fairways::actuate", app = app.0, before = shown(&from), after = shown(to), reason, "program moved"
        );
        done.push(Step::Moved(app, from));
        Ok(())
    }

    /// Moves a program's threads one by one, to a new MON group if it has one. If that fails, they
    /// go back.
    fn move_by_threads(&mut self, mount: &mut Mount, app: AppId, to: &str) -> Result<(), Error> {
        let program = self.by_id.get_mut(&app).ok_or(Error::Unknown(app))?;
        let (monitored, name, from) = (program.monitored, program.name.clone(), program.group());
        let inode = if monitored { mount.tree.find(&from)? } else { None };
        let mut known = mount.state.ledger.groups.iter();
        let old = known.find(|made| made.name == name && made.inode == inode).cloned();
        let mut threads = mount.tree.members(&from)?;
        if !monitored {
            threads.retain(|thread| program.placed.contains(thread));
        }
        let is_made = monitored && make_monitor(mount, to, &name)?;
        let into = if is_made { monitor_in(to, &name) } else { to.to_owned() };
        if let Err(error) = mount.tree.enter(&into, threads.iter().copied(), &mut Vec::new()) {
            let back = mount.tree.enter(&from, threads, &mut Vec::new());
            if let Err(error) = back {
                tracing::error!(target: "fairways::actuate", group = from, %error, "threads not moved back");
                mount.errors.came(&error);
                program.lose_placed();
            }
            if is_made {
                mount.tree.rmdir(&into)?;
                let new = mount.state.ledger.groups.iter().rfind(|made| made.name == name);
                if let Some(new) = new.cloned() {
                    mount.state.note(|ledger| ledger.strike(&new));
                }
            }
            return Err(error);
        }
        if monitored {
            match (mount.tree.rmdir(&from), &old) {
                (Ok(_), Some(old)) => mount.state.note(|ledger| ledger.strike(old)),
                (Ok(_), None) => {}
                // It is empty, and removed on exit.
                (Err(error), _) => {
                    tracing::error!(target: "fairways::actuate", group = from, %error, "not removed");
                    mount.errors.came(&error);
                }
            }
            program.unmonitored();
            program.monitored = is_made;
            if !self.is_loss_logged {
                self.is_loss_logged = true;
                tracing::warn!(
                    target: "fairways::actuate", group = from,
                    "MON groups can't be moved between classes here: what moves between two readings is not counted"
                );
            }
        }
        Ok(())
    }
}

/// The root's group has no name.
fn shown(group: &str) -> &str {
    if group.is_empty() { "/" } else { group }
}
