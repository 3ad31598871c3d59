//! A shell at the root of the tree, over a world that tests set up.

use std::collections::BTreeMap;

use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::{Event, PackageEvent, Platform};
use fairways_resctrl_rules::rules::{Caller, Class, Errno, Node, Owner, Resctrl, World};

/// The shell's own thread.
pub(crate) const SHELL: i32 = 100;

/// Threads with their users, and counters by id, domain and event; unset ones read 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake {
    pub(crate) threads: BTreeMap<i32, Owner>,
    pub(crate) counts: BTreeMap<(u32, u32, Event), Reading>,
    /// The numbers of threads in the caller's PID namespace, where it is not the world's.
    pub(crate) numbers: Option<BTreeMap<i32, i32>>,
    /// Energy and activity, by id and package.
    pub(crate) energy: BTreeMap<(u32, u32), u64>,
}

impl World for Fake {
    fn owner(&mut self, thread: i32) -> Option<Owner> {
        self.threads.get(&thread).copied()
    }

    fn threads(&mut self) -> Vec<i32> {
        self.threads.keys().copied().collect()
    }

    fn named(&mut self, _: &Caller, number: i32) -> Option<i32> {
        let Some(numbers) = &self.numbers else { return Some(number) };
        numbers.iter().find_map(|(&thread, &of)| (of == number).then_some(thread))
    }

    fn numbers(&mut self, _: &Caller, threads: Vec<i32>) -> Vec<i32> {
        let Some(numbers) = &self.numbers else { return threads };
        threads.into_iter().filter_map(|thread| numbers.get(&thread).copied()).collect()
    }

    fn counter(&mut self, class: Class, domain: u32, event: Event) -> Reading {
        self.counts.get(&(class.rmid, domain, event)).copied().unwrap_or(Reading::Value(0))
    }

    fn telemetry(&mut self, class: Class, package: u32, _: PackageEvent) -> Option<u64> {
        self.energy.get(&(class.rmid, package)).copied()
    }
}

/// Does to a [`Resctrl`] what a shell does to a mounted tree.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) resctrl: Resctrl,
    pub(crate) world: Fake,
    pub(crate) caller: Caller,
}

impl Shell {
    /// Root's shell on the machine, with threads 100 (itself) to 103 of root's and 200 and 201 of
    /// user 1000.
    pub(crate) fn on(platform: Platform, options: &str) -> Self {
        let root = Owner { uid: 0, suid: 0 };
        let user = Owner { uid: 1000, suid: 1000 };
        let threads = (SHELL..SHELL + 4).map(|thread| (thread, root));
        let mut world = Fake {
            threads: threads.chain([(200, user), (201, user)]).collect(),
            ..Fake::default()
        };
        let mut resctrl = Resctrl::new(platform);
        resctrl.mount(options, &mut world).expect("the machine has these options");
        Self { resctrl, world, caller: Caller { thread: SHELL, uid: 0, gid: 0 } }
    }

    /// On the kernel lab's machine.
    pub(crate) fn mounted(options: &str) -> Self {
        Self::on(Platform::lab(), options)
    }

    #[track_caller]
    pub(crate) fn node(&self, path: &str) -> Node {
        self.resctrl.at(path).unwrap_or_else(|| panic!("{path} does not exist"))
    }

    #[track_caller]
    pub(crate) fn cat(&mut self, path: &str) -> String {
        let node = self.node(path);
        let text = self.resctrl.read(node, &self.caller, &mut self.world);
        String::from_utf8(text.expect("it can be read")).expect("what is shown is ASCII")
    }

    #[track_caller]
    pub(crate) fn write(&mut self, text: &str, path: &str) -> Result<(), Errno> {
        let node = self.node(path);
        self.resctrl.write(node, text.as_bytes(), &self.caller, &mut self.world)
    }

    #[track_caller]
    pub(crate) fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.node(parent);
        self.resctrl.mkdir(parent, name, &self.caller, &mut self.world).map(drop)
    }

    #[track_caller]
    pub(crate) fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        let node = self.node(path);
        self.resctrl.rmdir(node, &mut self.world)
    }

    #[track_caller]
    pub(crate) fn mv(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let (from, name) = from.rsplit_once('/').unwrap_or(("", from));
        let (to, new_name) = to.rsplit_once('/').unwrap_or(("", to));
        let (from, to) = (self.node(from), self.node(to));
        self.resctrl.rename(from, name, to, new_name, &mut self.world)
    }

    #[track_caller]
    pub(crate) fn ls(&self, path: &str) -> Vec<String> {
        let children = self.resctrl.children(self.node(path)).into_iter();
        let mut names: Vec<String> = children.map(|(name, _)| name).collect();
        names.sort();
        names
    }

    #[track_caller]
    pub(crate) fn status(&mut self) -> String {
        self.cat("info/last_cmd_status")
    }

    /// Checks the answer, and `last_cmd_status` after it.
    #[track_caller]
    pub(crate) fn expect(
        &mut self,
        answer: Result<(), Errno>,
        expected: Result<(), Errno>,
        status: &str,
    ) {
        assert_eq!((answer, self.status().as_str()), (expected, status));
    }

    /// `echo TEXT > PATH`.
    #[track_caller]
    pub(crate) fn echo(
        &mut self,
        text: &str,
        path: &str,
        expected: Result<(), Errno>,
        status: &str,
    ) {
        let answer = self.write(&format!("{text}\n"), path);
        self.expect(answer, expected, status);
    }

    /// `echo TEXT > PATH`, which must succeed.
    #[track_caller]
    pub(crate) fn set(&mut self, text: &str, path: &str) {
        self.echo(text, path, Ok(()), "ok\n");
    }

    /// Sets the count under an id in a domain.
    pub(crate) fn count(&mut self, rmid: u32, domain: u32, event: Event, reading: Reading) {
        self.world.counts.insert((rmid, domain, event), reading);
    }
}
