//! Requests to an emulator, and its answers.
//!
//! A line is one JSON object; each request has one response, in order. Both ends share these types.
//! A request with an unknown field is refused; of an answer, unknown fields are passed over.

use fairways_core::{Counters, LatencyBin};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The version of these types, in every [`Status`].
pub const SCHEMA: u32 = 1;

/// A client's request: `{"do": "advance", "by_ns": 1000000}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The emulator's status.
    Status {},
    /// Take the clock: it stands still until this connection lets time pass, gives it back, or
    /// closes.
    Hold {},
    /// Give the clock back.
    Release {},
    /// Let time pass, by an amount, up to a time, to the next exit of a program, or until programs
    /// have retired instructions: to the first of those that are given. Only on a clock in
    /// lockstep, or that this connection holds.
    Advance {
        /// Nanoseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_ns: Option<u64>,
        /// Nanoseconds since the machine began. A past time changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_ns: Option<u64>,
        /// The same, but the machine finishes its step at that time, which the times above cut
        /// short.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about_ns: Option<u64>,
        /// Whether to stop with the machine's step in which a program exits.
        #[serde(default)]
        until_exit: bool,
        /// Stop with the machine's step in which one of these is reached.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        until: Vec<Retired>,
    },
    /// The simulated programs.
    Programs {},
    /// The counters of programs.
    Counters {
        /// Programs by name or by the process's id; `None`: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        programs: Option<Vec<String>>,
    },
    /// The latencies of services.
    Latencies {
        /// Programs by name or by the process's id; `None`: all that are services.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        programs: Option<Vec<String>>,
    },
    /// The armed faults.
    Faults {},
    /// Arm a fault.
    Arm {
        /// The fault.
        fault: Fault,
    },
    /// Disarm a fault.
    Clear {
        /// Which one; `None`: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
    },
    /// Take a CPU off line, or put it on line, as writing `/sys/devices/system/cpu/cpuN/online`
    /// does.
    Cpu {
        /// The CPU.
        cpu: u32,
        /// Whether it is on line afterwards.
        online: bool,
    },
}

/// A number of instructions that programs have retired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retired {
    /// Programs by name or by the process's id, each once.
    pub programs: Vec<String>,
    /// Their sum of `counters`, or more.
    pub instructions: u64,
}

/// The emulator's answer: `{"status": {...}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// To status, hold, release, advance and cpu.
    Status(Status),
    /// To programs.
    Programs(Vec<ProgramState>),
    /// To counters, in the order of programs.
    Counters(Vec<ProgramCounters>),
    /// To latencies, in the order of programs.
    Latencies(Vec<ProgramLatencies>),
    /// To faults, arm and clear.
    Faults(Vec<ArmedFault>),
    /// The request failed: why, in a line.
    Error(String),
}

/// The emulator's status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The emulator's version.
    pub version: String,
    /// The emulator's process.
    pub pid: i32,
    /// Where it is mounted.
    pub mount: String,
    /// The options that it is mounted with, as resctrl shows them.
    pub options: String,
    /// The machine's clock.
    pub now_ns: u64,
    /// The clock's pace.
    pub clock: ClockState,
    /// The most times real time it may go, paced.
    pub pace: f64,
    /// How many times real time it went in the last second or so; `None`: it stands still, or has
    /// just begun.
    pub factor: Option<f64>,
    /// Programs that run.
    pub running: usize,
    /// Programs that exist, running or over.
    pub programs: usize,
    /// Armed faults.
    pub faults: usize,
}

/// What sets the clock's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockState {
    /// Real time's, as far as the machine comes along.
    Paced,
    /// Any client that lets time pass.
    Lockstep,
    /// The client that holds it.
    Held,
}

/// A simulated program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramState {
    /// Its name.
    pub name: String,
    /// Its placeholder's process and thread.
    pub pid: i32,
    /// The simulated CPU that it is on; `None`: none now.
    pub cpu: Option<u32>,
    /// Whether it runs.
    pub running: bool,
    /// Its class of service, on that CPU.
    pub closid: Option<u32>,
    /// The id under which its lines and bytes are counted, on that CPU.
    pub rmid: Option<u32>,
}

/// A program's counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCounters {
    /// Its name.
    pub name: String,
    /// Its placeholder's process and thread.
    pub pid: i32,
    /// When, on the machine's clock.
    pub now_ns: u64,
    /// Since it started; `null` is missing.
    pub counters: Counters,
}

/// A service's latencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLatencies {
    /// Its name.
    pub name: String,
    /// Its placeholder's process and thread.
    pub pid: i32,
    /// When, on the machine's clock.
    pub now_ns: u64,
    /// Since it started, from the shortest latency to the longest; `null`: it is no service.
    pub answered: Option<Vec<LatencyBin>>,
}

/// A fault that waits for its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmedFault {
    /// The id by which it can be cleared.
    pub id: u64,
    /// The fault.
    pub fault: Fault,
    /// How often its operation has come to its paths.
    pub met: u64,
}
