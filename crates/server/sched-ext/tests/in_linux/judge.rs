//! Judges on which CPUs threads come to run.

use std::ffi::OsStr;

use libbpf_rs::{
    Link, MapCore as _, MapFlags, MapHandle, Object, ObjectBuilder, ProgramInput, ProgramMut,
};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/judge.bpf.o"));

/// A program of its own at the kernel's switches.
pub(crate) struct Judge {
    verdict: MapHandle,
    object: Object,
    _link: Link,
}

/// How long a thread that is about to sleep may take to leave a CPU, in nanoseconds: a CPU of the
/// emulated machine may stand still meanwhile.
const GRACE: u64 = 1_000_000_000;

/// The result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) switches: u64,
    pub(crate) confined: u64,
    pub(crate) wrong: u64,
    pub(crate) last_wrong: u64,
    pub(crate) stayed: u64,
    pub(crate) last_stayed: u64,
}

impl Judge {
    pub(crate) fn new(everywhere: u64) -> Self {
        let mut open = ObjectBuilder::default().open_memory(OBJECT).unwrap();
        for mut map in open.maps_mut() {
            for (name, value) in [(".rodata.everywhere", everywhere), (".rodata.grace", GRACE)] {
                if map.name() == OsStr::new(name) {
                    map.initial_value_mut().unwrap()[..8].copy_from_slice(&value.to_ne_bytes());
                }
            }
        }
        let object = open.load().unwrap();
        let verdict = object.maps().find(|map| map.name() == OsStr::new(".data.verdict")).unwrap();
        let verdict = MapHandle::try_from(&verdict).unwrap();
        let link = program(&object, "judge").attach_trace().unwrap();
        Self { verdict, _link: link, object }
    }

    /// From now on a thread must be on these CPUs only.
    pub(crate) fn expect(&self, thread: i32, cpus: u64) {
        let mut context = [0; 16];
        context[..4].copy_from_slice(&thread.to_ne_bytes());
        context[8..].copy_from_slice(&cpus.to_ne_bytes());
        let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
        let answer = program(&self.object, "expect").test_run(input).unwrap().return_value;
        assert_eq!(answer, 0, "thread {thread}");
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let bytes = self.verdict.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
        Verdict {
            switches: word(&bytes, 0),
            confined: word(&bytes, 1),
            wrong: word(&bytes, 2),
            last_wrong: word(&bytes, 3),
            stayed: word(&bytes, 4),
            last_stayed: word(&bytes, 5),
        }
    }
}

fn program<'o>(object: &'o Object, name: &str) -> ProgramMut<'o> {
    object.progs_mut().find(|program| program.name() == OsStr::new(name)).unwrap()
}

fn word(bytes: &[u8], i: usize) -> u64 {
    u64::from_ne_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap())
}
