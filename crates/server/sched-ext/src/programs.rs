//! Loads objects of programs into the kernel, and reads what they share with this side.

use std::ffi::OsStr;
use std::sync::{Mutex, PoisonError};

use libbpf_rs::{
    MapCore as _, MapFlags, MapHandle, Object, OpenObject, PrintLevel, ProgramInput, ProgramMut,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::Error;

/// libbpf's complaints: one object is loaded at a time.
static COMPLAINTS: Mutex<String> = Mutex::new(String::new());

/// The most lines of complaints that are passed on.
const LINES: usize = 12;

fn complain(_: PrintLevel, text: String) {
    COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
}

/// Runs an operation for which libbpf would print the reason of a failure; the reason goes into the
/// error.
pub(crate) fn explained<T>(
    what: &'static str,
    act: impl FnOnce() -> libbpf_rs::Result<T>,
) -> Result<T, Error> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = libbpf_rs::set_print(Some((PrintLevel::Warn, complain)));
    let result = act();
    libbpf_rs::set_print(before);
    let complaints =
        std::mem::take(&mut *COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner));
    result.map_err(|error| {
        let lines: Vec<&str> = complaints.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        Error::Kernel { what, why: format!("{error:#}\n{last}").trim_end().to_owned() }
    })
}

/// Sets the first bytes of a section or structure before it is loaded.
pub(crate) fn set<T: IntoBytes + Immutable>(
    object: &mut OpenObject,
    map: &str,
    value: &T,
) -> Result<(), Error> {
    let mut found = object.maps_mut().find(|m| m.name() == OsStr::new(map));
    let bytes = found.as_mut().and_then(|found| found.initial_value_mut());
    let place = bytes.and_then(|bytes| bytes.get_mut(..size_of::<T>()));
    let place = place.ok_or_else(|| Error::Setting(format!("the object has no {map}")))?;
    place.copy_from_slice(value.as_bytes());
    Ok(())
}

/// A map of a loaded object.
pub(crate) fn map(object: &Object, name: &str) -> Result<MapHandle, Error> {
    let found = object.maps().find(|m| m.name() == OsStr::new(name));
    let found = found.ok_or_else(|| Error::Setting(format!("the object has no map {name}")))?;
    MapHandle::try_from(&found).map_err(Error::kernel("a map"))
}

/// A section of a loaded object, as it is now.
pub(crate) fn section<T: FromBytes>(map: &MapHandle) -> Result<T, Error> {
    let bytes =
        map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(Error::kernel("a section"))?;
    let value = bytes.and_then(|bytes| Some(T::read_from_prefix(&bytes).ok()?.0));
    value.ok_or_else(|| Error::Setting("a section is too short".into()))
}

/// Runs a program once, with this context, on this CPU if one is given, and returns its result.
pub(crate) fn run<T: IntoBytes + FromBytes + Immutable>(
    program: &ProgramMut<'_>,
    context: Option<&mut T>,
    cpu: Option<u32>,
) -> libbpf_rs::Result<i32> {
    /// `BPF_F_TEST_RUN_ON_CPU` of `linux/bpf.h`.
    const ON_CPU: u32 = 1;
    let input = ProgramInput {
        context_in: context.map(IntoBytes::as_mut_bytes),
        cpu: cpu.unwrap_or(0),
        flags: if cpu.is_some() { ON_CPU } else { 0 },
        ..ProgramInput::default()
    };
    Ok(program.test_run(input)?.return_value.cast_signed())
}

/// A program of a loaded object.
pub(crate) fn program<'o>(object: &'o Object, name: &str) -> Result<ProgramMut<'o>, Error> {
    let found = object.progs_mut().find(|p| p.name() == OsStr::new(name));
    found.ok_or_else(|| Error::Setting(format!("the object has no program {name}")))
}
