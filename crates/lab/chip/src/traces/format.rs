//! The formats, and how one is recognised.

use std::fmt;
use std::str::FromStr;

use super::{champsim, drmemtrace, gem5, lackey};

/// The tool that wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// ChampSim's tracer: a record for each instruction.
    Champsim,
    /// `valgrind --tool=lackey --trace-mem=yes`: a line for each instruction and access.
    Lackey,
    /// gem5's packet traces, of a monitor between a core and its first cache.
    Gem5,
    /// DynamoRIO's drmemtrace, after its post-processing.
    Drmemtrace,
}

impl TraceFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Champsim, Self::Lackey, Self::Gem5, Self::Drmemtrace];

    /// Its name, as in `format=NAME`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Champsim => "champsim",
            Self::Lackey => "lackey",
            Self::Gem5 => "gem5",
            Self::Drmemtrace => "drmemtrace",
        }
    }

    /// The format of a trace that begins like this, uncompressed. ChampSim's has no mark, so it is
    /// what is left if the first record can be one.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        if gem5::begins(start) {
            Some(Self::Gem5)
        } else if drmemtrace::begins(start) {
            Some(Self::Drmemtrace)
        } else if lackey::begins(start) {
            Some(Self::Lackey)
        } else {
            champsim::begins(start).then_some(Self::Champsim)
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for TraceFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            format!("expected format=champsim, lackey, gem5 or drmemtrace, found {text:?}")
        })
    }
}
