//! gem5's packet traces, as its `CommMonitor` with a `MemTraceProbe` writes them.
//!
//! After `gem5` come messages of protocol buffers, each after its length as a varint: a
//! `PacketHeader`, then `Packet`s (`src/proto/packet.proto`). A packet has its tick (1), command
//! (2), address (3), size (4), flags (5) and others. Of the commands only the numbers of `ReadReq`
//! and `WriteReq` are the same in every version (`util/decode_packet_trace.py`); others are left
//! out, and so are fetches of instructions.
//!
//! The trace does not say how many instructions there were, which no count of fetches says
//! either: a fetch brings more than one.

use std::io::{BufRead, Read};

use super::error::Result;
use super::record::{Decode, Input, TraceItem, damaged};

const MAGIC: &[u8] = b"gem5";
const READ_REQUEST: u64 = 1;
const WRITE_REQUEST: u64 = 4;
/// `Request::INST_FETCH`.
const FETCH: u64 = 0x100;

/// The longest message; a header names what the packets are of.
const MOST: u64 = 1 << 20;

/// Packets after which most must have been reads and writes.
const CHECKED: u64 = 4096;

/// Whether a trace begins like this.
pub(crate) fn begins(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

pub(crate) struct Gem5 {
    instructions_per_access: f64,
    /// Instructions of the accesses up to now that are not reported yet.
    due: f64,
    has_begun: bool,
    packets: u64,
    others: u64,
    message: Vec<u8>,
}

#[derive(Default)]
struct Packet {
    command: u64,
    address: u64,
    bytes: u64,
    flags: u64,
}

impl Gem5 {
    pub(crate) fn new(instructions_per_access: Option<f64>) -> Result<Self> {
        let missing = "a trace of gem5 does not say how many instructions ran: expected \
                       instructions_per_access=X, such as 3";
        let instructions_per_access = instructions_per_access.ok_or_else(|| missing.to_owned())?;
        let (due, has_begun, packets, others, message) = (0.0, false, 0, 0, Vec::new());
        Ok(Self { instructions_per_access, due, has_begun, packets, others, message })
    }

    fn begin(&mut self, input: &mut Input) -> Result<()> {
        let mut magic = [0; 4];
        let read = input.read_exact(&mut magic);
        if read.is_err() || magic != MAGIC {
            return Err("expected gem5 as the first four bytes".to_owned());
        }
        self.has_begun = true;
        self.message(input)?.then_some(()).ok_or_else(|| "cut off before its header".to_owned())
    }

    /// Reads a message; `false` at the end of the file.
    fn message(&mut self, input: &mut Input) -> Result<bool> {
        let number = self.packets;
        if input.fill_buf().map_err(|why| damaged(number, &why))?.is_empty() {
            return Ok(false);
        }
        let length = varint(&mut || next_byte(input)).filter(|&length| length <= MOST);
        let length = length.ok_or_else(|| cut(number))?;
        self.message.clear();
        let read = input.by_ref().take(length).read_to_end(&mut self.message);
        let read = read.map_err(|why| damaged(number, &why))?;
        if read as u64 == length { Ok(true) } else { Err(cut(number)) }
    }

    fn check_commands(&self) -> Result<()> {
        if self.others * 2 > self.packets {
            return Err(format!(
                "{} of {} packets are neither ReadReq nor WriteReq: expected a trace of a monitor \
                 between a core and its first cache",
                self.others, self.packets
            ));
        }
        Ok(())
    }
}

impl Decode for Gem5 {
    fn next(&mut self, input: &mut Input, items: &mut Vec<TraceItem>) -> Result<bool> {
        if !self.has_begun {
            self.begin(input)?;
        }
        if !self.message(input)? {
            self.check_commands()?;
            return Ok(false);
        }
        let packet = packet(&self.message)
            .ok_or_else(|| format!("packet {} is not in gem5's format", self.packets))?;
        self.packets += 1;
        let is_store = match packet.command {
            _ if packet.flags & FETCH != 0 => return Ok(true),
            READ_REQUEST => false,
            WRITE_REQUEST => true,
            _ => {
                self.others += 1;
                return if self.packets == CHECKED { self.check_commands() } else { Ok(()) }
                    .map(|()| true);
            }
        };
        self.due += self.instructions_per_access;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 1001")]
        let instructions = self.due as u32;
        self.due -= f64::from(instructions);
        let bytes = u32::try_from(packet.bytes).unwrap_or(u32::MAX);
        items.extend([
            TraceItem::Instructions(instructions),
            TraceItem::access(is_store, packet.address, bytes),
        ]);
        Ok(true)
    }
}

fn next_byte(input: &mut Input) -> Option<u8> {
    let mut byte = [0];
    input.read_exact(&mut byte).ok().map(|()| byte[0])
}

fn cut(number: u64) -> String {
    format!("cut off or damaged after {number} packets")
}

/// The fields of a packet that are used; `None` if it is not one.
fn packet(message: &[u8]) -> Option<Packet> {
    let mut rest = message.iter().copied();
    let (mut packet, mut seen) = (Packet::default(), 0);
    while rest.len() > 0 {
        let key = varint(&mut || rest.next())?;
        // Wire types of protocol buffers: a varint, 8 bytes, as many as a length says, 4 bytes.
        let value = match key & 7 {
            0 => varint(&mut || rest.next())?,
            kind @ (1 | 2 | 5) => {
                let length = match kind {
                    1 => 8,
                    2 => usize::try_from(varint(&mut || rest.next())?).ok()?,
                    _ => 4,
                };
                length.checked_sub(1).map_or(Some(0), |last| rest.nth(last))?;
                continue;
            }
            _ => return None,
        };
        let field = match key >> 3 {
            2 => &mut packet.command,
            3 => &mut packet.address,
            4 => &mut packet.bytes,
            5 => &mut packet.flags,
            _ => continue,
        };
        *field = value;
        seen |= 1 << (key >> 3);
    }
    // All but the flags are required.
    (seen & 0b11100 == 0b11100).then_some(packet)
}

/// A number of seven bits a byte, the lowest first.
fn varint(next: &mut impl FnMut() -> Option<u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = next()?;
        let seven = u64::from(byte & 0x7f);
        if seven << shift >> shift != seven {
            return None;
        }
        number |= seven << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
