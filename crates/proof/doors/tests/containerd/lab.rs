//! containerd, and what of the kubelet it takes to make pods.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Machine, eventually};

/// A containerd with NRI 0.12.
const VERSION: &str = "v2.3.7";

/// The lab's files are kept here between runs. Sockets have to fit below it.
const FOLDER: &str = "/var/tmp/fairways-nri";

/// A running containerd, in namespaces and folders of its own.
pub(crate) struct Containerd {
    script: Child,
    folder: PathBuf,
}

impl Containerd {
    /// Prepares what is not there yet, and starts containerd. Its runtime notes where each
    /// container's process is before it lets it execute its program.
    pub(crate) fn start(machine: &Machine) -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
        let lab = std::env::var_os("FAIRWAYS_SHARED").map_or(beside, PathBuf::from).join("nri-lab");
        if !lab.is_dir() {
            fairways_testing::needs::withheld("containerd", "no folder shared/nri-lab");
            return None;
        }
        let folder = std::env::var_os("FAIRWAYS_NRI_LAB").map_or(FOLDER.into(), PathBuf::from);
        let prepared = Command::new(lab.join("prepare.sh"))
            .arg(&folder)
            .env("NRI_LAB_CONTAINERD", VERSION)
            .env("NRI_LAB_GO", "shared")
            .status();
        assert!(prepared.unwrap().success(), "prepare.sh");
        note_starts(machine, &folder);
        let mut script = Command::new(lab.join("run.sh"))
            .arg(&folder)
            .args(["sleep", "3600"])
            .env("NRI_LAB_CONTAINERD", VERSION)
            .env("NRI_LAB_RESCTRL", &machine.root)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let containerd = folder.join("containerd.sock");
        eventually("containerd answers", || {
            assert!(script.try_wait().unwrap().is_none(), "run.sh has ended");
            let mut asked = Command::new(folder.join("bin/cri"));
            asked.arg("-address").arg(&containerd).arg("clean");
            asked.stderr(Stdio::null()).status().unwrap().success()
        });
        // Its images are known a moment later.
        std::thread::sleep(Duration::from_secs(3));
        Some(Self { script, folder })
    }

    /// What the kubelet would ask, by CRI; the answer.
    pub(crate) fn cri(&self, words: &[&str]) -> String {
        let mut command = Command::new(self.folder.join("bin/cri"));
        command.arg("-address").arg(self.folder.join("containerd.sock")).args(words);
        let output = command.env("NRI_LAB_RUNTIME", "crun").output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cri {words:?}: {error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("nri.sock")
    }
}

/// Puts a script in crun's place. Before `crun start`, which lets the container's process execute
/// its program, the script notes the groups in which the process is, in `notes/ID`. containerd
/// asks for that once NRI's plugins have answered.
fn note_starts(machine: &Machine, folder: &Path) {
    let notes = machine.at("notes");
    fs::create_dir_all(&notes).unwrap();
    let script = format!(
        r#"#!/bin/bash
export LD_PRELOAD={folder}/lib/resctrl-statfs.so
crun={folder}/bin/crun
words=("$@"); id=${{words[-1]}}
for word; do [ "$word" = start ] && starts=1; [ "$before" = --root ] && root=$word; before=$word; done
if [ -n "$starts" ]; then
    pid=$("$crun" --root "$root" state "$id" | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')
    {{ readlink /proc/$pid/exe; grep -lx "$pid" {resctrl}/tasks {resctrl}/*/tasks {resctrl}/*/mon_groups/*/tasks; }} > {notes}/$id 2>/dev/null
fi
exec "$crun" "$@"
"#,
        folder = folder.display(),
        resctrl = machine.root.display(),
        notes = notes.display(),
    );
    let wrapper = folder.join("wrap/crun");
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(wrapper, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Drop for Containerd {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.script);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.script.wait();
    }
}
