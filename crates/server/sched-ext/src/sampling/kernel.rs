//! The program's maps and links.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::libbpf_sys::{BPF_PERF_EVENT, bpf_link_create, bpf_link_create_opts};
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, Object, ObjectBuilder};
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use zerocopy::{FromBytes as _, Immutable, IntoBytes};

use super::contract::{Part, Rest, Series, Window};
use super::{EVENTS, PLACES};
use crate::Error;
use crate::programs::{explained, map, program, run};

/// The program, as `build.rs` compiles it.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sampling.bpf.o"));

/// The program, loaded.
pub(super) struct LoadedProgram {
    ring: RingBuffer<'static>,
    came: Arc<Mutex<Vec<Window>>>,
    windows: MapHandle,
    parts: MapHandle,
    series: MapHandle,
    events: MapHandle,
    object: Object,
}

impl LoadedProgram {
    pub(super) fn load(parts: u32) -> Result<Self, Error> {
        let object = explained("the sampling program", || {
            let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
            for mut map in open.maps_mut() {
                let entries = match map.name().to_str() {
                    Some("parts" | "all_series") => parts,
                    Some("events") => parts.saturating_mul(PLACES),
                    _ => continue,
                };
                map.set_max_entries(entries)?;
            }
            open.load()
        })?;
        let windows = map(&object, "windows")?;
        let came = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&came);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&windows, move |record| {
                let window = Window::read_from_bytes(record).ok();
                to.lock().unwrap_or_else(PoisonError::into_inner).extend(window);
                0
            })
            .map_err(Error::kernel("the ring of windows"))?;
        let ring = builder.build().map_err(Error::kernel("the ring of windows"))?;
        let [parts, series, events] = ["parts", "all_series", "events"].map(|of| map(&object, of));
        let (parts, series, events) = (parts?, series?, events?);
        let sizes = [parts.value_size(), series.value_size()].map(usize::try_from);
        if sizes != [Ok(size_of::<Part>()), Ok(size_of::<Series>())] {
            return Err(Error::Setting("sampling.h and contract.rs differ".to_owned()));
        }
        Ok(Self { ring, came, windows, parts, series, events, object })
    }

    pub(super) fn attention(&self) -> BorrowedFd<'_> {
        self.windows.as_fd()
    }

    /// The records that have come since the last call.
    pub(super) fn take(&self) -> Vec<Window> {
        // Their number; the callback refuses none.
        let _ = self.ring.consume_raw();
        std::mem::take(&mut *self.came.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_series(&self, series: u32, to: &Series) -> Result<(), Error> {
        set(&self.series, series, to)
    }

    pub(super) fn set_part(&self, part: u32, to: &Part) -> Result<(), Error> {
        set(&self.parts, part, to)
    }

    /// A part as the program left it.
    pub(super) fn last(&self, part: u32) -> Option<Part> {
        let bytes = self.parts.lookup(&part.to_ne_bytes(), MapFlags::ANY).ok()??;
        Part::read_from_bytes(&bytes).ok()
    }

    /// Sets a part's events after the first, which the program reads.
    pub(super) fn set_events<'a>(
        &self,
        part: u32,
        events: impl Iterator<Item = BorrowedFd<'a>>,
    ) -> Result<(), Error> {
        for (place, event) in (part * PLACES + 1..).zip(events) {
            set(&self.events, place, &event.as_raw_fd())?;
        }
        Ok(())
    }

    /// Releases a part's events, which the map keeps open.
    pub(super) fn forget_events(&self, part: u32) {
        for place in (part * PLACES..).take(EVENTS) {
            // Removing missing ones fails, which does no harm.
            let _ = self.events.delete(&place.to_ne_bytes());
        }
    }

    /// Runs the program whenever the event, the first of the part, overflows.
    pub(super) fn attach(&self, event: BorrowedFd<'_>, part: u32) -> Result<OwnedFd, Error> {
        let overflow = program(&self.object, "overflow")?;
        let mut options = bpf_link_create_opts::default();
        options.sz = size_of_val(&options).try_into().unwrap_or_default();
        options.__bindgen_anon_1.perf_event.bpf_cookie = u64::from(part);
        let (program, event) = (overflow.as_fd().as_raw_fd(), event.as_raw_fd());
        // SAFETY: both descriptors are open during the call; the options are initialised, `sz` is
        // their size, and libbpf only reads them.
        let link = unsafe { bpf_link_create(program, event, BPF_PERF_EVENT, &raw const options) };
        if link < 0 {
            let why = io::Error::from_raw_os_error(-link).to_string();
            return Err(Error::Kernel { what: "sampling an event", why });
        }
        // SAFETY: the kernel has just made it for this call, and it has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(link) })
    }

    /// Adds a part's counts after its last overflow.
    pub(super) fn credit(&self, mut rest: Rest) -> Result<(), Error> {
        let credit = program(&self.object, "credit")?;
        let done = run(&credit, Some(&mut rest), None);
        done.map(drop).map_err(Error::kernel("a thread's last counts"))
    }
}

fn set(map: &MapHandle, key: u32, to: &(impl IntoBytes + Immutable)) -> Result<(), Error> {
    let done = map.update(&key.to_ne_bytes(), to.as_bytes(), MapFlags::ANY);
    done.map_err(Error::kernel("a map of the sampling program"))
}
