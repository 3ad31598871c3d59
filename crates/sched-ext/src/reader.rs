//! What comes from the kernel.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use libbpf_rs::{MapHandle, RingBuffer, RingBufferBuilder};
use zerocopy::FromBytes as _;

use crate::Error;
use crate::contract::{self, COUNTERS};
use crate::settings::{Given, Told, Turn, Who};

/// The ring of records.
pub(crate) struct Reader {
    ring: RingBuffer<'static>,
    came: Arc<Mutex<Told>>,
    map: MapHandle,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("map", &self.map).finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn new(map: MapHandle) -> Result<Self, Error> {
        let came = Arc::new(Mutex::new(Told::default()));
        let to = Arc::clone(&came);
        let take = move |record: &[u8]| {
            parse(record, &mut to.lock().unwrap_or_else(PoisonError::into_inner));
            0
        };
        let mut builder = RingBufferBuilder::new();
        builder.add(&map, take).map_err(Error::kernel("the ring of records"))?;
        let ring = builder.build().map_err(Error::kernel("the ring of records"))?;
        Ok(Self { ring, came, map })
    }

    pub(crate) fn read(&self, told: &mut Told) -> Result<(), Error> {
        self.ring.consume().map_err(Error::kernel("the ring of records"))?;
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        told.turns.append(&mut came.turns);
        told.given.append(&mut came.given);
        Ok(())
    }
}

impl AsFd for Reader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

fn parse(record: &[u8], told: &mut Told) {
    let Ok((kind, _)) = u32::read_from_prefix(record) else { return };
    if kind == contract::GIVEN {
        let Ok((given, _)) = contract::Given::read_from_prefix(record) else { return };
        told.given.push(Given {
            key: given.key,
            thread: given.tid,
            cpu: given.cpu,
            ordered: Duration::from_nanos(given.ordered),
            ran: Duration::from_nanos(given.ran),
            at: given.at,
        });
        return;
    }
    let Ok((turn, _)) = contract::Turn::read_from_prefix(record) else { return };
    let who = match kind {
        contract::TURN_IDLE => Who::Idle,
        contract::TURN_THREAD => Who::Thread(turn.key),
        _ => Who::Other,
    };
    let mut counters = [None; COUNTERS];
    for (slot, (to, from)) in counters.iter_mut().zip(turn.counters).enumerate() {
        *to = (turn.counted >> slot & 1 == 1).then_some(from);
    }
    told.turns.push(Turn {
        cpu: turn.cpu,
        who,
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
