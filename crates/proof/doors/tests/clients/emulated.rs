//! The emulator as a user starts it, for clients that others wrote.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Much longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a program where it sees the simulated machine's `/proc` and `/sys`, and resctrl at its
/// usual place.
const SEE_THE_MACHINE: &str = r#"
mount --make-rprivate /
for file in proc/cpuinfo proc/filesystems sys/devices/system/cpu sys/devices/system/node; do
    mount --bind "$1/$file" "/$file"
done
mount -t tmpfs none /sys/fs
mkdir /sys/fs/resctrl
mount --bind "$2" /sys/fs/resctrl
shift 2
exec "$@"
"#;

/// A running `fairways-lab emulate`, whose time stands still except when [`Emulated::control`]
/// advances it.
pub(crate) struct Emulated {
    process: Child,
    folder: TempDir,
}

impl Emulated {
    pub(crate) fn start(programs: &str) -> Self {
        Self::mounted(programs, "")
    }

    /// With options of resctrl's mount.
    pub(crate) fn mounted(programs: &str, options: &str) -> Self {
        Self::of("skylake", programs, options)
    }

    /// On another platform than Skylake.
    pub(crate) fn of(platform: &str, programs: &str, options: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("resctrl")).unwrap();
        let mut command = Command::new(fairways_doors::fairways_lab());
        command.args(["emulate", "--machine", "chip:xeon-e5:sets=2304", "--programs", programs]);
        command
            .args(["--clock", "lockstep", "--quiet", "--platform", platform])
            .args(["--options", options, "--host-files"])
            .arg(folder.path().join("host"));
        let process = command
            .arg(folder.path().join("resctrl"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut emulated = Self { process, folder };
        let begun = Instant::now();
        while !emulated.root().join("schemata").is_file() {
            assert_eq!(emulated.process.try_wait().unwrap(), None, "it ended");
            assert!(begun.elapsed() < PATIENCE, "not mounted");
            std::thread::sleep(Duration::from_millis(20));
        }
        emulated
    }

    /// The emulator's process, whose children stand for the programs.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Where resctrl is mounted.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("resctrl")
    }

    /// Where nothing is yet, beside it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, file: impl AsRef<Path>) -> String {
        let file = self.root().join(file);
        std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    pub(crate) fn write(&self, file: impl AsRef<Path>, text: &str) {
        std::fs::write(self.root().join(file), text).unwrap();
    }

    /// Runs `fairways-lab emulated DIR` with these words, and returns its output.
    pub(crate) fn control(&self, words: &[&str]) -> String {
        let output = Command::new(fairways_doors::fairways_lab())
            .arg("emulated")
            .arg(self.root())
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The process that stands for the program of this name.
    pub(crate) fn pid(&self, name: &str) -> u64 {
        let programs: Value = serde_json::from_str(&self.control(&["programs", "--json"])).unwrap();
        let programs = programs["programs"].as_array().unwrap();
        let program = programs.iter().find(|program| program["name"] == name).unwrap();
        program["pid"].as_u64().unwrap()
    }

    /// Runs a program that sees the simulated machine; at most `seconds` long.
    pub(crate) fn run(&self, seconds: u32, words: &[&str]) -> Output {
        Command::new("unshare")
            .args(["--mount", "sh", "-euc", SEE_THE_MACHINE, "sh"])
            .args([self.folder.path().join("host"), self.root()])
            .args(["timeout", &seconds.to_string()])
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
