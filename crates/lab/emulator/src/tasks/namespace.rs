//! Numbers of threads in the PID namespace of a client (pid_namespaces(7)).
//!
//! FUSE gives the client's number in this process's namespace. A namespace knows the threads in it
//! and in those below it; which number a thread has at each level is in its status. That a
//! namespace is below another is found by the parents of its processes, which are in the namespace
//! above: the kernel has no file that says it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use fairways_linux::status;

use super::process::{all_threads, if_there};

/// The number that FUSE gives for a client that is in a namespace above this process's.
const ABOVE: i32 = 0;

/// A namespace below this process's.
#[derive(Debug)]
struct NamespaceBelow {
    /// Where its processes' `ns/pid` leads.
    link: PathBuf,
    /// How many levels it is below.
    depth: usize,
}

/// The thread that a client names by this number; `None` if there is none in its namespace.
///
/// # Errors
/// If threads can't be read.
pub(crate) fn named_by(client: i32, number: i32) -> io::Result<Option<i32>> {
    if client == ABOVE {
        return Ok(None);
    }
    let Some(below) = namespace_of(client)? else { return Ok(Some(number)) };
    for thread in all_threads()? {
        if below.number_of(thread)? == Some(number) {
            return Ok(Some(thread));
        }
    }
    Ok(None)
}

/// The numbers of threads in a client's namespace, without those that have none there.
///
/// # Errors
/// If threads can't be read.
pub(crate) fn numbers_for(client: i32, threads: Vec<i32>) -> io::Result<Vec<i32>> {
    if client == ABOVE {
        return Ok(Vec::new());
    }
    let Some(below) = namespace_of(client)? else { return Ok(threads) };
    let numbers = threads.into_iter().map(|thread| below.number_of(thread));
    numbers.filter_map(Result::transpose).collect()
}

/// The namespace of a client; `None` if it is this process's.
fn namespace_of(client: i32) -> io::Result<Option<NamespaceBelow>> {
    let link = link_of(client);
    // Most clients are not in another one, and one link is read in less time than a status.
    if link.is_some() && link.as_ref() == link_of_this_process() {
        return Ok(None);
    }
    let Some((numbers, _)) = levels(client)? else { return Ok(None) };
    match (numbers.len().saturating_sub(1), link) {
        (0, _) => Ok(None),
        (depth, Some(link)) => Ok(Some(NamespaceBelow { link, depth })),
        // Another user's, where this process is not root's.
        (_, None) => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

impl NamespaceBelow {
    /// The number of a thread here; `None` if it has none, or is gone.
    fn number_of(&self, thread: i32) -> io::Result<Option<i32>> {
        let Some((numbers, parent)) = levels(thread)? else { return Ok(None) };
        let Some(&number) = numbers.get(self.depth) else { return Ok(None) };
        let (mut of, mut above, mut depth) = (thread, parent, numbers.len() - 1);
        while depth > self.depth && above > 0 {
            of = above;
            let Some((numbers, parent)) = levels(of)? else { return Ok(None) };
            (above, depth) = (parent, numbers.len().saturating_sub(1));
        }
        let is_here = depth == self.depth && link_of(of).as_ref() == Some(&self.link);
        Ok(is_here.then_some(number))
    }
}

/// A thread's numbers in this process's namespace and those below, and its parent; `None` if there
/// is no such thread.
fn levels(thread: i32) -> io::Result<Option<(Vec<i32>, i32)>> {
    let Some(status) = if_there(fs::read(format!("/proc/{thread}/status")))? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&status);
    Ok(status::family(&text).map(|(_, parent)| (status::numbers(&text), parent)))
}

/// Where a thread's `ns/pid` leads; `None` if it is gone or another user's.
fn link_of(thread: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{thread}/ns/pid")).ok()
}

/// The same of this process, which stays in its namespace.
fn link_of_this_process() -> Option<&'static PathBuf> {
    static LINK: OnceLock<Option<PathBuf>> = OnceLock::new();
    LINK.get_or_init(|| fs::read_link("/proc/self/ns/pid").ok()).as_ref()
}
