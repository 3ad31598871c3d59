//! The table of mounts (proc(5), /proc/self/mountinfo).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The type of what is mounted on a directory; `None` if it is no mount. The last line counts: it is on top.
pub(super) fn kind_of(dir: &Path) -> io::Result<Option<String>> {
    Ok(last(dir)?.map(|(_, kind)| kind))
}

/// The device of what is mounted on a directory, as `MAJOR:MINOR`, by which it is told from what is mounted there later.
pub(crate) fn device_of(dir: &Path) -> io::Result<Option<String>> {
    Ok(last(dir)?.map(|(device, _)| device))
}

fn last(dir: &Path) -> io::Result<Option<(String, String)>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let lines = table.split(|&byte| byte == b'\n').filter_map(parse);
    let mut here = lines.filter(|(point, ..)| OsStr::from_bytes(point) == dir.as_os_str());
    Ok(here.next_back().map(|(_, device, kind)| (device, kind)))
}

/// A line's mount point, device and type.
fn parse(line: &[u8]) -> Option<(Vec<u8>, String, String)> {
    let mut fields = line.split(|&byte| byte == b' ');
    let device = String::from_utf8_lossy(fields.nth(2)?).into_owned();
    let point = unescaped(fields.nth(1)?);
    let mut rest = fields.skip_while(|field| *field != b"-");
    let kind = String::from_utf8_lossy(rest.nth(1)?).into_owned();
    Some((point, device, kind))
}

/// Blanks and backslashes are `\040` and so on.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let octal = text.get(at + 1..at + 4).filter(|_| text[at] == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(byte.unwrap_or(text[at]));
        at += if byte.is_some() { 4 } else { 1 };
    }
    plain
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let line =
            br"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - fuse.resctrl resctrl rw,user_id=0";
        let (point, device, kind) = parse(line).unwrap();
        assert_eq!((&point[..], &device[..], &kind[..]), (&b"/mnt 2"[..], "98:0", "fuse.resctrl"));
        assert_eq!(parse(b"36 35"), None);
    }

    #[test]
    fn the_root_is_a_mount_and_a_folder_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kind_of(folder.path()).unwrap(), None);
        assert!(device_of(Path::new("/")).unwrap().is_some_and(|device| device.contains(':')));
    }
}
