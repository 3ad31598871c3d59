//! Programs that change their behaviour while they run.
//!
//! Programs "may exhibit different program phases at runtime" (LFOC §4.2): fotonik3d streams for
//! most of its run, after a short light phase (Figure 4); xz, astar, mcf and xalancbmk change for
//! long (the P workloads of §5.2). A phase is the behaviour of one program of a
//! [`ProfileTable`](crate::ProfileTable) for a number of instructions.

/// A part of a run in which a program behaves like one of a [`ProfileTable`](crate::ProfileTable).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramPhase {
    /// The program that it behaves like: its index in the table.
    pub program: usize,
    /// Its instructions, at least 1; `None`: to the end of the run.
    pub instructions: Option<u64>,
}

/// A program of several phases. They follow each other in order and begin again from the first,
/// until the run's instructions are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhasedProgram {
    /// The program's name; different from the names of the table.
    pub name: String,
    /// The phases, at least one; only the last may last to the end of the run.
    pub phases: Vec<ProgramPhase>,
}
