//! The kernel's proc connector: every fork, exec, change of name and exit on the host, as it
//! happens.
//!
//! Source: include/uapi/linux/cn_proc.h and connector.h, drivers/connector/cn_proc.c. It answers
//! only to `CAP_NET_ADMIN` in the initial namespaces of networks, users and processes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{CONNECTOR, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
    sockopt,
};

const CN_IDX_PROC: u32 = 1;
const CN_VAL_PROC: u32 = 1;
const NLMSG_DONE: u16 = 3;
const NLMSG_HEADER: usize = 16;
const CN_HEADER: usize = 20;

/// `enum proc_cn_mcast_op`.
const LISTEN: u32 = 1;
const IGNORE: u32 = 2;

/// Room for some 50,000 events between two looks.
const BUFFER_BYTES: usize = 8 << 20;

/// An event on the host; numbers are those of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessEvent {
    /// A process was made.
    Fork { parent: i32, child: i32 },
    /// A process has one more thread.
    Thread(i32),
    /// A process executes another program, or its first thread takes another name.
    Renamed(i32),
    /// One of a process's threads ended.
    Exit(i32),
}

/// The result of draining the connector.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drained {
    pub(super) events: Vec<ProcessEvent>,
    /// Whether the kernel dropped some events before these.
    pub(super) lost: bool,
}

/// An open connector.
#[derive(Debug)]
pub(super) struct Connector {
    socket: OwnedFd,
}

impl Connector {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the kernel refuses or does not answer.
    pub(super) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(CONNECTOR))?;
        bind(&socket, &SocketAddrNetlink::new(0, CN_IDX_PROC))?;
        if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES)?;
        }
        let connector = Self { socket };
        connector.send(LISTEN)?;
        // The kernel acknowledges while it handles the request, and does not answer at all where it
        // does not let us listen.
        let soon = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let mut fds = [PollFd::new(&connector.socket, PollFlags::IN)];
        if poll(&mut fds, Some(&soon))? == 0 {
            return Err(io::Error::other("the kernel does not answer (another namespace?)"));
        }
        Ok(connector)
    }

    fn send(&self, operation: u32) -> io::Result<()> {
        let mut message = Vec::with_capacity(NLMSG_HEADER + CN_HEADER + 4);
        // nlmsghdr: its length, then type and flags below.
        message.extend(40_u32.to_ne_bytes());
        message.extend(NLMSG_DONE.to_ne_bytes());
        message.extend(0_u16.to_ne_bytes());
        // The rest of nlmsghdr, then cn_msg: index, value, sequence, acknowledgement.
        for word in [0, 0, CN_IDX_PROC, CN_VAL_PROC, 0, 0] {
            message.extend(word.to_ne_bytes());
        }
        message.extend(4_u16.to_ne_bytes());
        message.extend(0_u16.to_ne_bytes());
        message.extend(operation.to_ne_bytes());
        send(&self.socket, &message, SendFlags::empty())?;
        Ok(())
    }

    /// All events since the last call; it does not wait.
    pub(super) fn drain(&self) -> io::Result<Drained> {
        let mut drained = Drained::default();
        let mut buffer = [0_u8; 4096];
        loop {
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((read, _)) => drained.events.extend(parse(&buffer[..read])),
                Err(Errno::AGAIN) => return Ok(drained),
                Err(Errno::NOBUFS) => {
                    drained.lost = true;
                    drained.events.clear();
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Connector {
    fn drop(&mut self) {
        // Before Linux 6.6 the kernel goes on counting a listener that closes without notice.
        let _ = self.send(IGNORE);
    }
}

impl AsFd for Connector {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn word(event: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(*event.get(at..)?.first_chunk()?))
}

/// Parses one message; `None` if it reports nothing that matters here.
fn parse(message: &[u8]) -> Option<ProcessEvent> {
    let event = message.get(NLMSG_HEADER + CN_HEADER..)?;
    let what = u32::from_ne_bytes(*event.first_chunk()?);
    // struct proc_event: what, cpu and timestamp take 16 bytes.
    match what {
        0x1 => {
            let (parent, child, group) = (word(event, 20)?, word(event, 24)?, word(event, 28)?);
            Some(if child == group {
                ProcessEvent::Fork { parent, child }
            } else {
                ProcessEvent::Thread(group)
            })
        }
        0x2 => Some(ProcessEvent::Renamed(word(event, 20)?)),
        0x200 => (word(event, 16)? == word(event, 20)?)
            .then_some(ProcessEvent::Renamed(word(event, 20)?)),
        0x8000_0000 => Some(ProcessEvent::Exit(word(event, 20)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(what: u32, words: &[i32]) -> Vec<u8> {
        let mut bytes = vec![0; NLMSG_HEADER + CN_HEADER];
        bytes.extend(what.to_ne_bytes());
        bytes.extend([0; 12]);
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn events_are_those_of_processes() {
        assert_eq!(
            parse(&message(1, &[5, 4, 9, 9])),
            Some(ProcessEvent::Fork { parent: 4, child: 9 })
        );
        assert_eq!(parse(&message(1, &[5, 4, 9, 4])), Some(ProcessEvent::Thread(4)));
        assert_eq!(parse(&message(2, &[9, 9])), Some(ProcessEvent::Renamed(9)));
        assert_eq!(parse(&message(0x200, &[10, 9, 0, 0, 0, 0])), None, "a thread's name");
        assert_eq!(parse(&message(0x8000_0000, &[10, 9, 0, 0])), Some(ProcessEvent::Exit(9)));
        assert_eq!(parse(&message(0x4, &[9, 9, 0, 0])), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..100)) {
            let _ = parse(&bytes);
        }
    }
}
