//! A kernel, fetched once and kept.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use fairways_resctrl_rules::platform::Kernel as Rules;
use rustix::fs::{FlockOperation, flock};

use crate::apt::Suite;
use crate::{Error, Guest, known, tools, unpack};

const SITES: &str = include_str!("../assets/sites.py");

/// The functions at which the kernel is stopped; a guest reports their addresses once.
const FUNCTIONS: &str = "native_cpuid|cat_wrmsr|mba_wrmsr_intel|mba_wrmsr_amd|resctrl_arch_rmid_read|__rmid_read_phys|__rmid_read|rmid_read";

/// A kernel of Debian's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// The newest, with sched_ext.
    #[default]
    Sid,
    /// Debian 13's, 6.12.
    Trixie,
    /// Debian 12's, 6.1.
    Bookworm,
}

impl Kernel {
    fn name(self) -> &'static str {
        match self {
            Self::Sid => "sid",
            Self::Trixie => "trixie",
            Self::Bookworm => "bookworm",
        }
    }

    /// The name of the newest package with this kernel, as Debian's archive has it now.
    ///
    /// # Errors
    ///
    /// The archive can't be reached, or has none.
    pub fn newest(self) -> Result<String, Error> {
        tools::persistently(|| Suite::fetch(self.name())?.newest(self.packages()))
    }

    /// The names of the suite's packages with kernels.
    const fn packages(self) -> &'static str {
        match self {
            Self::Sid => "^linux-binary-[0-9][^ ]*-cloud-amd64$",
            Self::Trixie | Self::Bookworm => "^linux-image-[0-9][^ ]*-cloud-amd64$",
        }
    }
}

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct Lab {
    directory: PathBuf,
    version: String,
}

impl Lab {
    /// Where kernels are kept: `FAIRWAYS_KERNEL_LAB`, or `target/kernel-lab` in the workspace.
    #[must_use]
    pub fn cache() -> PathBuf {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/kernel-lab");
        env::var_os("FAIRWAYS_KERNEL_LAB").map_or(workspace, PathBuf::from)
    }

    /// Opens a prepared lab; fetches and installs nothing.
    ///
    /// # Errors
    ///
    /// A program is missing, or the kernel does not exist.
    pub fn open(kernel: Kernel) -> Result<Self, Error> {
        tools::check()?;
        let directory = Self::cache().join(kernel.name());
        // Written last.
        match fs::read_to_string(directory.join("version")) {
            Ok(version) => Ok(Self { directory, version: version.trim().into() }),
            Err(_) => Err(Error::Unprepared(directory)),
        }
    }

