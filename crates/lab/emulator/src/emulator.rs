//! An emulator, from its start to its end.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fairways_core::Time;
use fairways_emulated::{Fault, beside};
use fairways_linux::mounts::device_of;
use fairways_resctrl_rules::platform::Platform;
use fairways_resctrl_rules::rules::Errno;
use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};

use crate::clock::{Clock, Pace};
use crate::control;
use crate::filesystem::ResctrlFiles;
use crate::handles::Handles;
use crate::hardware::{Hardware, Until};
use crate::inodes::Inodes;
use crate::kernel_cache::KernelCache;
use crate::mount::{self, Guardian, MountError, TYPE};
use crate::placeholder::{Placeholder, Starter};
use crate::shared::{Files, Shared};
use crate::state::State;
use crate::stepped::SteppedHardware;

/// How to emulate.
pub struct Settings {
    /// What the kernel finds: CPUs, caches, classes.
    pub platform: Platform,
    /// The machine behind the files; its CPUs are the platform's.
    pub hardware: Box<dyn Hardware>,
    /// Starts placeholders of the hardware's programs. May be `None` where it has none.
    pub placeholders: Option<Starter>,
    /// Starts a [guardian](crate::guard) with the directory, the socket and the mount's device
    /// behind its arguments; `None`: after SIGKILL the mount stays behind.
    pub guardian: Option<Starter>,
    /// The clock's pace.
    pub pace: Pace,
    /// The options that resctrl is mounted with: `cdp,mba_MBps`, say.
    pub options: String,
    /// The control socket; `None`: the directory's path and `.sock`.
    pub socket: Option<PathBuf>,
    /// Whether users besides this one may use the files; root always may.
    pub allow_other: bool,
    /// Whether the remains of an emulator that is gone are removed.
    pub replace: bool,
    /// The faults that are armed from the beginning.
    pub faults: Vec<Fault>,
}

impl Settings {
    /// Paced like real time, without options.
    #[must_use]
    pub fn new(platform: Platform, hardware: Box<dyn Hardware>) -> Self {
        Self {
            platform,
            hardware,
            placeholders: None,
            guardian: None,
            pace: Pace::Real(1.0),
            options: String::new(),
            socket: None,
            allow_other: false,
            replace: false,
            faults: Vec::new(),
        }
    }
}

/// Why an emulator could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nothing can be mounted there.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// Resctrl refuses the options.
    #[error("mount options {options:?}: {errno}")]
    Options {
        /// The options.
        options: String,
        /// The error.
        errno: Errno,
    },
    /// No placeholder can be started.
    #[error("placeholder of {program}: {why}")]
    Placeholder {
        /// The program.
        program: String,
        /// The error.
        why: io::Error,
    },
    /// There is no way to start placeholders for the programs.
    #[error("programs need placeholders: expected a way to start them")]
    NoStarter,
    /// No guardian can be started.
    #[error("guardian: {0}")]
    Guardian(io::Error),
    /// The control socket can't be made.
    #[error("{path}: {why}")]
    Socket {
        /// Its path.
        path: String,
        /// The error.
        why: String,
    },
    /// No thread can be started.
    #[error("thread: {0}")]
    Thread(io::Error),
}

/// An emulator that is mounted; unmounted when it is dropped.
pub struct Emulator {
    shared: Arc<Shared>,
    socket: PathBuf,
    /// The device of its mount, which identifies it wherever it was moved.
    device: String,
    session: Option<BackgroundSession>,
    clock: Option<JoinHandle<()>>,
    control: Option<control::Serving>,
    guardian: Option<Guardian>,
}

