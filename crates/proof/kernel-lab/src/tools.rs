//! The programs that the lab uses.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use fairways_testing::needs::find;

use crate::Error;

/// A program, and Debian's package of it.
const TOOLS: [(&str, &str); 9] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("gdb", "gdb"),
    ("busybox", "busybox-static"),
    ("zstd", "zstd"),
    ("xz", "xz-utils"),
    ("lz4", "lz4"),
    ("setpriv", "util-linux"),
    ("ldd", "libc-bin"),
    ("dpkg", "dpkg"),
];

/// Makes apt-get retry a file that does not come.
pub(crate) const PATIENT: [&str; 2] = ["-o", "Acquire::Retries=5"];

/// Seconds between attempts to reach the archive.
const PAUSES: [u64; 4] = [5, 10, 20, 40];

/// Tries again, after longer and longer pauses: an archive is at times out of reach, or between two
/// states.
pub(crate) fn persistently<T>(attempt: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    for pause in PAUSES {
        match attempt() {
            Err(why @ (Error::Program { .. } | Error::NoKernel(_))) => {
                eprintln!("fairways-kernel-lab: {why}: again in {pause} s");
                thread::sleep(Duration::from_secs(pause));
            }
            outcome => return outcome,
        }
    }
    attempt()
}

fn packages() -> Vec<&'static str> {
    TOOLS.iter().map(|&(_, package)| package).collect()
}

/// Checks that all programs are installed.
pub(crate) fn check() -> Result<(), Error> {
    match TOOLS.iter().find(|(name, _)| find(name).is_none()) {
        Some(&(name, _)) => {
            Err(Error::Tools { missing: name.into(), packages: packages().join(" ") })
        }
        None => Ok(()),
    }
}

/// Installs missing programs with apt-get, if this is root.
pub(crate) fn install() -> Result<(), Error> {
    if check().is_ok() || !rustix::process::geteuid().is_root() || find("apt-get").is_none() {
        return check();
    }
    let mut arguments = vec!["-qq", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends"];
    arguments.extend(PATIENT);
    arguments.extend(["install", "-y"]);
    arguments.extend(packages());
    let install = || run(Command::new("apt-get").args(&arguments));
    if install().is_err() {
        // The lists may be old, or missing.
        persistently(|| {
            let lists = run(Command::new("apt-get").args(PATIENT).args(["-qq", "update"]));
            // A package that could not be listed may not be the missing one.
            install().map_err(|why| lists.err().unwrap_or(why))
        })?;
    }
    check()
}

/// A program's output; its last words if it fails.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().map_err(|e| Error::program(&name, e))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last = words.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned);
        return Err(Error::program(&name, last.unwrap_or_else(|| output.status.to_string())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A command that is killed with the thread that starts it, however that ends.
pub(crate) fn dependent(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}