    /// Fetches anything missing: programs by apt-get (as root), the kernel, the addresses in it at
    /// which it is stopped. Only one process does so at a time; the others wait, and find it done.
    /// Takes half a minute the first time.
    ///
    /// # Errors
    ///
    /// Programs are missing and this is not root, or the archive can't be reached.
    pub fn prepare(kernel: Kernel) -> Result<Self, Error> {
        let cache = Self::cache();
        fs::create_dir_all(&cache).map_err(Error::file(&cache))?;
        let _lock = lock(&cache.join("lock"))?;
        tools::install()?;
        if let Ok(ready) = Self::open(kernel) {
            return Ok(ready);
        }
        let directory = cache.join(kernel.name());
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(Error::file(&directory))?;
        }
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let package_files = directory.join("package");
        let package = tools::persistently(|| {
            let suite = Suite::fetch(kernel.name())?;
            let package = suite.newest(kernel.packages())?;
            suite.unpack(&package, &package_files)?;
            Ok(package)
        })?;
        let image = image(&package_files)?.ok_or_else(|| Error::NoKernel(package.clone()))?;
        let lab = Self { directory, version: package };
        fs::rename(&image, lab.image()).map_err(Error::file(&image))?;
        unpack::unpack(&lab.image(), &lab.vmlinux())?;
        lab.find_sites()?;
        let version = lab.directory.join("version");
        fs::write(&version, &lab.version).map_err(Error::file(&version))?;
        Ok(lab)
    }

    /// Boots once to learn the addresses of the kernel's functions, and looks into them.
    fn find_sites(&self) -> Result<(), Error> {
        let job = format!("grep -E ' ({FUNCTIONS})$' /proc/kallsyms");
        let outcome = Guest::new().job(&job).seconds(180).run(self)?;
        let symbols = self.directory.join("symbols");
        fs::write(&symbols, outcome.console.join("\n") + "\n").map_err(Error::file(&symbols))?;
        let script = self.directory.join("sites.py");
        fs::write(&script, SITES).map_err(Error::file(&script))?;
        let output = tools::run(
            Command::new("gdb")
                .args(["-nx", "-batch", "-x"])
                .arg(&script)
                .arg(self.vmlinux())
                .env("SYMBOLS", &symbols),
        )?;
        let sites: Vec<_> = output.lines().filter_map(|line| line.strip_prefix("SITE ")).collect();
        for kind in ["cpuid", "mask", "bandwidth", "select", "counter"] {
            if !sites.iter().any(|site| site.starts_with(kind)) {
                let what = format!("has no place of kind {kind} where the lab looks");
                return Err(Error::Image { path: self.vmlinux(), what });
            }
        }
        let path = self.sites();
        let mut file = File::create(&path).map_err(Error::file(&path))?;
        file.write_all((sites.join("\n") + "\n").as_bytes()).map_err(Error::file(&path))
    }

    /// The name of the kernel's package.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The rules of this version's resctrl, or of the newest known one before it.
    #[must_use]
    pub fn rules(&self) -> Rules {
        known::rules(&self.version)
    }

    /// The kernel as a boot loader takes it.
    fn image(&self) -> PathBuf {
        self.directory.join("vmlinuz")
    }

    /// The kernel as an ELF file with type information (BTF), but without symbols.
    #[must_use]
    pub fn vmlinux(&self) -> PathBuf {
        self.directory.join("vmlinux")
    }

    /// Lines "KIND ADDRESS".
    pub(crate) fn sites(&self) -> PathBuf {
        self.directory.join("sites")
    }
}

/// Waits for the lock, which is kept until this is dropped.
fn lock(path: &Path) -> Result<OwnedFd, Error> {
    let file = File::create(path).map_err(Error::file(path))?;
    flock(&file, FlockOperation::LockExclusive).map_err(|e| Error::file(path)(e.into()))?;
    Ok(file.into())
}

/// The kernel's image among the files of its package.
fn image(directory: &Path) -> Result<Option<PathBuf>, Error> {
    for entry in fs::read_dir(directory).map_err(Error::file(directory))? {
        let path = entry.map_err(Error::file(directory))?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if let Some(found) = image(&path)? {
                return Ok(Some(found));
            }
        } else if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("vmlinuz")) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The lab for a test; without one, prints so on the terminal, unless `FAIRWAYS_REQUIRE_SYSTEM` is
/// set: then prepares it. A kernel whose rules are not known is named there once.
///
/// # Panics
///
/// It is required, and can't be prepared.
#[must_use]
pub fn required(test: &str, kernel: Kernel) -> Option<Lab> {
    let lab = if env::var_os(fairways_testing::needs::REQUIRED).is_some() {
        match Lab::prepare(kernel) {
            Ok(lab) => lab,
            Err(error) => panic!("{test} needs the kernel lab: {error}"),
        }
    } else {
        Lab::open(kernel)
            .map_err(|error| fairways_testing::needs::skip(test, &error.to_string()))
            .ok()?
    };
    if let Some(line) = known::surprise(kernel.name(), lab.version()) {
        static NAMED: [Once; 3] = [const { Once::new() }; 3];
        // Past the capture of a test's output; once in all tests of a program.
        NAMED[kernel as usize].call_once(|| _ = writeln!(std::io::stderr(), "{line}"));
    }
    Some(lab)
}
