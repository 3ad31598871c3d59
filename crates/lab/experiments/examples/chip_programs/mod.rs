//! The programs of the examples on a chip: every stream of `corpus/streams`, and synthetic ones.

use std::path::Path;
use std::sync::Arc;

use fairways_chip::program::parse;
use fairways_chip::{AfterRun, Job, Phase};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The texts of every stream of `corpus/streams`, by name, and of these synthetic programs.
pub(crate) fn with_streams(synthetic: &[&str]) -> Result<Vec<String>, Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/streams");
    let mut programs = Vec::new();
    for entry in folder.read_dir()? {
        programs.push(format!("stream:{}", entry?.path().display()));
    }
    programs.sort();
    programs.extend(synthetic.iter().map(|&text| text.to_owned()));
    Ok(programs)
}

/// What a program is called.
pub(crate) fn name(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text).trim_end_matches(".stream")
}

/// A program that runs again and again.
pub(crate) fn job(text: &str, key: u64) -> Result<Job, Failure> {
    let phases = parse(text, |_| None)?.into_iter();
    let phases = phases.map(|(program, length)| Phase { program: program.map(Arc::new), length });
    Ok(Job { phases: phases.collect(), then: AfterRun::Restart, key: Some(key), ..Job::default() })
}
