//! Open files.

use std::collections::HashMap;

use fairways_resctrl_rules::rules::Node;

/// An open file, with the content for further reads.
///
/// As with the kernel's seq_file, content is made at the first read and whenever a read does not
/// start where the last one ended; at offset 0 it is made again.
/// ended; at offset 0 it is made again.
#[derive(Debug)]
struct OpenFile {
    content: Vec<u8>,
    /// Where the next read continues, if there was one.
    next: Option<u64>,
}

/// Open files, and the entries of open directories.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    next: u64,
    files: HashMap<u64, OpenFile>,
    directories: HashMap<u64, Vec<(String, Node)>>,
}

impl Handles {
    fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn open(&mut self) -> u64 {
        let handle = self.take_number();
        self.files.insert(handle, OpenFile { content: Vec::new(), next: None });
        handle
    }

    pub(crate) fn close(&mut self, handle: u64) {
        self.files.remove(&handle);
    }

    /// Whether content must be made before a read at this offset.
    pub(crate) fn is_stale(&self, handle: u64, offset: u64) -> bool {
        let next = self.files.get(&handle).and_then(|open| open.next);
        offset == 0 || next != Some(offset)
    }

    pub(crate) fn fill(&mut self, handle: u64, content: Vec<u8>) {
        if let Some(open) = self.files.get_mut(&handle) {
            open.content = content;
        }
    }

    /// The next bytes.
    pub(crate) fn read(&mut self, handle: u64, offset: u64, size: usize) -> Vec<u8> {
        let Some(open) = self.files.get_mut(&handle) else { return Vec::new() };
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(open.content.len());
        let bytes = open.content[from..].iter().take(size).copied().collect::<Vec<u8>>();
        open.next = Some(offset + bytes.len() as u64);
        bytes
    }

    pub(crate) fn open_directory(&mut self, entries: Vec<(String, Node)>) -> u64 {
        let handle = self.take_number();
        self.directories.insert(handle, entries);
        handle
    }

    pub(crate) fn entries(&self, handle: u64) -> &[(String, Node)] {
        self.directories.get(&handle).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn close_directory(&mut self, handle: u64) {
        self.directories.remove(&handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_goes_on_with_what_the_first_one_gave() {
        let mut handles = Handles::default();
        let handle = handles.open();
        assert!(handles.is_stale(handle, 0));
        handles.fill(handle, b"abcdef".to_vec());
        assert_eq!(handles.read(handle, 0, 4), b"abcd");
        assert!(
            !handles.is_stale(handle, 4)
                && handles.is_stale(handle, 0)
                && handles.is_stale(handle, 2)
        );
        assert_eq!(handles.read(handle, 4, 4), b"ef");
        assert!(!handles.is_stale(handle, 6));
        assert_eq!(handles.read(handle, 6, 4), b"");
        // At another place than where the last one ended.
        handles.fill(handle, b"uvwxyz".to_vec());
        assert_eq!(handles.read(handle, 1, 2), b"vw");
        assert_eq!(handles.read(handle, 99, 2), b"");
    }
}
