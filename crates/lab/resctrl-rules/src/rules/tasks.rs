//! `tasks`: threads, each for itself.

use super::text;
use super::{Caller, Class, Errno, GroupId, Owner, Resctrl, World};

impl Resctrl {
    /// A thread was made: it is in its maker's groups (`copy_process`). The report may come late: a
    /// child that has been put into a group since stays there.
    pub fn forked(&mut self, parent: i32, child: i32) {
        let class = self.class_of_task(parent);
        if class != Class::default() && !self.tasks.contains_key(&child) {
            self.assign(child, class);
            self.changed();
        }
    }

    /// A thread ended.
    pub fn exited(&mut self, thread: i32) {
        if self.tasks.remove(&thread).is_some() {
            self.changed();
        }
    }

    /// Threads whose class is not the default, in ascending order.
    pub fn assigned_threads(&self) -> impl Iterator<Item = (i32, Class)> + '_ {
        self.tasks.iter().map(|(&thread, &class)| (thread, class))
    }

    /// The line of /proc/PID/cpu_resctrl_groups for a thread (`proc_resctrl_show`).
    #[must_use]
    pub fn groups_of(&self, thread: i32) -> String {
        if !self.is_mounted() {
            return "res:\nmon:\n".to_owned();
        }
        let class = self.tasks.get(&thread).copied().unwrap_or_default();
        let of = self.order.iter().find(|&&id| self.group(id).class.closid == class.closid);
        let Some(&of) = of else { return String::new() };
        let slash = if of == self.root { "/" } else { "" };
        let group = self.group(of);
        let child = group.children.iter().map(|&id| self.group(id));
        let child = child.into_iter().find(|child| self.same_rmid(class, child.class));
        let monitor = child.map_or("", |child| child.name.as_str());
        format!("res:{slash}{}\nmon:{monitor}\n", group.name)
    }

    pub(super) fn assign(&mut self, thread: i32, class: Class) {
        if class == Class::default() {
            self.tasks.remove(&thread);
        } else {
            self.tasks.insert(thread, class);
        }
    }

    fn class_of_task(&self, thread: i32) -> Class {
        self.tasks.get(&thread).copied().unwrap_or_default()
    }

    /// `resctrl_arch_match_rmid`: on x86 the class does not count.
    fn same_rmid(&self, one: Class, other: Class) -> bool {
        let per_class = self.platform.monitoring.as_ref().is_some_and(|of| of.rmids_per_class);
        one.rmid == other.rmid && (!per_class || one.closid == other.closid)
    }

    /// Whether a thread is a group's.
    pub(super) fn is_member(&self, thread: i32, group: GroupId) -> bool {
        self.is_class_of(self.class_of_task(thread), group)
    }

    /// Whether threads of a class are a group's: by class in a CTRL_MON group, by id in a MON
    /// group.
    fn is_class_of(&self, class: Class, group: GroupId) -> bool {
        let group = self.group(group);
        if group.parent.is_none() {
            class.closid == group.class.closid
        } else {
            self.same_rmid(class, group.class)
        }
    }

    /// Threads of a group (`is_closid_match`, `is_rmid_match`).
    pub(super) fn members(&self, group: GroupId, world: &mut dyn World) -> Vec<i32> {
        let control = self.group(group).parent.is_none();
        let counts =
            if control { self.platform.allocates() } else { self.platform.monitoring.is_some() };
        if !counts {
            return Vec::new();
        }
        if self.is_class_of(Class::default(), group) {
            let mut threads = world.threads();
            threads.retain(|&thread| self.is_member(thread, group));
            return threads;
        }
        let assigned = self.tasks.iter().filter(|&(_, &class)| self.is_class_of(class, group));
        world.existing(assigned.map(|(&thread, _)| thread).collect())
    }

    /// `rdtgroup_tasks_show`: numbers of the reader's PID namespace.
    pub(super) fn show_tasks(
        &self,
        group: GroupId,
        caller: &Caller,
        world: &mut dyn World,
    ) -> Vec<u8> {
        let members = self.members(group, world);
        let lines = world.numbers(caller, members).into_iter().map(|number| format!("{number}\n"));
        lines.collect::<String>().into_bytes()
    }

    /// `rdtgroup_tasks_write`: ids with commas, in order; the first that fails ends it, and those
    /// before have moved.
    pub(super) fn write_tasks(
        &mut self,
        group: GroupId,
        bytes: &[u8],
        caller: &Caller,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        if !self.platform.kernel.task_lists {
            return self.write_one_task(group, bytes, caller, world);
        }
        self.status.clear();
        let mut rest = Some(text::string(bytes));
        while let Some(text) = rest
            && !matches!(text.first(), None | Some(b'\n'))
        {
            let (word, after) = text::cut(text, b',');
            rest = after;
            let word = text::trim(word);
            let Ok(thread) = text::number_i32(word, 0) else {
                self.status.print(&[b"Task list parsing error pid ", word, b"\n"]);
                return Err(Errno::Einval);
            };
            if thread < 0 {
                self.status.print(&[format!("Invalid pid {thread}\n").as_bytes()]);
                return Err(Errno::Einval);
            }
            if let Err(errno) = self.move_task(thread, group, caller, world) {
                let text = format!("Error while processing task {thread}\n");
                self.status.print(&[text.as_bytes()]);
                return Err(errno);
            }
        }
        Ok(())
    }

    /// Before lists were allowed: one id, without a message.
    fn write_one_task(
        &mut self,
        group: GroupId,
        bytes: &[u8],
        caller: &Caller,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let thread = text::number_i32(text::trim(text::string(bytes)), 0);
        let thread = thread.ok().filter(|&thread| thread >= 0).ok_or(Errno::Einval)?;
        self.status.clear();
        self.move_task(thread, group, caller, world)
    }

    /// `rdtgroup_move_task`: a number of the writer's PID namespace, or 0, the writer. A thread's
    /// user, or root, may move it.
    fn move_task(
        &mut self,
        named: i32,
        group: GroupId,
        caller: &Caller,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let is_writer = named == 0;
        let thread = if is_writer { Some(caller.thread) } else { world.named(caller, named) };
        let own = Owner { uid: caller.uid, suid: caller.uid };
        let owner = thread.and_then(|thread| world.owner(thread)).or(is_writer.then_some(own));
        let (Some(thread), Some(owner)) = (thread, owner) else {
            self.status.print(&[format!("No task {named}\n").as_bytes()]);
            return Err(Errno::Esrch);
        };
        if ![0, owner.uid, owner.suid].contains(&caller.uid) {
            let text = format!("No permission to move task {thread}\n");
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::Eperm);
        }
        self.give_class(thread, group)
    }

    /// `__rdtgroup_move_task`: into a MON group only from the CTRL_MON group that it is in.
    fn give_class(&mut self, thread: i32, group: GroupId) -> Result<(), Errno> {
        let now = self.class_of_task(thread);
        let to = self.group(group);
        let class = to.class;
        if now.closid == class.closid && self.same_rmid(now, class) {
            return Ok(());
        }
        if to.parent.is_some() && now.closid != class.closid {
            let message = "Can't move task to different control group\n";
            return self.fail(message, Errno::Einval);
        }
        self.assign(thread, class);
        self.changed();
        Ok(())
    }
}
