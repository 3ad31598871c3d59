//! An emulator, a client, and processes to manage.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fairways_core::{AppId, BandwidthLevel, Partition, Resources, WayMask};
use fairways_emulator::{Emulator, Idle, Pace, Settings as Emulated};
use fairways_resctrl_client::{Actuator, Settings};
use fairways_resctrl_rules::platform::Platform;
use fairways_testing::needs::{Need, has};

/// Whether this system lets tests mount; says so where it does not, and panics where it must.
pub(crate) fn can_mount() -> bool {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    has(&test, &[Need::Fuse, Need::Root])
}

/// A host with an emulated resctrl.
pub(crate) struct Host {
    emulator: Option<Emulator>,
    pub(crate) settings: Settings,
    folder: tempfile::TempDir,
}

impl Deref for Host {
    type Target = Emulator;

    fn deref(&self) -> &Emulator {
        self.emulator.as_ref().unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.emulator = None;
    }
}

impl Host {
    pub(crate) fn new(platform: Platform) -> Self {
        Self::with_options(platform, "")
    }

    pub(crate) fn with_options(platform: Platform, options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("resctrl")).unwrap();
        fs::write(at("boot_id"), "5f7c4a32-8a0f-4d0a-9f1e-000000000001\n").unwrap();
        for (cpu, caches) in &platform.cpus {
            let index = at(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index3"));
            fs::create_dir_all(&index).unwrap();
            fs::write(index.join("level"), "3\n").unwrap();
            fs::write(index.join("id"), format!("{}\n", caches.l3)).unwrap();
        }
        let settings = Settings {
            root: at("resctrl"),
            state: at("state"),
            boot_id: at("boot_id"),
            sysfs: at("sys"),
            ..Settings::default()
        };
        let emulated = Emulated {
            pace: Pace::Lockstep,
            options: options.to_owned(),
            ..Emulated::new(platform, Box::new(Idle::default()))
        };
        let emulator = Some(Emulator::start(&settings.root, emulated).unwrap());
        Self { emulator, settings, folder }
    }

    /// A client with these settings.
    pub(crate) fn open(&self) -> Actuator {
        Actuator::open(self.settings.clone()).unwrap()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.settings.root.join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        OpenOptions::new().write(true).open(self.path(path))?.write(text.as_bytes()).map(drop)
    }

    /// A group, as another manager makes it.
    pub(crate) fn group(&self, name: &str, schemata: &str) {
        fs::create_dir(self.path(name)).unwrap();
        if !schemata.is_empty() {
            self.write(&format!("{name}/schemata"), schemata).unwrap();
        }
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    pub(crate) fn threads(&self, group: &str) -> Vec<i32> {
        let path = if group.is_empty() { "tasks".to_owned() } else { format!("{group}/tasks") };
        self.read(&path).lines().map(|line| line.parse().unwrap()).collect()
    }

    pub(crate) fn fault(&self, text: &str) {
        self.arm(text.parse().unwrap());
    }

    /// Every group with what is set in it, except tasks of the root: other processes run beside
    /// this test.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        gather(&self.settings.root, "", &mut found);
        found
    }
}

fn gather(root: &Path, group: &str, found: &mut BTreeMap<String, String>) {
    let dir = root.join(group);
    for file in ["schemata", "mode", "cpus", "tasks"] {
        let text = fs::read_to_string(dir.join(file));
        if let Ok(text) = text
            && !(group.is_empty() && file == "tasks")
        {
            found.insert(format!("{group}/{file}"), text);
        }
    }
    for below in ["", "mon_groups"] {
        for entry in fs::read_dir(dir.join(below)).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let fixed = ["info", "mon_groups", "mon_data"].contains(&name.as_str());
            if entry.file_type().unwrap().is_dir() && !fixed {
                let path = Path::new(group).join(below).join(name);
                gather(root, path.to_str().unwrap(), found);
            }
        }
    }
}

/// A process that waits.
pub(crate) struct Sleeper(Child);

impl Sleeper {
    pub(crate) fn start() -> Self {
        let mut command = Command::new("/bin/sleep");
        Self(command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn mask(bits: u32) -> WayMask {
    WayMask::from_bits(bits)
}

/// Clusters by mask, each with a level of memory bandwidth; 0 is none.
pub(crate) fn levelled(clusters: &[(u32, u32, &[u32])]) -> Partition {
    let mut partition = Partition::default();
    for (bits, level, apps) in clusters {
        let bandwidth = BandwidthLevel::new(*level);
        let cluster = partition.add(Resources { mask: mask(*bits), bandwidth });
        apps.iter().for_each(|&app| partition.place(AppId(app), cluster));
    }
    partition
}

/// Clusters by mask.
pub(crate) fn plan(clusters: &[(u32, &[u32])]) -> Partition {
    let mut partition = Partition::default();
    for (bits, apps) in clusters {
        let cluster = partition.add_cluster(mask(*bits));
        apps.iter().for_each(|&app| partition.place(AppId(app), cluster));
    }
    partition
}
