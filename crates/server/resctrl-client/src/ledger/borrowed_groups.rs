//! Returns monitoring groups of others to where they were.

use fairways_ledger::{Restored, Thing};
use rustix::io::Errno;

use super::BorrowedGroup;
use crate::error::Error;
use crate::tree::{Tree, of};

/// How many names are tried for a group whose own name is used by another one when it goes back.
pub(crate) const NAMES: u32 = 100;

/// Renames a group to its name in the root's group, or to a similar one if that is in use. Returns
/// the path.
pub(crate) fn to_root(tree: &Tree, place: &str, theirs: &str) -> Result<String, Error> {
    let mut path = format!("mon_groups/{theirs}");
    for number in 2.. {
        match tree.rename(place, &path) {
            Err(error) if error.errno() == Some(Errno::EXIST) && number <= NAMES => {
                path = format!("mon_groups/{theirs}~{number}");
            }
            done => {
                done?;
                break;
            }
        }
    }
    tree.forget(&path);
    Ok(path)
}

/// Where an adopted group is, among these classes and the root's group; `None` if it is in none of
/// them, or is where its maker had it.
pub(crate) fn place<'a>(
    tree: &Tree,
    borrowed: &BorrowedGroup,
    classes: impl Iterator<Item = &'a str>,
) -> Result<Option<String>, Error> {
    for class in std::iter::once("").chain(classes) {
        let path = format!("{}/{}", of(class, "mon_groups"), borrowed.name);
        if tree.find(&path)? == Some(borrowed.inode) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Gives groups back to their makers. Returns those that could not be given back.
pub(crate) fn put_back<'a>(
    tree: &Tree,
    borrowed: &[BorrowedGroup],
    classes: impl Iterator<Item = &'a str> + Clone,
    restored: &mut Restored,
) -> Vec<BorrowedGroup> {
    let mut failed = Vec::new();
    for of in borrowed {
        let path = format!("mon_groups/{}", of.theirs);
        let thing = Thing::Group(path.clone());
        let done = place(tree, of, classes.clone())
            .and_then(|place| place.map(|place| to_root(tree, &place, &of.theirs)).transpose());
        match done {
            Ok(None) => {}
            Ok(Some(back)) if back == path => restored.done.push(thing),
            Ok(Some(back)) => {
                restored.left.push((thing, format!("another has its name now: it is {back}")));
            }
            Err(error) => {
                tracing::error!(target: "fairways::actuate", group = path, %error, "not given back");
                restored.failed.push((thing, error.to_string()));
                failed.push(of.clone());
            }
        }
    }
    failed
}
