//! ChampSim's traces: a record of 64 bytes for each instruction, little-endian.
//!
//! A record is the struct `input_instr` of ChampSim's `inc/trace_instruction.h`: the instruction's
//! address, whether it branches, whether the branch is taken, the registers that it writes (two)
//! and reads (four), and the addresses that it writes (two) and reads (four), 0 where there is
//! none. Sizes of accesses are not in it, nor is a mark at the beginning or at the end.

use super::error::Result;
use super::record::{Decode, Input, TraceItem, fill};

const RECORD: usize = 64;
/// Where the instruction's address ends.
const ADDRESS: usize = 8;
const BRANCHES: usize = 8;
const TAKEN: usize = 9;
const WRITTEN: usize = 16;
const READ: usize = 32;

/// Whether a trace may begin like this.
pub(crate) fn begins(start: &[u8]) -> bool {
    start.chunks_exact(RECORD).all(is_record)
}

fn is_record(record: &[u8]) -> bool {
    record[BRANCHES] <= 1 && record[TAKEN] <= 1
}

/// Records after another whose instruction has the address 0, at most: what is not mapped is not
/// executed, but tools that convert traces leave a few out.
const MOST_WITHOUT_ADDRESS: u64 = 1024;

#[derive(Default)]
pub(crate) struct Champsim {
    records: u64,
    /// The last of them whose instruction has the address 0.
    without_address: u64,
}

impl Champsim {
    fn check_addresses(&self) -> Result<()> {
        let is_all = self.without_address == self.records;
        if self.records > 0 && (is_all || self.without_address > MOST_WITHOUT_ADDRESS) {
            return Err(format!(
                "{} records before record {} have the instruction pointer 0: expected a trace of \
                 ChampSim",
                self.without_address, self.records
            ));
        }
        Ok(())
    }
}

impl Decode for Champsim {
    fn next(&mut self, input: &mut Input, items: &mut Vec<TraceItem>) -> Result<bool> {
        let mut record = [0; RECORD];
        if !fill(input, &mut record, self.records)? {
            self.check_addresses()?;
            return Ok(false);
        }
        if !is_record(&record) {
            return Err(format!("record {} is not in ChampSim's format", self.records));
        }
        self.records += 1;
        let has_address = record[..ADDRESS].iter().any(|&byte| byte != 0);
        self.without_address = if has_address { 0 } else { self.without_address + 1 };
        if self.without_address > MOST_WITHOUT_ADDRESS {
            self.check_addresses()?;
        }
        items.push(TraceItem::Instructions(1));
        for (addresses, is_store) in [(&record[READ..], false), (&record[WRITTEN..READ], true)] {
            let addresses = addresses.chunks_exact(8);
            let addresses =
                addresses.map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
            let accesses = addresses.filter(|&address| address != 0);
            items.extend(accesses.map(|address| TraceItem::access(is_store, address, 1)));
        }
        Ok(true)
    }
}
