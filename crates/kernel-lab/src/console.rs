//! What comes out of the guest.

use std::io::Read;

use flate2::read::GzDecoder;

const UP: &str = "KERNEL-LAB-UP ";
const FILE: &str = "KERNEL-LAB-FILE ";
const FILE_END: &str = "KERNEL-LAB-FILE-END";
const PANIC: &str = "Kernel panic";
const EXIT: &str = "KERNEL-LAB-EXIT ";

/// Reads the console line by line.
#[derive(Debug, Default)]
pub(crate) struct Console {
    /// Whether the guest has come up; what follows is the job's.
    pub(crate) up: bool,
    /// What the job printed.
    pub(crate) lines: Vec<String>,
    /// The file that is coming out, and its lines so far.
    coming: Option<(String, String)>,
    /// Files that came out.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// The job's exit code, once it has ended.
    pub(crate) code: Option<i32>,
    /// The last line of all, or that of a panic.
    pub(crate) last: String,
}

impl Console {
    /// Takes a line; whether the job printed it.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        let line = line.trim_end_matches('\r');
        // What follows a panic is about where, not what.
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
            // The line break before it is the first process's own.
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

/// What `gzip | base64` made of data; what can be read of it.
fn unpacked(text: &str) -> Vec<u8> {
    let mut data = Vec::new();
    let _ = GzDecoder::new(decoded(text).as_slice()).read_to_end(&mut data);
    data
}

/// Base64 (RFC 4648, section 4).
fn decoded(text: &str) -> Vec<u8> {
    let value = |byte| match byte {
        b'A'..=b'Z' => Some(u32::from(byte - b'A')),
        b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let sextets: Vec<u32> = text.bytes().filter_map(value).collect();
    let mut bytes = Vec::with_capacity(sextets.len() * 3 / 4);
    for four in sextets.chunks(4) {
        let bits = four.iter().fold(0, |bits, sextet| bits << 6 | sextet) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Console, decoded};

    #[test]
    fn base64_of_every_length() {
        assert_eq!(decoded(""), b"");
        assert_eq!(decoded("Zg=="), b"f");
        assert_eq!(decoded("Zm8="), b"fo");
        assert_eq!(decoded("Zm9vYmFy"), b"foobar");
    }

    #[test]
    fn a_job_prints_between_the_marks() {
        let mut console = Console::default();
        for line in ["Booting", "KERNEL-LAB-UP 7.2", "one\r", "", "KERNEL-LAB-EXIT 3", "gone"] {
            console.take(line);
        }
        assert_eq!((console.lines, console.code), (vec!["one".to_owned()], Some(3)));
    }
}
