//! A program that executes another one: the exec is noted, and done under QEMU where that is
//! requested.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use fairways_tracer::{Executable, NoteKind};

use crate::Loaded;

/// The numbers of the system calls.
pub(crate) const EXECVE: i64 = if cfg!(target_arch = "aarch64") { 221 } else { libc::SYS_execve };
pub(crate) const EXECVEAT: i64 =
    if cfg!(target_arch = "aarch64") { 281 } else { libc::SYS_execveat };

/// Whether the folder of an `execveat` is the program's working directory.
pub(crate) fn is_here(folder: u64) -> bool {
    #[allow(clippy::cast_possible_truncation, reason = "an int, of which the rest is undefined")]
    let folder = folder as i32;
    folder == libc::AT_FDCWD
}

/// The arguments of an `execve`: addresses in the program's memory.
pub(crate) struct Exec {
    pub(crate) path: u64,
    pub(crate) arguments: u64,
    pub(crate) environment: u64,
}

/// The longest text and the most texts that are read: more than the kernel accepts.
const LONGEST: usize = 1 << 17;
const MOST: usize = 1 << 16;

impl Exec {
    /// Notes it, and carries it out under QEMU where programs are followed. Returns if it is left
    /// to QEMU.
    pub(crate) fn notice(&self, loaded: &Loaded, base: u64) {
        let Some(path) = text(self.path, base) else { return };
        let file = Path::new(OsStr::from_bytes(&path));
        // A missing one is looked for in the next folder of PATH.
        if CString::new(path.clone()).is_ok_and(|path| {
            // SAFETY: a text that ends with a zero.
            unsafe { libc::access(path.as_ptr(), libc::X_OK) != 0 }
        }) {
            return;
        }
        loaded.session.note(NoteKind::Execs, &path);
        // Under another user, the files it needs to load may be out of reach.
        if !loaded.session.follows() || !loaded.session.is_in_reach() {
            return;
        }
        let Some(arguments) = texts(self.arguments, base) else { return };
        let Some(environment) = texts(self.environment, base) else { return };
        let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from_vec).collect();
        let Ok(target) = Executable::resolve(file, &arguments) else { return };
        let all = target.under(OsStr::new(&loaded.qemu), OsStr::new(&loaded.option));
        let all: Vec<Vec<u8>> = all.into_iter().map(OsString::into_vec).collect();
        let Ok(qemu) = CString::new(loaded.qemu.as_bytes()) else { return };
        let (Some(all), Some(environment)) = (Texts::new(all), Texts::new(environment)) else {
            return;
        };
        // SAFETY: texts that end with a zero, and lists of them that end with null.
        unsafe { libc::execve(qemu.as_ptr(), all.list.as_ptr(), environment.list.as_ptr()) };
    }
}

/// Texts as `execve` takes them.
struct Texts {
    _owned: Vec<CString>,
    list: Vec<*const libc::c_char>,
}

impl Texts {
    fn new(texts: Vec<Vec<u8>>) -> Option<Self> {
        let held = texts.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>().ok()?;
        let list = held.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Some(Self { _owned: held, list })
    }
}

/// Reads the program's memory, as much as is mapped.
fn read(address: u64, base: u64, bytes: &mut [u8]) -> usize {
    let address = usize::try_from(address.wrapping_add(base)).unwrap_or(0);
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(address),
        iov_len: bytes.len(),
    };
    // SAFETY: `here` is a buffer of that length; the kernel finds out what is not mapped at
    // `there`.
    let count = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    usize::try_from(count).unwrap_or(0)
}

/// The text at an address.
fn text(address: u64, base: u64) -> Option<Vec<u8>> {
    let (mut text, mut at) = (Vec::new(), address);
    while text.len() < LONGEST {
        // Not across pages: the next one may not be mapped.
        let mut bytes = [0; 256];
        let most = 256 - usize::try_from(at % 256).unwrap_or(0);
        let count = read(at, base, &mut bytes[..most]);
        if count == 0 {
            return None;
        }
        if let Some(end) = bytes[..count].iter().position(|&byte| byte == 0) {
            text.extend(&bytes[..end]);
            return Some(text);
        }
        text.extend(&bytes[..count]);
        at += count as u64;
    }
    None
}

/// The texts of a list that ends with null; none where there is no list.
fn texts(list: u64, base: u64) -> Option<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    if list == 0 {
        return Some(all);
    }
    for place in 0..MOST {
        let mut address = [0; 8];
        if read(list + 8 * place as u64, base, &mut address) < 8 {
            return None;
        }
        match u64::from_ne_bytes(address) {
            0 => return Some(all),
            address => all.push(text(address, base)?),
        }
    }
    None
}
