//! Commands that run beside a traced program, and are not traced themselves.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::groups;
use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};

/// A command that runs as it is, without input and output. It ends when this is dropped, or with
/// the thread that started it.
#[derive(Debug)]
pub struct Companion(Child);

/// Makes a command that is started now end with the thread that starts it.
pub(crate) fn end_with_this_thread(command: &mut Command) {
    // SAFETY: between fork and exec this makes one system call, and allocates nothing.
    unsafe {
        command
            .pre_exec(|| set_parent_process_death_signal(Some(Signal::KILL)).map_err(Into::into));
    }
}

impl Companion {
    /// Starts it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn start(command: &[OsString]) -> std::io::Result<Self> {
        let mut started = Command::new(command.first().cloned().unwrap_or_default());
        started.args(command.iter().skip(1)).process_group(0);
        started.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        end_with_this_thread(&mut started);
        let child = started.spawn()?;
        groups::add(child.id());
        Ok(Self(child))
    }

    /// Whether it succeeded, once it has ended.
    pub fn poll_end(&mut self) -> Option<bool> {
        self.0.try_wait().ok().flatten().map(|status| status.success())
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // Its children may have outlived it.
        if let Some(process) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process_group(process, Signal::KILL);
        }
        let _ = self.0.wait();
        groups::remove(self.0.id());
    }
}
