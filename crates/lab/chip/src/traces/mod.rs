//! Memory traces that other tools wrote, instruction by instruction and access by access.
//!
//! Read are ChampSim's traces, the text of valgrind's tool lackey, gem5's packet traces, and
//! DynamoRIO's drmemtrace in its final format; plain, or compressed by gzip, xz or in a zip
//! archive. A [`TraceReader`] finds out which it is, and reads a file front to back, so that a pipe
//! does as well.
//!
//! Each format has its module, which says where the format is described. None of the tools' own
//! code is used.

mod champsim;
mod drmemtrace;
mod error;
mod format;
mod gem5;
mod lackey;
mod options;
mod reader;
mod record;
mod unpack;
mod zipped;

pub use error::TraceError;
pub use format::TraceFormat;
pub use options::TraceOptions;
pub use reader::TraceReader;
pub use record::TraceItem;
