//! Programs without rights, on a host.
//!
//! The daemon gives up the right to start programs before it looks at anything of others. So it
//! starts a *keeper* first, and asks it for each start of a policy's program. The keeper starts the
//! program confined ([`confine`]), and passes the socket to it back. The daemon guards the keeper
//! (`guarded.rs`).

mod confine;
mod guarded;
mod keeper;
mod stderr;

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendFlags, Shutdown, SocketFlags, SocketType, recvmsg, sendmsg, shutdown, socketpair,
};

pub use confine::confine;
pub(crate) use guarded::ended_keepers;
pub use keeper::keep;

use guarded::GuardedKeeper;

use crate::PREFIX;
use crate::start::{ProgramStart, words_of};

/// The hidden command that is a keeper.
pub const KEEPER: &str = "policy-keeper";

/// The hidden command that confines itself, and becomes the program.
pub const CONFINED: &str = "policy-confined";

/// Starts a program without rights, by a keeper.
pub(crate) struct ConfinedStart {
    keeper: Arc<GuardedKeeper>,
}

/// How long a keeper may take to start a program.
const KEEPER_ANSWER: Duration = Duration::from_secs(5);

/// What is asked of a keeper.
const START: u32 = u32::MAX;

impl ConfinedStart {
    /// Starts a keeper for a command, separated as a shell does.
    ///
    /// # Errors
    /// If there is no command, or this process may not start programs.
    pub(crate) fn new(command: &str) -> Result<Self, String> {
        let words = words_of(command)?;
        let (child, socket) = start_keeper(&words).map_err(|why| {
            format!("can't start its keeper: {why} (a running daemon takes no other program)")
        })?;
        Ok(Self { keeper: GuardedKeeper::new(format!("{PREFIX}{command}"), child, socket) })
    }
}

impl ProgramStart for ConfinedStart {
    fn start(&self) -> io::Result<(UnixStream, Box<dyn Send>)> {
        let asked = self.keeper.socket();
        send(&asked, START, None)?;
        let received = receive(&asked);
        if received.is_err() {
            // An answer that comes later would be taken for the next one.
            let _ = shutdown(&*asked, Shutdown::Both);
        }
        let (number, socket) = received?;
        let socket = socket.ok_or_else(|| io::Error::from_raw_os_error(number.cast_signed()))?;
        self.keeper.started(number.cast_signed());
        let program = ConfinedProgram { keeper: Arc::clone(&self.keeper), number };
        Ok((UnixStream::from(socket), Box::new(program)))
    }

    fn is_over(&self) -> bool {
        self.keeper.is_over()
    }
}

/// Starts a keeper; returns the socket to it, with which it ends.
fn start_keeper(words: &[String]) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&ours, Timeout::Recv, Some(KEEPER_ANSWER))?;
    let mut keeper = Command::new("/proc/self/exe");
    keeper.arg(KEEPER).arg("--").args(words).stdin(theirs).stdout(Stdio::null());
    // A terminal's Ctrl-C is for the daemon, which ends the keeper when it is done.
    keeper.process_group(0).spawn().map(|child| (child, ours))
}

/// A program that a keeper has started, by the number of its process.
struct ConfinedProgram {
    keeper: Arc<GuardedKeeper>,
    number: u32,
}

impl Drop for ConfinedProgram {
    fn drop(&mut self) {
        let is_there = send(&self.keeper.socket(), self.number, None).is_ok();
        self.keeper.ended(self.number.cast_signed(), is_there);
    }
}

fn send(to: &OwnedFd, number: u32, socket: Option<&OwnedFd>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let sockets = socket.map(std::os::fd::AsFd::as_fd);
    if let Some(socket) = &sockets {
        beside.push(rustix::net::SendAncillaryMessage::ScmRights(std::slice::from_ref(socket)));
    }
    sendmsg(to, &[IoSlice::new(&number.to_ne_bytes())], &mut beside, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for a message; an error of kind `UnexpectedEof` if the other side is gone.
fn receive(from: &OwnedFd) -> io::Result<(u32, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut number = [0; 4];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let read =
        retry_on_intr(|| recvmsg(from, &mut [IoSliceMut::new(&mut number)], &mut beside, flags))?;
    if read.bytes != number.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let socket = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    Ok((u32::from_ne_bytes(number), socket))
}
