//! What `valgrind --tool=lackey --trace-mem=yes` prints: a line for each instruction and access.
//!
//! `I  04000b50,3` is an instruction, ` L addr,size` a load, ` S addr,size` a store, and
//! ` M addr,size` both at the same place; addresses are hexadecimal (valgrind's manual, Lackey).
//! Lines of valgrind itself begin with `==` or `--`, those of `--trace-superblocks` with `SB`.

use std::io::{BufRead, Read};

use super::error::Result;
use super::record::{Decode, Input, TraceItem, damaged};

/// The longest line; valgrind's own contain the command.
const MOST: u64 = 1 << 16;

/// Whether a trace begins like this.
pub(crate) fn begins(start: &[u8]) -> bool {
    let beginnings: [&[u8]; 6] = [b"==", b"I  ", b" L ", b" S ", b" M ", b"SB "];
    beginnings.into_iter().any(|beginning| start.starts_with(beginning))
        && start.iter().all(|&byte| byte == b'\n' || byte == b'\t' || byte >= b' ')
}

#[derive(Default)]
pub(crate) struct Lackey {
    lines: u64,
    line: Vec<u8>,
}

impl Decode for Lackey {
    fn next(&mut self, input: &mut Input, items: &mut Vec<TraceItem>) -> Result<bool> {
        self.line.clear();
        let read = input.by_ref().take(MOST).read_until(b'\n', &mut self.line);
        if read.map_err(|why| damaged(self.lines, &why))? == 0 {
            return Ok(false);
        }
        self.lines += 1;
        let Some((b'\n', line)) = self.line.split_last() else {
            return Err(format!("cut off: line {} has no end", self.lines));
        };
        if line.starts_with(b"==") || line.starts_with(b"--") || line.starts_with(b"SB ") {
            return Ok(true);
        }
        let parsed = line.split_at_checked(3).and_then(|(kind, rest)| Some((kind, place(rest)?)));
        match parsed {
            Some((b"I  ", _)) => items.push(TraceItem::Instructions(1)),
            Some((b" L ", (address, bytes))) => {
                items.push(TraceItem::access(false, address, bytes))
            }
            Some((b" S ", (address, bytes))) => items.push(TraceItem::access(true, address, bytes)),
            Some((b" M ", (address, bytes))) => {
                items.extend(
                    [false, true].map(|is_store| TraceItem::access(is_store, address, bytes)),
                );
            }
            _ => {
                let found = String::from_utf8_lossy(&line[..line.len().min(60)]);
                return Err(format!(
                    "line {}: expected \"I  ADDRESS,SIZE\", \" L …\", \" S …\" or \" M …\", found \
                     {found:?}; --log-file keeps the program's own output apart",
                    self.lines
                ));
            }
        }
        Ok(true)
    }
}

/// `1ffefff8,8`.
fn place(text: &[u8]) -> Option<(u64, u32)> {
    let (address, bytes) = std::str::from_utf8(text).ok()?.trim().split_once(',')?;
    Some((u64::from_str_radix(address, 16).ok()?, bytes.parse().ok()?))
}
