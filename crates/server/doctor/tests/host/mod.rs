//! A Skylake server with four CPUs and two L3 caches (docs/doctor.in/skylake), whose files a test
//! changes.

use std::fs;
use std::path::{Path, PathBuf};

use fairways_doctor::{ExaminedHost, Finding, FindingState, Report, examine};
use tempfile::TempDir;

pub(crate) const RESCTRL: &str = "sys/fs/resctrl";

pub(crate) struct Host(pub(crate) TempDir);

impl Host {
    pub(crate) fn skylake() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/doctor.in/skylake");
        copy(&from, host.0.path());
        host
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    pub(crate) fn put(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn replace(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}: {text}");
        self.put(file, &text.replace(from, to));
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }

    pub(crate) fn unmounted(&self) {
        self.replace("proc/mounts", "resctrl /sys/fs/resctrl resctrl rw,relatime 0 0\n", "");
        self.remove(RESCTRL);
    }

    pub(crate) fn group(&self, name: &str, l3: &str, mode: &str) {
        let schemata = format!("    MB:0=100;1=100\n    L3:{l3}\n");
        self.put(&format!("{RESCTRL}/{name}/schemata"), &schemata);
        self.put(&format!("{RESCTRL}/{name}/mode"), &format!("{mode}\n"));
    }

    pub(crate) fn examine(&self) -> Report {
        self.examine_without(None)
    }

    pub(crate) fn examine_without(&self, scheduler: Option<&str>) -> Report {
        let without_scheduler = scheduler.map(str::to_owned);
        let sysroot = self.0.path().to_owned();
        examine(&ExaminedHost { sysroot, resctrl: None, is_copy: false, without_scheduler })
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

pub(crate) fn finding<'a>(report: &'a Report, id: &str) -> &'a Finding {
    let found = report.findings.iter().find(|one| one.id == id);
    found.unwrap_or_else(|| panic!("no {id} in {:?}", report.findings))
}

/// Checks the state of the finding `id`, and that each of `parts` is in its text or its remedy.
pub(crate) fn says(report: &Report, id: &str, state: FindingState, parts: &[&str]) {
    let found = finding(report, id);
    assert_eq!(found.state, state, "{found:?}");
    let remedy = found.remedy.as_deref().unwrap_or_default();
    for part in parts {
        assert!(found.found.contains(part) || remedy.contains(part), "{part:?}: {found:?}");
    }
}
