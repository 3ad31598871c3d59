//! An emulator for a test, mounted on a folder of its own.

#![allow(clippy::unwrap_used, dead_code)]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::ops::Deref;
use std::path::PathBuf;

use fairways_emulated::Client;
use fairways_emulator::{Emulator, Settings, Starter};
use fairways_testing::needs::{Need, has};

/// Whether this system lets tests mount; prints so where it does not, and panics where it must.
pub(crate) fn can_mount() -> bool {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    has(&test, &[Need::Fuse, Need::Root])
}

/// A mounted emulator, and where it is.
pub(crate) struct Mounted {
    emulator: Option<Emulator>,
    pub(crate) dir: PathBuf,
    _folder: tempfile::TempDir,
}

impl Deref for Mounted {
    type Target = Emulator;

    fn deref(&self) -> &Emulator {
        self.emulator.as_ref().unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.emulator = None;
    }
}

/// A shell that takes on the program's name, and waits for the end of its standard input.
pub(crate) fn placeholder() -> Starter {
    let script = "printf %s \"$0\" > /proc/$$/comm; echo; read nothing";
    Starter { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
}

pub(crate) fn mounted(settings: Settings) -> Mounted {
    let folder = tempfile::tempdir().unwrap();
    // Other users get there, too.
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let dir = folder.path().join("resctrl");
    fs::create_dir(&dir).unwrap();
    let settings = Settings { placeholders: Some(placeholder()), ..settings };
    let emulator = Some(Emulator::start(&dir, settings).unwrap());
    Mounted { emulator, dir, _folder: folder }
}

impl Mounted {
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    /// One write(2) of an existing file.
    pub(crate) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let written =
            OpenOptions::new().write(true).open(self.path(path))?.write(text.as_bytes())?;
        assert_eq!(written, text.len());
        Ok(())
    }

    pub(crate) fn number(&self, path: &str) -> u64 {
        self.read(path).trim().parse().unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.socket()).unwrap()
    }

    /// A program's process.
    pub(crate) fn pid(&self, name: &str) -> i32 {
        let programs = self.client().programs().unwrap();
        programs.into_iter().find(|program| program.name == name).unwrap().pid
    }
}

/// The error's number.
pub(crate) fn errno<T: std::fmt::Debug>(done: io::Result<T>) -> i32 {
    done.unwrap_err().raw_os_error().unwrap()
}