impl Emulator {
    /// Mounts an emulator on a directory.
    ///
    /// # Errors
    /// [`StartError`]; nothing stays behind then.
    pub fn start(dir: &Path, settings: Settings) -> Result<Self, StartError> {
        let dir = mount::check(dir, settings.replace)?;
        let socket = settings.socket.unwrap_or_else(|| beside(&dir));
        if let Ok(around) = fs::canonicalize(socket.parent().unwrap_or(Path::new(".")))
            && around.starts_with(&dir)
        {
            let why =
                "expected a socket outside the directory, where it would be hidden".to_owned();
            return Err(StartError::Socket { path: socket.display().to_string(), why });
        }
        let listener = listen(&socket)?;
        let placeholders = start_all(settings.hardware.as_ref(), settings.placeholders.as_ref());
        let placeholders = placeholders.inspect_err(|_| drop(fs::remove_file(&socket)))?;
        let clock = Clock::new(settings.pace);
        let names = settings.hardware.names().to_vec();
        let mut state = State::new(settings.platform, names, placeholders, clock);
        let mut machine = SteppedHardware::new(settings.hardware);
        let options = settings.options;
        let State { rules, outside, .. } = &mut state;
        if let Err(errno) = rules.mount(&options, outside) {
            drop(fs::remove_file(&socket));
            return Err(StartError::Options { options, errno });
        }
        machine.apply(&mut state);
        let inodes = Inodes::new(state.rules.root());
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        let files = Files { state, inodes, handles: Handles::default(), user, group };
        let shared = Arc::new(Shared::new(machine, files, dir.clone()));
        let mut emulator = Self {
            shared,
            socket,
            device: String::new(),
            session: None,
            clock: None,
            control: None,
            guardian: None,
        };
        emulator.session = Some(emulator.mount(settings.allow_other)?);
        let device = device_of(&dir).ok().flatten();
        emulator.device = device.ok_or_else(|| {
            // Gone already, or indistinguishable from others.
            let _ = mount::unmount(&dir);
            let dir = dir.display().to_string();
            MountError::Refused { dir, why: "it is not in /proc/self/mountinfo".to_owned() }
        })?;
        // Before anything that may take longer.
        if let Some(starter) = &settings.guardian {
            let guardian = Guardian::start(starter, (&dir, &emulator.device), &emulator.socket);
            emulator.guardian = Some(guardian.map_err(StartError::Guardian)?);
        }
        emulator.turn_off_flush()?;
        let mut files = emulator.shared.files();
        settings.faults.into_iter().for_each(|fault| files.state.faults.arm(fault));
        drop(files);
        let serving = control::serve(listener, &emulator.shared);
        emulator.control = Some(serving.map_err(StartError::Thread)?);
        let shared = Arc::clone(&emulator.shared);
        let clock = std::thread::Builder::new().name("clock".to_owned());
        let clock = clock.spawn(move || shared.keep_pace()).map_err(StartError::Thread)?;
        emulator.clock = Some(clock);
        Ok(emulator)
    }

    /// Closes a file once, which shows the kernel that closing needs no answer (FUSE_FLUSH is not
    /// supported).
    ///
    /// execve(2) closes files with a lock held that readers of /proc/PID/stat wait for (fs/exec.c,
    /// `exec_update_lock`). This process reads it, while FUSE waits: with an answer to give, both
    /// would wait for ever.
    ///
    /// Another process closes the file, which can be given up where this one would wait for itself.
    fn turn_off_flush(&self) -> Result<(), StartError> {
        let dir = &self.shared.dir;
        let file = dir.join("info/last_cmd_status");
        let mut child = Command::new("/bin/sh")
            .args(["-c", ": < \"$0\""])
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| {
                MountError::refused(dir, format!("/bin/sh, which opens a file of it: {why}"))
            })?;
        if !mount::wait(&mut child, PATIENCE) {
            let _ = child.kill();
            return Err(MountError::refused(dir, "its files do not answer").into());
        }
        Ok(())
    }

    fn mount(&self, allow_other: bool) -> Result<BackgroundSession, StartError> {
        let dir = &self.shared.dir;
        let others = allow_other || rustix::process::geteuid().is_root();
        let mut config = Config::default();
        config.acl = if others { SessionACL::All } else { SessionACL::Owner };
        // More threads than one are slower: each request wakes another one.
        config.n_threads = Some(1);
        let files = ResctrlFiles::new(Arc::clone(&self.shared));
        let session = if let Some(device) = mount::mount(dir, others)? {
            Session::from_fd(files, device, config.acl, config)
        } else {
            config.mount_options = vec![
                MountOption::FSName(TYPE.to_owned()),
                MountOption::Subtype(TYPE.to_owned()),
                MountOption::DefaultPermissions,
                MountOption::NoExec,
            ];
            Session::new(files, dir, &config)
        };
        let session = session.and_then(|session| {
            self.shared.set_cache(KernelCache::new(session.as_fd().try_clone_to_owned()?));
            session.spawn()
        });
        let session = session.map_err(|why| {
            // Mounted, but not served.
            let _ = mount::unmount(dir);
            let why = why.to_string();
            let help = if why.contains("No such file") {
                ": install fusermount3 (package fuse3)"
            } else {
                ""
            };
            MountError::refused(dir, format!("{}{help}", why.trim()))
        });
        Ok(session?)
    }

    /// Where it is mounted, symbolic links resolved.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.shared.dir
    }

    /// Its control socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The machine's time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.shared.files().state.outside.readings.now
    }

    /// How many times real time the machine's clock went recently, where it follows real time.
    #[must_use]
    pub fn factor(&self) -> Option<f64> {
        self.shared.files().state.clock.factor()
    }

    /// How many programs run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.files().state.outside.running()
    }

    /// Why the machine cannot go on, if it can't.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.machine().hardware.failure()
    }

    /// Whether another process has unmounted it.
    #[must_use]
    pub fn is_unmounted(&self) -> bool {
        self.shared.is_unmounted()
    }

    /// Unmounts and mounts resctrl with these options, as `umount` and `mount` do on the emulated
    /// kernel; the directory stays mounted.
    ///
    /// # Errors
    /// The kernel's, for the options; resctrl is not mounted then, and every file is gone until
    /// another `remount`.
    pub fn remount(&self, options: &str) -> Result<(), Errno> {
        let mut files = self.shared.files();
        let State { rules, outside, .. } = &mut files.state;
        rules.unmount();
        let mounted = rules.mount(options, outside);
        let root = rules.root();
        files.inodes.set_root(root);
        self.shared.invalidate();
        mounted
    }

    /// Takes a CPU off line, or puts it on line.
    ///
    /// # Errors
    /// Why not, in a line.
    pub fn cpu(&self, cpu: u32, online: bool) -> Result<(), String> {
        let done = self.shared.files().state.cpu(cpu, online);
        self.shared.invalidate();
        done
    }

    /// Lets time pass, whichever client has the clock.
    pub fn advance(&self, time: Duration) {
        let to = self.now().after(time);
        self.shared.advance(&Until::time(to), || true);
    }

    /// Arms a fault.
    pub fn arm(&self, fault: Fault) {
        self.shared.files().state.faults.arm(fault);
    }
}

