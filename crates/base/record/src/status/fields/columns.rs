//! The columns of programs, by name.

use super::{Column, ProgramStatus, milliseconds, number, or_dash};

/// Names.
pub const PROGRAM: Column<ProgramStatus> = Column {
    name: "program",
    help: "its name in the configuration",
    is_number: false,
    text: |_, of| of.name.clone(),
};
/// Numbers of domains.
pub const DOMAIN: Column<ProgramStatus> = Column {
    name: "domain",
    help: "resctrl's id of the cache",
    is_number: true,
    text: |_, of| of.domain.to_string(),
};
/// How many ways there are in force, and how many are planned where that differs.
pub const WAYS: Column<ProgramStatus> = Column {
    name: "ways",
    help: "the number of ways that it may fill, and the planned number where that differs",
    is_number: true,
    text: |_, of| {
        let ways = of.ways.map_or("-".to_owned(), |ways| ways.to_string());
        let planned = of.planned_ways.map(|planned| format!(" ({planned} planned)"));
        ways + &planned.unwrap_or_default()
    },
};
/// The mask in force; without one, the plan's.
pub const MASK: Column<ProgramStatus> = Column {
    name: "mask",
    help: "the ways that it may fill, as schemata has them",
    is_number: true,
    text: |_, of| {
        let planned = of.planned_mask.as_ref().map(|mask| format!("{mask} planned"));
        or_dash(&of.mask.clone().or(planned))
    },
};
/// Classes.
pub const CLASS: Column<ProgramStatus> = Column {
    name: "class",
    help: "its class, by the policy",
    is_number: false,
    text: |_, of| or_dash(&of.class),
};
/// Instructions per cycle.
pub const IPC: Column<ProgramStatus> = Column {
    name: "IPC",
    help: "instructions per cycle, in the last window",
    is_number: true,
    text: |_, of| number(of.ipc),
};
/// Misses per 1000 instructions.
pub const MPKI: Column<ProgramStatus> = Column {
    name: "MPKI",
    help: "misses of the last-level cache per 1000 instructions, in the last window",
    is_number: true,
    text: |_, of| number(of.llcmpki),
};
/// Misses per 1000 cycles.
pub const LLCMPKC: Column<ProgramStatus> = Column {
    name: "LLCMPKC",
    help: "misses of the last-level cache per 1000 cycles, in the last window",
    is_number: true,
    text: |_, of| number(of.llcmpkc),
};
/// Occupancy in ways.
pub const OCCUPANCY: Column<ProgramStatus> = Column {
    name: "occupancy",
    help: "ways' worth of lines in the cache; ≥ where no more is known",
    is_number: true,
    text: |_, of| of.shown_occupancy(),
};
/// Memory traffic.
pub const TRAFFIC: Column<ProgramStatus> = Column {
    name: "GB/s",
    help: "from and to memory, in the last window",
    is_number: true,
    text: |_, of| number(of.memory_bytes_per_second().map(|bytes| bytes / 1e9)),
};
/// The slowdown that the policy expects.
pub const EXPECTED: Column<ProgramStatus> = Column {
    name: "expected",
    help: "the slowdown that the policy expects with the ways that it gives",
    is_number: true,
    text: |_, of| number(of.expected_slowdown()),
};
/// Whether the objective is met.
pub const SLO: Column<ProgramStatus> = Column {
    name: "SLO",
    help: "whether the latency objective was met in the last window",
    is_number: false,
    text: |_, of| of.objective.map_or("-", |of| of.word()).to_owned(),
};
/// The limit of memory bandwidth.
pub const LIMIT: Column<ProgramStatus> = Column {
    name: "limit",
    help: "the limit of its memory bandwidth, and the planned one where that differs",
    is_number: true,
    text: |status, of| or_dash(&status.limit_text(of)),
};
/// The CPUs of a thread.
pub const CPUS: Column<ProgramStatus> = Column {
    name: "CPUs",
    help: "the CPUs on which a thread may run",
    is_number: false,
    text: |_, of| of.cpus.as_deref().unwrap_or("all").to_owned(),
};
/// The next turn of a thread.
pub const TURN: Column<ProgramStatus> = Column {
    name: "next turn",
    help: "the length of a thread's next turn",
    is_number: true,
    text: |_, of| of.ordered_ns.map_or_else(|| "-".to_owned(), milliseconds),
};
