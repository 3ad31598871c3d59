//! Which users may write a file, by its owner and its permissions.

use rustix::process::geteuid;

const GROUP_MAY_WRITE: u32 = 0o020;
const OTHERS_MAY_WRITE: u32 = 0o002;
const ANYBODY_ELSE_MAY_ENTER: u32 = 0o011;

/// In a folder with this bit only a file's owner may replace the file (`S_ISVTX`).
pub const STICKY: u32 = 0o1000;

/// A file's owner and permissions, from stat(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// The user's number (`st_uid`).
    pub uid: u32,
    /// The group's number (`st_gid`).
    pub gid: u32,
    /// The permissions (`st_mode`).
    pub mode: u32,
}

impl Ownership {
    /// Checks that only root and the user who runs can write it.
    ///
    /// # Errors
    /// The other users who can, as `expected ..., found ...`.
    pub fn check(self) -> Result<(), String> {
        let Self { uid, gid, mode } = self;
        if !self.is_trusted() {
            return Err(format!(
                "expected one of root or of the user who runs, found user {uid}'s"
            ));
        }
        // A user's own group has the user's number, where each has one.
        let by_group = mode & GROUP_MAY_WRITE != 0 && gid != 0 && gid != uid;
        let who = match mode & OTHERS_MAY_WRITE != 0 {
            true => "anybody",
            false if by_group => "a group",
            false => return Ok(()),
        };
        let expected = "expected one that only its owner may write, found one that";
        Err(format!("{expected} {who} may (mode {:o})", mode & 0o7777))
    }

    /// Whether, as a folder, it lets no other user in, so that the files below it are out of reach.
    #[must_use]
    pub fn is_shut(self) -> bool {
        self.is_trusted() && self.mode & ANYBODY_ELSE_MAY_ENTER == 0
    }

    /// Whether it belongs to root or to the user who runs.
    #[must_use]
    pub fn is_trusted(self) -> bool {
        [0, geteuid().as_raw()].contains(&self.uid)
    }
}