impl Emulator {
    /// Unmounts it, as dropping it does, and returns whether that succeeded.
    ///
    /// # Errors
    /// If it stays mounted: another mount covers it, say. It answers nothing any longer then.
    pub fn end(mut self) -> io::Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.shared.end();
        self.control = None;
        let mut unmounted = Ok(());
        if let Some(session) = self.session.take() {
            if !self.shared.is_unmounted() {
                unmounted = mount::unmount_device(&self.device);
            }
            drop(session);
        }
        if let Some(clock) = self.clock.take() {
            let _ = clock.join();
        }
        let _ = fs::remove_file(&self.socket);
        let mut files = self.shared.files();
        files.state.outside.placeholders.iter_mut().for_each(Placeholder::end);
        drop(files);
        self.guardian = None;
        unmounted
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // No caller can get the error here; `end` returns it.
        let _ = self.finish();
    }
}

/// How long the first answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

fn start_all(
    hardware: &dyn Hardware,
    starter: Option<&Starter>,
) -> Result<Vec<Placeholder>, StartError> {
    hardware
        .names()
        .iter()
        .map(|name| {
            let starter = starter.ok_or(StartError::NoStarter)?;
            let started = Placeholder::start(starter, name);
            started.map_err(|why| StartError::Placeholder { program: name.clone(), why })
        })
        .collect()
}

/// Bytes of a socket's path, less the 0 (unix(7), `sun_path`).
const LONGEST: usize = 107;

/// Listens on a socket that only this user may use. A socket without a listener is removed.
fn listen(path: &Path) -> Result<UnixListener, StartError> {
    if let Ok(about) = fs::symlink_metadata(path) {
        use std::os::unix::fs::FileTypeExt;
        if !about.file_type().is_socket() {
            return Err(no_socket(path, "expected a socket, or nothing, there"));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(no_socket(path, "another emulator listens there"));
        }
        fs::remove_file(path).map_err(|why| no_socket(path, why))?;
    }
    if path.as_os_str().len() > LONGEST {
        let expected =
            format!("expected a path of at most {LONGEST} bytes: choose another with --socket");
        return Err(no_socket(path, expected));
    }
    let listener = UnixListener::bind(path).map_err(|why| no_socket(path, why))?;
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(path, mode).map_err(|why| no_socket(path, why))?;
    Ok(listener)
}

fn no_socket(path: &Path, why: impl ToString) -> StartError {
    StartError::Socket { path: path.display().to_string(), why: why.to_string() }
}
