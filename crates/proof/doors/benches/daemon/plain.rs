//! A host whose resctrl is plain files.

use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_chip::Geometry;
use fairways_chip::preset::preset;
use fairways_emulator::{Emulator, Idle, Settings, host_files};
use fairways_resctrl_rules::platform::Platform;
use fairways_simulation::chip::processor_of;
use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};

/// Where every client looks for resctrl.
pub(crate) const RESCTRL: &str = "/sys/fs/resctrl";

/// The host's files, and the folder where copies of them are kept.
pub(crate) struct Host {
    folder: tempfile::TempDir,
    cpus: u32,
}

/// Runs a shell script with `folder` as `$1`.
fn shell(script: &str, folder: &Path) {
    let done = Command::new("sh").args(["-ec", script, "sh"]).arg(folder).status().unwrap();
    assert!(done.success(), "{script}");
}

impl Host {
    /// Hides the real /sys/fs from this process and its children, with everything that a client
    /// reads there.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        shell(
            r#"
            mount -t tmpfs -o nr_inodes=0 plain "$1"
            mkdir "$1/emulated" "$1/cgroup"
            mount --rbind /sys/fs/cgroup "$1/cgroup"
            mount -t tmpfs fs /sys/fs
            mkdir /sys/fs/resctrl /sys/fs/cgroup
            mount --rbind "$1/cgroup" /sys/fs/cgroup
            mount -t tmpfs -o nr_inodes=0 resctrl /sys/fs/resctrl
            "#,
            folder.path(),
        );
        Self { folder, cpus: 0 }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Fills resctrl for a machine with these CPUs: these threads are in the root's group, and
    /// other managers have `groups` groups.
    pub(crate) fn begin(&mut self, cpus: u32, groups: u32, threads: &[i32]) {
        if self.cpus != cpus {
            self.machine(cpus);
        }
        let root = Path::new(RESCTRL);
        for entry in fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        copy(&self.at("root"), root);
        let mut tasks = fs::OpenOptions::new().append(true).open(root.join("tasks")).unwrap();
        for thread in threads {
            writeln!(tasks, "{thread}").unwrap();
        }
        for group in 1..=groups {
            copy(&self.at("class"), &root.join(format!("COS{group}")));
        }
    }

    /// Copies the files of an emulated machine.
    fn machine(&mut self, cpus: u32) {
        shell(
            r#"
            for file in proc/cpuinfo proc/filesystems sys/devices/system/cpu sys/devices/system/node; do
                umount "/$file" 2>/dev/null || true
            done
            rm -rf "$1/host" "$1/root" "$1/class" "$1/monitor"
            "#,
            self.folder.path(),
        );
        let platform =
            Platform::skylake().with_rmids(1024).with_closids(crate::CLASSES).with_domains(1, cpus);
        let geometry = Geometry { cores: cpus, threads: 1, ..preset("xeon-e5").unwrap() };
        let mount = self.at("emulated");
        let processor = processor_of(&geometry);
        host_files::write(&self.at("host"), &platform, processor, &mount, "").unwrap();
        let emulator =
            Emulator::start(&mount, Settings::new(platform, Box::new(Idle::default()))).unwrap();
        copy(&mount, &self.at("root"));
        fs::create_dir(mount.join("class")).unwrap();
        // A class that has a part of the cache, as those of other managers have.
        fs::write(mount.join("class/schemata"), "L3:0=1\n").unwrap();
        copy(&mount.join("class"), &self.at("class"));
        fs::create_dir(mount.join("mon_groups/monitor")).unwrap();
        copy(&mount.join("mon_groups/monitor"), &self.at("monitor"));
        drop(emulator);
        for event in ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"] {
            fs::write(self.at("monitor/mon_data/mon_L3_00").join(event), "123456789\n").unwrap();
        }
        shell(
            r#"
            for file in proc/cpuinfo proc/filesystems sys/devices/system/cpu sys/devices/system/node; do
                mount --bind "$1/host/$file" "/$file"
            done
            "#,
            self.folder.path(),
        );
        self.cpus = cpus;
    }

    /// Fills the root's monitoring groups with files when clients make them, as long as this
    /// process lives.
    pub(crate) fn fill(&self) {
        let (groups, template) = (Path::new(RESCTRL).join("mon_groups"), self.at("monitor"));
        let inotify = init(CreateFlags::CLOEXEC).unwrap();
        add_watch(&inotify, &groups, WatchFlags::CREATE | WatchFlags::DELETE_SELF).unwrap();
        std::thread::spawn(move || {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(&inotify, &mut buffer);
            while let Ok(event) = reader.next() {
                let Some(name) = event.file_name().and_then(|name| name.to_str().ok()) else {
                    return;
                };
                // A group that is gone again needs no files.
                let _ = try_copy(&template, &groups.join(name));
            }
        });
    }
}

fn copy(from: &Path, to: &Path) {
    try_copy(from, to).unwrap_or_else(|why| panic!("{}: {why}", from.display()));
}

/// Copies files that can be read. Those that a client has made meanwhile stay as they are.
fn try_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, to) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            try_copy(&path, &to)?;
        } else if !to.exists() {
            // Some files can only be written.
            fs::write(to, fs::read(&path).unwrap_or_default())?;
        }
    }
    Ok(())
}
