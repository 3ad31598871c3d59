//! The kernel's records of switches.
//!
//! Source: perf_event_open(2), `PERF_RECORD_SAMPLE` and `PERF_RECORD_SWITCH_CPU_WIDE`. At a switch
//! the kernel writes a sample while the thread that leaves is still the current one
//! (`perf_event_task_sched_out`), then the thread that comes, and, once that runs, the one it came
//! after.

use perf_event_open_sys::bindings::{
    PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES, PERF_RECORD_MISC_SWITCH_OUT, PERF_RECORD_SAMPLE,
    PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_THROTTLE,
};

use super::ring::Raw;
use crate::sys::GroupReading;

/// A record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A thread leaves the CPU; `None` if it has ended and has no number any more.
    Left {
        thread: Option<i32>,
        /// In nanoseconds of `CLOCK_MONOTONIC`.
        at: u64,
        counted: GroupReading,
    },
    /// This thread comes; 0: none.
    Comes(i32),
    /// Records are missing here.
    Lost,
    /// A record of another type.
    Other,
    /// Not of the requested form.
    Malformed,
}

impl Record {
    pub(super) fn parse(raw: &Raw<'_>) -> Self {
        let words = Words(raw.body);
        match raw.kind {
            PERF_RECORD_SAMPLE => sample(words).unwrap_or(Self::Malformed),
            PERF_RECORD_SWITCH_CPU_WIDE => {
                let leaves = u32::from(raw.misc) & PERF_RECORD_MISC_SWITCH_OUT != 0;
                match words.pair() {
                    Some((_, (_, thread))) if leaves => Self::Comes(thread),
                    Some(_) => Self::Other,
                    None => Self::Malformed,
                }
            }
            PERF_RECORD_LOST | PERF_RECORD_LOST_SAMPLES | PERF_RECORD_THROTTLE => Self::Lost,
            _ => Self::Other,
        }
    }
}

/// `PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ`, in this order.
fn sample(words: Words<'_>) -> Option<Record> {
    let (words, (_, thread)) = words.pair()?;
    let (words, at) = words.word()?;
    let (words, count) = words.word()?;
    let (words, enabled) = words.word()?;
    let (mut words, running) = words.word()?;
    let mut values = Vec::new();
    for _ in 0..count {
        let (rest, value) = words.word()?;
        values.push(value);
        words = rest;
    }
    // A thread that was released has the number -1 (`perf_event_pid_type`).
    let thread = Some(thread).filter(|&thread| thread >= 0);
    Some(Record::Left { thread, at, counted: GroupReading { enabled, running, values } })
}

#[derive(Clone, Copy)]
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn word(self) -> Option<(Self, u64)> {
        let (word, rest) = self.0.split_first_chunk()?;
        Some((Words(rest), u64::from_ne_bytes(*word)))
    }

    fn pair(self) -> Option<(Self, (i32, i32))> {
        let (a, rest) = self.0.split_first_chunk()?;
        let (b, rest) = rest.split_first_chunk()?;
        Some((Words(rest), (i32::from_ne_bytes(*a), i32::from_ne_bytes(*b))))
    }
}
