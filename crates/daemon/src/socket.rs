//! Sockets in the file system.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind as bind_to, connect, listen,
    socket_with,
};

/// So many clients wait to be let in; the system's own limit is beside it.
const BACKLOG: i32 = 128;

/// Listens on a socket with this mode, in a folder that is made if it is not there. One that a daemon left behind is replaced.
///
/// # Errors
/// If somebody has it, or the socket can't be made.
pub(super) fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let address = SocketAddrUnix::new(path)?;
    if is_left(path, &address)? {
        std::fs::remove_file(path)?;
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let socket = stream(SocketFlags::CLOEXEC)?;
    bind_to(&socket, &address)?;
    // Nobody is let in before it has its mode.
    set_mode(path, mode)?;
    listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}

fn stream(flags: SocketFlags) -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Whether a socket is there that nobody has any longer: connections to it are refused, and to nothing else that is a socket.
///
/// # Errors
/// If somebody has it, or may; if something else is there.
fn is_left(path: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => return Err(something_else()),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(why) => return Err(why),
    }
    let taken = |who| Err(io::Error::new(io::ErrorKind::AddrInUse, who));
    // Who listens and lets nobody in is not waited for.
    match connect(stream(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?, address) {
        Err(Errno::CONNREFUSED) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Ok(()) | Err(Errno::AGAIN) => taken("taken: another daemon listens there"),
        Err(Errno::PROTOTYPE) => taken("taken: another program has a socket of another kind there"),
        Err(why) => Err(why.into()),
    }
}

fn something_else() -> io::Error {
    let said = "expected a socket, or nothing, and found something else";
    io::Error::new(io::ErrorKind::InvalidInput, said)
}

/// Sets the mode of the socket at a path, and of nothing that was put in its place or that it was made to lead to.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let file = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::Socket {
        return Err(something_else());
    }
    // fchmod(2) takes no such descriptor, and chmod(2) takes its name.
    let here = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    std::fs::set_permissions(here, std::fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_another_program_has_stays_and_what_nobody_has_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // One of another kind, and one who lets nobody in.
        let theirs = UnixDatagram::bind(at("log")).unwrap();
        let full = UnixListener::bind(at("full")).unwrap();
        listen(&full, 0).unwrap();
        let _waits = UnixStream::connect(at("full")).unwrap();
        for name in ["log", "full"] {
            let why = bind(&at(name), 0o600).unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::AddrInUse, "{name}: {why}");
            assert!(why.to_string().starts_with("taken: another "), "{name}: {why}");
        }
        UnixDatagram::unbound().unwrap().send_to(b"x", at("log")).unwrap();
        drop(theirs);
        for name in ["log", "below/new"] {
            let _listener = bind(&at(name), 0o640).unwrap();
            assert_eq!(mode_of(&at(name)), 0o640);
            UnixStream::connect(at(name)).unwrap();
        }
    }

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("secret"), "somebody's").unwrap();
        std::fs::set_permissions(at("secret"), PermissionsExt::from_mode(0o600)).unwrap();
        drop(UnixListener::bind(at("left")).unwrap());
        for to in ["secret", "left", "nothing"] {
            let link = at(&format!("to-{to}"));
            symlink(at(to), &link).unwrap();
            assert_eq!(bind(&link, 0o666).unwrap_err().kind(), io::ErrorKind::InvalidInput);
            assert!(link.is_symlink(), "{to}");
        }
        // As if it were put there in between.
        assert!(set_mode(&at("to-secret"), 0o666).is_err());
        assert!(set_mode(&at("to-left"), 0o666).is_err());
        assert_eq!(mode_of(&at("secret")), 0o600);
        assert!(at("left").exists() && !at("nothing").exists());
    }
}
