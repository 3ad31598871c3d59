//! The structures that the programs in the kernel share with this side: `src/bpf/intf.h`, mirrored.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The most CPUs.
pub(crate) const MAX_CPUS: usize = 1024;
/// The most sets of CPUs for which there is a queue.
pub(crate) const MAX_SETS: u32 = 64;
pub(crate) const CPU_WORDS: usize = MAX_CPUS / 64;
/// Counters of a CPU.
pub(crate) const COUNTERS: usize = 8;

pub(crate) const TURN_IDLE: u32 = 0;
pub(crate) const TURN_THREAD: u32 = 2;
pub(crate) const FINISHED: u32 = 3;

pub(crate) const OP_ADD: u32 = 1;
pub(crate) const OP_REMOVE: u32 = 2;
pub(crate) const OP_ALLOW: u32 = 3;
pub(crate) const OP_IN_FORCE: u32 = 4;
pub(crate) const OP_RAISE: u32 = 5;
pub(crate) const OP_ORDER: u32 = 6;

pub(crate) const WATCH_NOTHING: u32 = 0;
pub(crate) const WATCH_MANAGED: u32 = 1;
pub(crate) const WATCH_ALL: u32 = 2;

/// Set before loading.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Settings {
    pub(crate) quantum: u64,
    pub(crate) patience: u64,
    pub(crate) wake_after: u64,
    pub(crate) wake_bytes: u32,
    pub(crate) cpus: u32,
    pub(crate) counters: u32,
    pub(crate) scheduling: u32,
    pub(crate) sets: u32,
    pub(crate) padding: u32,
    pub(crate) seed: u64,
}

/// The first of the scheduler's callbacks and settings, which the library sets.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Operations {
    pub(crate) flags: u64,
    pub(crate) timeout_ms: u32,
    pub(crate) padding: u32,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Turn {
    pub(crate) kind: u32,
    pub(crate) cpu: u32,
    pub(crate) tid: i32,
    pub(crate) key: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) goes_on: u32,
    pub(crate) counted: u32,
    pub(crate) counters: [u64; COUNTERS],
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct FinishedTurn {
    pub(crate) kind: u32,
    pub(crate) cpu: u32,
    pub(crate) tid: i32,
    pub(crate) key: u32,
    pub(crate) at: u64,
    pub(crate) ordered: u64,
    pub(crate) ran: u64,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Command {
    pub(crate) operation: u32,
    pub(crate) tid: i32,
    pub(crate) key: u32,
    pub(crate) answer: u32,
    pub(crate) value: u64,
    pub(crate) cpus: [u64; CPU_WORDS],
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Control {
    pub(crate) watching: u32,
    pub(crate) epoch: u32,
    pub(crate) shortest: u64,
}

/// The turn that a CPU is in.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Span {
    pub(crate) since: u64,
    pub(crate) kind: u32,
    pub(crate) key: u32,
    pub(crate) tid: i32,
    pub(crate) epoch: u32,
    pub(crate) parted: u32,
    pub(crate) read: u32,
    pub(crate) values: [[u64; 3]; COUNTERS],
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Counts {
    pub(crate) lost: u64,
    pub(crate) threads_without_room: u64,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Ended {
    pub(crate) kind: i32,
    pub(crate) padding: u32,
    pub(crate) code: i64,
    pub(crate) reason: [u8; 128],
    pub(crate) message: [u8; 512],
}

#[cfg(test)]
mod tests {
    use libbpf_rs::btf::types::{self, Struct};
    use libbpf_rs::btf::{Btf, HasSize as _};

    use super::*;

    fn same(btf: &Btf<'_>, name: &str, size: usize) {
        let found = btf.type_by_name::<Struct<'_>>(name).unwrap();
        assert_eq!(found.size(), size, "{name}");
    }

    fn places(btf: &Btf<'_>, name: &str) -> Vec<(String, usize)> {
        let found = btf.type_by_name::<Struct<'_>>(name).unwrap();
        found
            .iter()
            .map(|member| match member.attr {
                types::MemberAttr::Normal { offset } => (
                    member.name.unwrap().to_str().unwrap().to_owned(),
                    usize::try_from(offset / 8).unwrap(),
                ),
                types::MemberAttr::BitField { .. } => panic!("{name} has bit fields"),
            })
            .collect()
    }

    /// The compiled structures of `intf.h` have these sizes, and each member has its place.
    #[test]
    fn both_sides_have_the_same_structures() {
        let btf = Btf::from_path(concat!(env!("OUT_DIR"), "/scheduler.bpf.o")).unwrap();
        /// Each member, by its name, with its offset on this side.
        macro_rules! members {
            ($name:literal, $of:ty: $($member:ident)*) => {
                let ours = vec![$((stringify!($member).to_owned(), std::mem::offset_of!($of, $member))),*];
                assert_eq!(places(&btf, $name), ours, $name);
            };
        }
        members!("settings", Settings: quantum patience wake_after wake_bytes cpus counters scheduling sets padding seed);
        members!("turn", Turn: kind cpu tid key from to goes_on counted counters);
        members!("finished_turn", FinishedTurn: kind cpu tid key at ordered ran);
        members!("command", Command: operation tid key answer value cpus);
        members!("control", Control: watching epoch shortest);
        members!("span", Span: since kind key tid epoch parted read values);
        members!("counts", Counts: lost threads_without_room);
        members!("ended", Ended: kind padding code reason message);
        same(&btf, "settings", size_of::<Settings>());
        same(&btf, "turn", size_of::<Turn>());
        same(&btf, "finished_turn", size_of::<FinishedTurn>());
        same(&btf, "command", size_of::<Command>());
        same(&btf, "control", size_of::<Control>());
        same(&btf, "span", size_of::<Span>());
        same(&btf, "counts", size_of::<Counts>());
        same(&btf, "ended", size_of::<Ended>());
        let ops = btf.type_by_name::<types::Struct<'_>>("sched_ext_ops").unwrap();
        let first: Vec<_> = ops.iter().take(2).map(|m| m.name.unwrap().to_owned()).collect();
        assert_eq!(first, ["flags", "timeout_ms"]);
    }
}
