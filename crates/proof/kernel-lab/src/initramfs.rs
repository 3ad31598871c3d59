//! The guest's first file system: an archive in cpio's "newc" format, which the kernel unpacks
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_testing::needs::find;

use crate::Error;
use crate::tools::run;

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const DEVICE: u32 = 0o020_600;

/// An archive that grows.
pub(crate) struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
    there: BTreeSet<PathBuf>,
}

impl Initramfs {
    /// With busybox and the first process.
    pub(crate) fn new() -> Result<Self, Error> {
        let mut all = Self { bytes: Vec::new(), entries: 0, there: BTreeSet::new() };
        for directory in
            ["bin", "dev", "proc", "root", "run", "sbin", "sys", "usr/bin", "usr/sbin", "var"]
        {
            all.directories(Path::new(directory));
        }
        // The first process's output, before there is a devtmpfs.
        all.entry("dev/console", DEVICE, (5, 1), b"");
        all.data("/init", 0o755, include_bytes!("../assets/init.sh"));
        let busybox = find("busybox").ok_or_else(|| Error::program("busybox", "is missing"))?;
        all.file(&busybox, Path::new("/bin/busybox"))?;
        Ok(all)
    }

    fn directories(&mut self, path: &Path) {
        let mut above: Vec<_> = path.ancestors().filter(|p| !p.as_os_str().is_empty()).collect();
        above.reverse();
        for directory in above {
            if self.there.insert(directory.into()) {
                self.entry(&directory.to_string_lossy(), DIRECTORY, (0, 0), b"");
            }
        }
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), data: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let mut header = String::from("070701");
        let (inode, links) = (self.entries, 1);
        // Owner, group and times are 0, and so is the checksum, which this format lacks.
        for field in [inode, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name_size, 0] {
            header.push_str(&format!("{field:08x}"));
        }
        self.bytes.extend_from_slice(header.as_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(data);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Adds a file with these permissions; an existing one stays.
    pub(crate) fn data(&mut self, to: impl AsRef<Path>, permissions: u32, data: &[u8]) {
        let to = to.as_ref();
        let to = to.strip_prefix("/").unwrap_or(to);
        if let Some(parent) = to.parent() {
            self.directories(parent);
        }
        if self.there.insert(to.into()) {
            self.entry(&to.to_string_lossy(), REGULAR | permissions, (0, 0), data);
        }
    }

    /// Adds a file of this machine and, if it is a program, the libraries that it loads; or a
    /// directory with everything in it.
    pub(crate) fn file(&mut self, from: &Path, to: &Path) -> Result<(), Error> {
        let metadata = fs::metadata(from).map_err(Error::file(from))?;
        if metadata.is_dir() {
            for entry in fs::read_dir(from).map_err(Error::file(from))? {
                let entry = entry.map_err(Error::file(from))?;
                self.file(&entry.path(), &to.join(entry.file_name()))?;
            }
            return Ok(());
        }
        let data = fs::read(from).map_err(Error::file(from))?;
        self.data(to, metadata.permissions().mode() & 0o7777, &data);
        if data.starts_with(b"\x7fELF") {
            for library in libraries(from) {
                let data = fs::read(&library).map_err(Error::file(&library))?;
                self.data(&library, 0o755, &data);
            }
        }
        Ok(())
    }

    /// The archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), b"");
        self.bytes
    }
}

/// The libraries that a program loads; none for a static one.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let listed = run(Command::new("ldd").arg(program)).unwrap_or_default();
    let words = listed.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(PathBuf::from).filter(|file| file.is_file()).collect()
}
