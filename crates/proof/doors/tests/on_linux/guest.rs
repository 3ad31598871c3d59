//! A boot, and its results.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use fairways_kernel_lab::{Guest, Kernel, Outcome, Processor, RegisterWrite, required};

use crate::picture::Picture;

const COMMON: &str = include_str!("common.sh");

/// The output of a job.
pub(crate) struct Story {
    pub(crate) console: Vec<String>,
    texts: BTreeMap<String, String>,
    pictures: BTreeMap<String, Picture>,
}

impl Story {
    /// Boots, and runs the job; `None` where there is no lab.
    pub(crate) fn of(test: &str, job: &str) -> Option<Self> {
        let lab = required(test, Kernel::Sid)?;
        let folder = tempfile::tempdir().unwrap();
        let program = stripped(folder.path());
        let processor = Processor { registers: true, ..Processor::default() };
        let guest = Guest::new()
            .processor(processor)
            .file(program, "/usr/bin/fairways")
            .job(format!("{COMMON}\n{job}"))
            .take("/tmp/all")
            // Three to five minutes alone; a busy machine is four times as slow.
            .seconds(1200);
        let outcome = guest.run(&lab).unwrap();
        let seconds = outcome.duration.as_secs();
        let _ = writeln!(std::io::stderr(), "{test}: the guest took {seconds} s");
        assert_eq!(outcome.code, 0, "{}", outcome.console.join("\n"));
        Some(Self::new(outcome))
    }

    fn new(outcome: Outcome) -> Self {
        let all = String::from_utf8(outcome.file("/tmp/all").unwrap().to_vec()).unwrap();
        let texts: BTreeMap<String, String> = all
            .split("# ")
            .filter_map(|part| part.split_once('\n'))
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect();
        let lines = outcome.console.iter().filter_map(|line| line.strip_prefix("picture "));
        let names: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
        let registers = registers(&outcome.registers);
        assert_eq!(names.len(), registers.len(), "each picture changes a bandwidth twice");
        let pictures = names.iter().zip(registers).map(|(name, registers)| {
            ((*name).to_owned(), Picture::parse(name, &texts[*name], registers))
        });
        Self { pictures: pictures.collect(), texts, console: outcome.console }
    }

    pub(crate) fn picture(&self, name: &str) -> &Picture {
        &self.pictures[name]
    }

    /// The texts that were kept beside pictures; a picture's log is NAME.log.
    pub(crate) fn text(&self, name: &str) -> &str {
        &self.texts[name]
    }

    /// The lines of the console with this prefix, without it.
    pub(crate) fn lines(&self, beginning: &str) -> Vec<&str> {
        self.console.iter().filter_map(|line| line.strip_prefix(beginning)).collect()
    }
}

/// The daemon without debug information, which is four fifths of it: the guest unpacks it into
/// memory.
fn stripped(folder: &Path) -> std::path::PathBuf {
    let whole = fairways_doors::fairways();
    let stripped = folder.join("fairways");
    let mut strip = Command::new("strip");
    match strip.arg("--strip-debug").arg(&whole).arg("-o").arg(&stripped).status() {
        Ok(status) if status.success() => stripped,
        _ => whole,
    }
}

/// The values of the mask registers, by number and domain, at each change of the default class's
/// bandwidth from all to 90 %.
fn registers(writes: &[RegisterWrite]) -> Vec<BTreeMap<(u32, u32), u64>> {
    const BANDWIDTH: u32 = 0xd50;
    let (mut now, mut all, mut delay) = (BTreeMap::new(), Vec::new(), 0);
    for write in writes {
        if write.mask {
            now.insert((write.number, write.cpu / 2), write.value);
        } else if write.number == BANDWIDTH {
            if write.value == 10 && delay != 10 {
                all.push(now.clone());
            }
            delay = write.value;
        }
    }
    all
}
