//! The token that a client must send.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use fairways_command_kit::input::shown;
use rustix::fs::OFlags;

/// The most bytes of a token: it must fit into a request's head, which has 8192.
const LONGEST: u64 = 4096;

/// The permissions that a token's file must not have: write for its group, and any for others.
const FORBIDDEN: u32 = 0o027;

/// A token, which is never printed.
pub(crate) struct Token(String);

impl Token {
    /// Reads the file, which must contain only the token and an optional newline.
    ///
    /// # Errors
    /// In a line: the file can't be read, others may read it, or it contains no token.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let wrong =
            |why: &dyn std::fmt::Display| format!("metrics.token_file: {}: {why}", shown(path));
        let failed = |why: std::io::Error| wrong(&format!("can't read it: {why}"));
        // Non-blocking, so as not to wait for a writer of a pipe.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let known = file.metadata().map_err(failed)?;
        if !known.is_file() {
            return Err(wrong(&"expected a file, found something else"));
        }
        let mode = known.mode() & 0o7777;
        if mode & FORBIDDEN != 0 {
            let why = format!(
                "expected a file that others can't read, such as mode 0600 or 0640, found {mode:04o}"
            );
            return Err(wrong(&why));
        }
        let mut text = String::new();
        let read = file.take(LONGEST + 1).read_to_string(&mut text).map_err(failed)?;
        let token = text.trim_end_matches(['\r', '\n']);
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token || u64::try_from(read).is_ok_and(|read| read > LONGEST) {
            return Err(wrong(&format!(
                "expected one line of up to {LONGEST} letters, digits and signs"
            )));
        }
        Ok(Self(token.to_owned()))
    }

    /// Whether this is the token. The time that it takes does not depend on how much of it is
    /// right.
    pub(super) fn is(&self, shown: &str) -> bool {
        let pairs = self.0.bytes().zip(shown.bytes());
        let differ = pairs.fold(0, |differ, (own, shown)| black_box(differ | (own ^ shown)));
        self.0.len() == shown.len() && differ == 0
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_read_from_a_file_that_others_cannot_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let read = |text: &[u8], mode: u32| {
            write(&path, text).unwrap();
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Token::read(&path)
        };
        let token = read(b"s3cret\n", 0o640).ok().unwrap();
        assert!(token.is("s3cret"));
        for other in ["", "s3cre", "s3cret1", "S3cret", "\n"] {
            assert!(!token.is(other), "{other:?}");
        }
        for (text, mode, expected) in [
            (&b"s3cret"[..], 0o644, "found 0644"),
            (b"s3cret", 0o660, "found 0660"),
            (b"\n", 0o600, "one line"),
            (b"two words", 0o600, "one line"),
            (b"two\nlines", 0o600, "one line"),
            (&[b'x'; 5000], 0o600, "one line"),
            (b"\xff", 0o600, "can't read it"),
        ] {
            let why = read(text, mode).err().unwrap();
            assert!(why.contains(expected) && !why.contains('\n'), "{why}");
        }
        assert!(Token::read(folder.path()).err().unwrap().contains("expected a file"));
    }
}
