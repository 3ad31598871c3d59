//! Tasks that stand in for real ones.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

/// The name of a task in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// With its sign: `@p`.
    pub name: &'static str,
    /// Its user.
    pub user: u32,
}

/// All of them.
pub const LABELS: [Label; 6] = [
    Label { name: "@self", user: 0 },
    Label { name: "@p", user: 0 },
    Label { name: "@q", user: 0 },
    Label { name: "@t", user: 0 },
    Label { name: "@u", user: 1000 },
    Label { name: "@v", user: 1001 },
];

/// The tasks, alive; they end with this object.
#[derive(Debug)]
pub struct Placeholders {
    tasks: Vec<(&'static str, i32)>,
    children: Vec<Child>,
    /// The thread ends when this is dropped.
    _thread: mpsc::Sender<()>,
}

impl Placeholders {
    /// Starts `program` with the argument `--stand-in` for each process (see [`stand_in`]).
    ///
    /// # Errors
    ///
    /// A process can't be started; those of other users need root.
    pub fn start(program: &Path) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<()>();
        let (id, known) = mpsc::channel();
        thread::spawn(move || {
            let _ = id.send(rustix::thread::gettid().as_raw_nonzero().get());
            let _ = receiver.recv();
        });
        let thread = known.recv().map_err(io::Error::other)?;
        let mut all = Self { tasks: Vec::new(), children: Vec::new(), _thread: sender };
        for label in LABELS {
            let id = match label.name {
                "@self" => rustix::thread::gettid().as_raw_nonzero().get(),
                "@t" => thread,
                _ => all.process(program, label.user)?,
            };
            all.tasks.push((label.name, id));
        }
        Ok(all)
    }

    fn process(&mut self, program: &Path, user: u32) -> io::Result<i32> {
        let mut command = Command::new(program);
        command.arg("--stand-in").stdin(Stdio::piped()).stdout(Stdio::piped());
        if user != 0 {
            command.uid(user);
        }
        let mut child = command.spawn()?;
        // It has its user, and sleeps, once it has printed a byte.
        let ready = child.stdout.as_mut().map(|output| output.read_exact(&mut [0]));
        let id = i32::try_from(child.id()).map_err(io::Error::other)?;
        self.children.push(child);
        ready.unwrap_or(Ok(())).map(|()| id)
    }

    /// Ids by label.
    #[must_use]
    pub fn ids(&self) -> &[(&'static str, i32)] {
        &self.tasks
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The whole life of a placeholder's process: prints that it is ready, and sleeps until its starter
/// is gone.
pub fn stand_in() {
    use std::io::Write;
    let mut output = io::stdout();
    let _ = output.write_all(b".").and_then(|()| output.flush());
    let _ = io::stdin().read_to_end(&mut Vec::new());
}
