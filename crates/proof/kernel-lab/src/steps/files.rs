//! A mounted resctrl tree: the kernel's, or one that looks like it.

use std::ffi::CString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;

use super::{Entry, Errno, Placeholders, Target};

/// Operations on a mount as a whole.
pub trait Mounting {
    /// Unmounts what is mounted, then mounts with these options, separated by commas.
    ///
    /// # Errors
    ///
    /// mount(2)'s; then nothing is mounted.
    fn mount(&mut self, options: &str) -> Result<(), Errno>;

    /// Plugs a CPU in or out.
    ///
    /// # Errors
    ///
    /// The system's.
    fn cpu(&mut self, cpu: u32, online: bool) -> Result<(), Errno>;
}

/// The kernel's own, and this machine's CPUs.
#[derive(Debug)]
pub struct KernelMount {
    root: PathBuf,
    mounted: bool,
}

impl KernelMount {
    /// Will be mounted at this directory, where nothing is mounted yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), mounted: false }
    }
}

impl Mounting for KernelMount {
    fn mount(&mut self, options: &str) -> Result<(), Errno> {
        if self.mounted {
            unmount(&self.root, UnmountFlags::empty())?;
            self.mounted = false;
        }
        let data = CString::new(options).map_err(|_| Errno(22))?;
        mount("resctrl", &self.root, "resctrl", MountFlags::empty(), Some(data.as_c_str()))?;
        self.mounted = true;
        Ok(())
    }

    fn cpu(&mut self, cpu: u32, online: bool) -> Result<(), Errno> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
        Ok(fs::write(path, if online { "1" } else { "0" })?)
    }
}

impl Drop for KernelMount {
    fn drop(&mut self) {
        if self.mounted {
            let _ = unmount(&self.root, UnmountFlags::DETACH);
        }
    }
}

/// A tree of files at a mount.
#[derive(Debug)]
pub struct Files<M> {
    root: PathBuf,
    mounting: M,
    tasks: Placeholders,
}

impl<M: Mounting> Files<M> {
    /// The tree at `root`, which `mounting` mounts.
    pub fn new(root: impl Into<PathBuf>, mounting: M, tasks: Placeholders) -> Self {
        Self { root: root.into(), mounting, tasks }
    }

    fn at(&self, path: &str) -> PathBuf {
        // An absolute path would leave the mount.
        self.root.join(Path::new(path.trim_start_matches('/')))
    }
}

impl<M: Mounting> Target for Files<M> {
    fn mount(&mut self, options: &str) -> Result<(), Errno> {
        self.mounting.mount(options)
    }

    fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        Ok(rustix::fs::mkdir(self.at(path), rustix::fs::Mode::from_raw_mode(0o755))?)
    }

    fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        Ok(rustix::fs::rmdir(self.at(path))?)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        Ok(rustix::fs::rename(self.at(from), self.at(to))?)
    }

    fn write(&mut self, path: &str, text: &[u8]) -> Result<usize, Errno> {
        let mut file = fs::OpenOptions::new().write(true).open(self.at(path))?;
        Ok(file.write(text)?)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        fs::File::open(self.at(path))?.read_to_end(&mut text)?;
        Ok(text)
    }

    fn list(&mut self, path: &str) -> Result<Vec<Entry>, Errno> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.at(path))? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                directory: metadata.is_dir(),
                permissions: metadata.permissions().mode() & 0o7777,
                user: metadata.uid(),
            });
        }
        Ok(entries)
    }

    fn cpu(&mut self, cpu: u32, online: bool) -> Result<(), Errno> {
        self.mounting.cpu(cpu, online)
    }

    fn wait(&mut self, milliseconds: u64) {
        thread::sleep(Duration::from_millis(milliseconds));
    }

    fn act_as(&mut self, user: u32) -> Result<(), Errno> {
        // The saved id stays root's, which leaves a way back; only root may become any user.
        let (root, user) = (Uid::ROOT, Uid::from_raw(user));
        set_thread_res_uid(root, root, root)?;
        Ok(set_thread_res_uid(root, user, root)?)
    }

    fn tasks(&self) -> Vec<(&'static str, i32)> {
        self.tasks.ids().to_vec()
    }
}
