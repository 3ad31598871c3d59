//! Reads the guest's output.

use std::io::Read;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::read::GzDecoder;

const UP: &str = "KERNEL-LAB-UP ";
const FILE: &str = "KERNEL-LAB-FILE ";
const FILE_END: &str = "KERNEL-LAB-FILE-END";
const PANIC: &str = "Kernel panic";
const EXIT: &str = "KERNEL-LAB-EXIT ";

/// Reads the console line by line.
#[derive(Debug, Default)]
pub(crate) struct Console {
    /// Whether the guest has come up; later lines are the job's.
    pub(crate) up: bool,
    /// The job's output.
    pub(crate) lines: Vec<String>,
    /// The file that is being transferred, and its lines so far.
    coming: Option<(String, String)>,
    /// Files that came out.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The job's exit code, once it has ended.
    pub(crate) code: Option<i32>,
    /// The last line of all, or that of a panic.
    pub(crate) last: String,
}

impl Console {
    /// Takes a line; returns whether the job printed it.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        let line = line.trim_end_matches('\r');
        // Lines after a panic state where it was, not what.
        if !line.is_empty() && !self.last.contains(PANIC) {
            self.last = line.into();
        }
        if !self.up {
            // The firmware may have left a line unfinished.
            self.up = line.contains(UP);
            return false;
        }
        if line == FILE_END {
            if let Some((name, text)) = self.coming.take() {
                self.files.push((name, unpacked(&text)));
            }
        } else if let Some((_, text)) = &mut self.coming {
            text.push_str(line);
        } else if let Some(name) = line.strip_prefix(FILE) {
            self.coming = Some((name.into(), String::new()));
        } else if let Some(code) = line.strip_prefix(EXIT) {
            self.code = code.trim().parse().ok();
            // The line break before it comes from the first process.
            while self.lines.last().is_some_and(String::is_empty) {
                self.lines.pop();
            }
        } else if self.code.is_none() {
            self.lines.push(line.into());
            return true;
        }
        false
    }
}

/// Unpacks the output of `gzip | base64`, as far as possible.
fn unpacked(text: &str) -> Vec<u8> {
    let mut data = Vec::new();
    let packed = BASE64_STANDARD.decode(text).unwrap_or_default();
    let _ = GzDecoder::new(packed.as_slice()).read_to_end(&mut data);
    data
}

#[cfg(test)]
mod tests {
    use super::Console;

    #[test]
    fn a_job_prints_between_the_marks() {
        let mut console = Console::default();
        for line in ["Booting", "KERNEL-LAB-UP 7.2", "one\r", "", "KERNEL-LAB-EXIT 3", "gone"] {
            console.take(line);
        }
        assert_eq!((console.lines, console.code), (vec!["one".to_owned()], Some(3)));
    }
}
