//! `info/last_cmd_status`.

/// Bytes that the kernel keeps (`last_cmd_status_buf`).
const ROOM: usize = 512;

/// The last message of a command (lib/seq_buf.c).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    text: Vec<u8>,
    overflowed: bool,
}

impl Status {
    /// `rdt_last_cmd_clear`.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.overflowed = false;
    }

    /// `rdt_last_cmd_puts`: all of it, or nothing once there is no room.
    pub(super) fn put(&mut self, text: &str) {
        if self.overflowed || self.text.len() + text.len() + 1 > ROOM {
            self.overflowed = true;
        } else {
            self.text.extend_from_slice(text.as_bytes());
        }
    }

    /// `rdt_last_cmd_printf`: as much as there is room for.
    pub(super) fn print(&mut self, parts: &[&[u8]]) {
        if self.overflowed {
            return;
        }
        self.text.extend(parts.iter().copied().flatten());
        if self.text.len() >= ROOM {
            self.text.truncate(ROOM - 1);
            self.overflowed = true;
        }
    }

    /// `rdt_last_cmd_status_show`.
    pub(super) fn show(&self, marks_truncation: bool) -> Vec<u8> {
        if self.text.is_empty() && !self.overflowed {
            return b"ok\n".to_vec();
        }
        let mut text = self.text.clone();
        if self.overflowed && marks_truncation {
            text.extend_from_slice(b"[truncated]\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// seq_buf.c: `seq_buf_puts` leaves out what does not fit, `seq_buf_vprintf` cuts it; then
    /// nothing more goes in.
    #[test]
    fn what_does_not_fit_is_cut_or_left_out() {
        let mut status = Status::default();
        assert_eq!(status.show(false), b"ok\n");
        status.print(&[b"bad ", &[b'x'; 600], b"\n"]);
        status.put("more\n");
        assert_eq!(status.show(false).len(), 511);
        assert!(status.show(true).ends_with(b"xx[truncated]\n"));
        status.clear();
        status.print(&[&[b'x'; 500]]);
        status.put("thirteen bytes");
        status.put("short");
        assert_eq!(status.show(false), [b'x'; 500]);
    }
}
