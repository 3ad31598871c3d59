//! Reads records from the kernel.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use zerocopy::FromBytes as _;

use crate::Error;
use crate::contract::{self, COUNTERS};
use crate::settings::{FinishedTurn, Occupant, Records, Turn};

/// The ring of records.
pub(crate) struct Reader {
    ring: RingBuffer<'static>,
    came: Arc<Mutex<Records>>,
    map: MapHandle,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("map", &self.map).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(map: MapHandle) -> Result<Self, Error> {
        let came = Arc::new(Mutex::new(Records::default()));
        let to = Arc::clone(&came);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&map, move |record| {
                parse(record, &mut to.lock().unwrap_or_else(PoisonError::into_inner));
                0
            })
            .map_err(Error::kernel("the ring of records"))?;
        let ring = builder.build().map_err(Error::kernel("the ring of records"))?;
        Ok(Self { ring, came, map })
    }

    pub(crate) fn read(&self, records: &mut Records) -> Result<(), Error> {
        self.ring.consume().map_err(Error::kernel("the ring of records"))?;
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        records.turns.append(&mut came.turns);
        records.finished.append(&mut came.finished);
        Ok(())
    }
}

impl AsFd for Reader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

fn parse(record: &[u8], records: &mut Records) {
    let Ok((kind, _)) = u32::read_from_prefix(record) else { return };
    if kind == contract::FINISHED {
        let Ok((finished, _)) = contract::FinishedTurn::read_from_prefix(record) else { return };
        records.finished.push(FinishedTurn {
            key: finished.key,
            thread: finished.tid,
            cpu: finished.cpu,
            ordered: Duration::from_nanos(finished.ordered),
            ran: Duration::from_nanos(finished.ran),
            at: finished.at,
        });
        return;
    }
    let Ok((turn, _)) = contract::Turn::read_from_prefix(record) else { return };
    let occupant = match kind {
        contract::TURN_IDLE => Occupant::Idle,
        contract::TURN_THREAD => Occupant::Thread(turn.key),
        _ => Occupant::Other,
    };
    let mut counters = [None; COUNTERS];
    for (slot, (to, from)) in counters.iter_mut().zip(turn.counters).enumerate() {
        *to = (turn.counted >> slot & 1 == 1).then_some(from);
    }
    records.turns.push(Turn {
        cpu: turn.cpu,
        occupant,
        thread: turn.tid,
        span: (turn.from, turn.to),
        counters,
        goes_on: turn.goes_on != 0,
    });
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub(crate) fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives across the call, which fills it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
