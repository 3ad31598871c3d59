//! Threads that a program gives up.

use std::collections::HashSet;

use fairways_core::AppId;
use fairways_linux::stat::started;

use super::programs::Programs;
use crate::error::Error;
use crate::ledger::TakenThread;
use crate::ledger::mount::Mount;
use crate::ledger::taken_threads::{give_back, is_still};

impl Programs {
    /// Puts back threads that the program gives up, if they are still in its group: into the group
    /// that they were taken from, or the root's. The ledger keeps where threads came from that are
    /// in another program's group.
    pub(crate) fn release(
        &mut self,
        mount: &mut Mount,
        app: AppId,
        threads: &[i32],
    ) -> Result<(), Error> {
        let Some(program) = self.by_id.get_mut(&app) else { return Ok(()) };
        program.placed.retain(|thread| !threads.contains(thread));
        if !program.adopted.is_empty() {
            self.give_back_with(mount, app, Some(threads))?;
        }
        let Some(program) = self.by_id.get(&app) else { return Ok(()) };
        let (group, monitored) = (program.group(), program.monitored);
        let proc = &mount.settings.proc;
        // Nearly all have ended, and another thread may have the id.
        let ended = |task: &TakenThread| threads.contains(&task.thread) && !is_still(proc, task);
        if mount.state.ledger.tasks.iter().any(ended) {
            mount.state.note(|ledger| ledger.tasks.retain(|task| !ended(task)));
        }
        let alive: Vec<i32> = threads
            .iter()
            .copied()
            .filter(|thread: &i32| started(proc, *thread).is_some())
            .collect();
        if alive.is_empty() {
            return Ok(());
        }
        let _lock = mount.lock()?;
        let inside: HashSet<i32> = mount.tree.members(&group)?.into_iter().collect();
        let mut known = Vec::new();
        let mut free = Vec::new();
        for thread in alive {
            // A class's own threads may be those of any program in it.
            let is_here = inside.contains(&thread) && (monitored || !self.have_placed(thread));
            if !is_here {
                known.extend((!self.have_placed(thread)).then_some(thread));
                continue;
            }
            let taken = mount.state.ledger.tasks.iter().find(|task| task.thread == thread);
            let back = match taken {
                Some(task) => give_back(&mount.tree, task)?,
                None => false,
            };
            known.push(thread);
            if !back {
                free.push(thread);
            }
        }
        if !group.is_empty() {
            mount.tree.enter("", free, &mut Vec::new())?;
        }
        // Another program that had the thread too may fetch it.
        for program in self.by_id.values_mut() {
            let had: Vec<i32> =
                known.iter().copied().filter(|thread| program.placed.remove(thread)).collect();
            program.lose(had);
        }
        if mount.state.ledger.tasks.iter().any(|task| known.contains(&task.thread)) {
            mount.state.note(|ledger| ledger.tasks.retain(|task| !known.contains(&task.thread)));
        }
        Ok(())
    }
}
