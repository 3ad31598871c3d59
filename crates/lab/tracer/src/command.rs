//! Finds the program behind a command: an ELF file, to run under QEMU.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use thiserror::Error;

/// The QEMU that runs programs of this machine's kind.
pub const QEMU: &str = if cfg!(target_arch = "aarch64") { "qemu-aarch64" } else { "qemu-x86_64" };

/// All features of QEMU except fast strings: with them, libraries would copy byte by byte, and each
/// byte would be a reference.
const CPU: &str = if cfg!(target_arch = "aarch64") { "max" } else { "max,-erms,-fsrm" };

/// ELF's number for this machine's kind.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// A command that can be run: an ELF file, and its arguments, its name first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The file.
    pub file: PathBuf,
    /// Its arguments, its own name first.
    pub arguments: Vec<OsString>,
}

/// A command that can't be run like this.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: {what}")]
pub struct Unfit {
    file: String,
    what: &'static str,
}

impl Unfit {
    fn new(file: &Path, what: &'static str) -> Self {
        Self { file: file.display().to_string(), what }
    }
}

/// The most scripts whose interpreters are scripts.
const NESTED: usize = 4;

/// The bytes that the kernel reads of a script's first line.
const FIRST_LINE: usize = 256;

impl Executable {
    /// Finds the file that executing a file with these arguments, the name first, would run: the
    /// file itself, or for a script its interpreter.
    ///
    /// # Errors
    /// If there is no such file, it can't be executed, or is for another machine: [`Unfit`].
    pub fn resolve(file: &Path, arguments: &[OsString]) -> Result<Self, Unfit> {
        let (mut file, mut arguments) = (file.to_owned(), arguments.to_vec());
        for _ in 0..=NESTED {
            if !file.is_file() {
                return Err(Unfit::new(&file, "expected a program, found no such file"));
            }
            if access(&file, Access::EXEC_OK).is_err() {
                return Err(Unfit::new(&file, "expected a program that may be executed"));
            }
            let mut start = [0; FIRST_LINE];
            let read = File::open(&file).and_then(|mut file| file.read(&mut start));
            let start = read.map(|count| &start[..count]);
            let start =
                start.map_err(|_| Unfit::new(&file, "expected a program that can be read"))?;
            if let Some(line) = start.strip_prefix(b"#!") {
                let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
                let (interpreter, argument) = interpreter(line)
                    .ok_or_else(|| Unfit::new(&file, "expected #! and an interpreter"))?;
                let rest = arguments.into_iter().skip(1);
                let mut all = vec![OsString::from(interpreter)];
                all.extend(argument.map(OsString::from));
                all.push(file.into());
                all.extend(rest);
                (file, arguments) = (PathBuf::from(interpreter), all);
                continue;
            }
            if !is_of_this_machine(start) {
                let what = "expected a program of this machine's kind (ELF, 64 bits)";
                return Err(Unfit::new(&file, what));
            }
            return Ok(Self { file, arguments });
        }
        Err(Unfit::new(&file, "expected a program, found scripts that run scripts"))
    }

    /// The arguments of QEMU, its own name first; `plugin` follows its `-plugin`.
    #[must_use]
    pub fn under(&self, qemu: &OsStr, plugin: &OsStr) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec![qemu.into()];
        all.extend(["-cpu", CPU, "-plugin"].map(OsString::from));
        all.push(plugin.into());
        all.push("-0".into());
        all.push(self.arguments.first().cloned().unwrap_or_default());
        all.push(self.file.clone().into());
        all.extend(self.arguments.iter().skip(1).cloned());
        all
    }
}

fn interpreter(line: &[u8]) -> Option<(&OsStr, Option<&OsStr>)> {
    let line = line.trim_ascii();
    let (name, argument) = match line.iter().position(u8::is_ascii_whitespace) {
        Some(end) => (&line[..end], Some(line[end..].trim_ascii())),
        None => (line, None),
    };
    (!name.is_empty()).then(|| (OsStr::from_bytes(name), argument.map(OsStr::from_bytes)))
}

fn is_of_this_machine(start: &[u8]) -> bool {
    let machine = start.get(18..20).and_then(|two| two.try_into().ok()).map(u16::from_le_bytes);
    start.starts_with(b"\x7fELF\x02\x01") && machine == Some(MACHINE)
}

/// The file with a command's name, as a shell finds it.
#[must_use]
pub fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|file| file.exists());
    }
    find_in(name, &std::env::var_os("PATH")?)
}

/// The same with this `PATH`, for a name without folders.
pub(crate) fn find_in(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let mut files = std::env::split_paths(path).map(|folder| folder.join(name));
    files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_have_at_most_one_argument() {
        let found = |line: &'static str| interpreter(line.as_bytes());
        assert_eq!(found(" /bin/sh"), Some((OsStr::new("/bin/sh"), None)));
        let both = Some((OsStr::new("/usr/bin/env"), Some(OsStr::new("python3 -u"))));
        assert_eq!(found("/usr/bin/env  python3 -u "), both);
        assert_eq!(found("  "), None);
    }

    fn refusal(file: &str) -> String {
        Executable::resolve(Path::new(file), &[]).expect_err(file).to_string()
    }

    #[test]
    fn a_file_that_cant_be_run_is_refused_in_a_line() {
        assert_eq!(refusal("/nonesuch"), "/nonesuch: expected a program, found no such file");
        let here = "/proc/self/maps";
        assert_eq!(refusal(here), format!("{here}: expected a program that may be executed"));
        let this = std::env::current_exe().expect("this program");
        let target = Executable::resolve(&this, &["it".into(), "-x".into()]).expect("a program");
        let arguments = target.under(OsStr::new("qemu"), OsStr::new("p"));
        let expected = ["qemu", "-cpu", CPU, "-plugin", "p", "-0", "it"].map(OsString::from);
        assert_eq!(arguments[..7], expected);
        assert_eq!(arguments[7..], [this.into_os_string(), "-x".into()]);
    }
}
