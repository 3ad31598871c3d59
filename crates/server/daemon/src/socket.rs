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

/// At most this many clients wait to be let in; the system may limit them further.
const BACKLOG: i32 = 128;

/// Listens on a socket with this mode, and makes its folder if it does not exist. Replaces a socket
/// that an earlier daemon left behind.
///
/// # Errors
/// If another program uses it, or the socket can't be made.
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
    // No client is let in before the socket has its mode.
    set_mode(path, mode)?;
    listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}

fn stream(flags: SocketFlags) -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Whether a socket exists that no program uses any longer. Connections to such a socket are
/// refused, and to no other.
///
/// # Errors
/// If another program uses it, or may; if the path is no socket.
fn is_left(path: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {}
        Ok(_) => return Err(something_else()),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(why) => return Err(why),
    }
    let taken = |who| Err(io::Error::new(io::ErrorKind::AddrInUse, who));
    // Non-blocking, so as not to wait for a program that listens and lets no client in.
    match connect(stream(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?, address) {
        Err(Errno::CONNREFUSED) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Ok(()) | Err(Errno::AGAIN) => taken("taken: another daemon listens there"),
        Err(Errno::PROTOTYPE) => taken("taken: another program has a socket of another kind there"),
        Err(why) => Err(why.into()),
    }
}

fn something_else() -> io::Error {
    let message = "expected a socket, or nothing, and found something else";
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

/// Sets the mode of the socket at a path. Fails if the path has become a link or another kind of
/// file.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let file = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::Socket {
        return Err(something_else());
    }
    // fchmod(2) does not take an O_PATH descriptor; chmod(2) takes its name in /proc.
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
    fn a_socket_in_use_stays_and_one_left_behind_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // A socket of another kind, and one that lets no client in.
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
