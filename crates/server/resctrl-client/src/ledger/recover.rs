//! Finds out which ledger belongs to this mount.

use std::path::Path;

use fairways_ledger::{OTHER_BOOT, OpenError, Restored, boot};
use fairways_linux::mounts;
use rustix::fs::{major, minor};

use super::borrowed_groups::place;
use super::put_back::{is_another, places, put_back, read_mask, unknown};
use super::{BorrowedGroup, ChangedMask, Ledger, MadeGroup, State};
use crate::error::Error;
use crate::settings::Settings;
use crate::tree::{Tree, io_alloc};

/// Restores what a killed fairways left (`fairways restore`). Changes of another boot or another
/// mount no longer exist; their ledger is put aside. A ledger that can't be read is kept, and
/// listed among the failures.
///
/// # Errors
/// If resctrl or the state directory can't be used, or another fairways uses it, or the ledger is
/// for another mount.
pub fn restore(settings: &Settings) -> Result<Restored, OpenError> {
    let (mut state, found) = State::open(&settings.state)?;
    let mut restored = match (Tree::open(&settings.root), found.ledger) {
        (Ok(tree), ledger) => recover(&tree, &mut state, ledger, settings)?,
        (Err(_), None) => Restored::default(),
        // A machine without resctrl may have had it before it was rebooted.
        (Err(_), Some(ledger)) if ledger.boot != boot(&settings.boot_id)? => {
            state.put_aside(OTHER_BOOT)?;
            Restored::default()
        }
        (Err(error), Some(_)) => return Err(error.into()),
    };
    restored.failed.extend(found.damaged);
    Ok(restored)
}

/// Restores what a ledger records, and begins a new ledger.
pub(crate) fn recover(
    tree: &Tree,
    state: &mut State,
    found: Option<Ledger>,
    settings: &Settings,
) -> Result<Restored, Error> {
    let boot = boot(&settings.boot_id)?;
    let info = tree.inode("info")?;
    if let Some(ledger) = found {
        let is_another = (ledger.device, ledger.info) != (tree.device(), info);
        let stale = if ledger.boot != boot {
            Some(OTHER_BOOT)
        } else if is_another && is_mounted_elsewhere(tree, &ledger, settings) {
            let (path, root) = (state.path(), settings.root.clone());
            return Err(Error::Elsewhere { path, there: ledger.root, root });
        } else if is_another {
            Some("resctrl was mounted again since")
        } else if !is_here(tree, &ledger) {
            Some("nothing that it records is there: it is of another mount, or others removed it")
        } else {
            None
        };
        if let Some(why) = stale {
            state.put_aside(why)?;
        } else {
            state.ledger = ledger;
            return put_back(tree, state, settings);
        }
    }
    state.ledger = Ledger::new(boot, tree, info);
    let mut restored = Restored::default();
    unknown(tree, &mut restored);
    Ok(restored)
}

/// Whether a ledger's mount exists, but is not the opened one.
fn is_mounted_elsewhere(tree: &Tree, ledger: &Ledger, settings: &Settings) -> bool {
    ledger.device != tree.device() && is_mounted_anywhere(&settings.proc, ledger.device)
}

/// Whether a file system with this `st_dev` is mounted (proc_pid_mountinfo(5), field 3); true if
/// the mounts can't be listed.
pub(crate) fn is_mounted_anywhere(proc: &Path, device: u64) -> bool {
    let Ok(mounts) = mounts::all(proc) else { return true };
    let number = format!("{}:{}", major(device), minor(device));
    mounts.iter().any(|mount| mount.device == number)
}

/// Whether anything that a ledger records exists here. Another mount may have the numbers of the
/// earlier one, but not its groups, nor the root's masks. What can't be read counts as existing. If
/// no group was made yet, or all were removed, it is not known.
fn is_here(tree: &Tree, ledger: &Ledger) -> bool {
    if ledger.groups.iter().all(|made| made.inode.is_none()) {
        return true;
    }
    let classes = ledger.groups.iter().map(|made| made.name.as_str());
    let came = |of: &BorrowedGroup| !matches!(place(tree, of, classes.clone()), Ok(None));
    if ledger.borrowed.iter().any(came) {
        return true;
    }
    let mut lost = Ledger::default();
    let places = places(tree, &ledger.groups, &mut lost, &mut Restored::default());
    let is_there =
        |(made, path): &(MadeGroup, String)| !is_another(tree, made, path).unwrap_or(false);
    let is_ours = |value: &ChangedMask| {
        let now = read_mask(tree, value);
        now.map_or(true, |now| now.is_some_and(|now| value.ours.contains(&now.bits())))
    };
    !lost.groups.is_empty()
        || places.iter().any(is_there)
        || ledger.values.iter().any(is_ours)
        || ledger.io.iter().any(|change| confines(tree, change))
}

/// Whether devices still fill only the ways that a ledger has for them.
fn confines(tree: &Tree, change: &ChangedMask) -> bool {
    let now = io_alloc::read(tree, &change.line);
    let own = now.map(|masks| masks.and_then(|masks| masks.get(&change.domain).copied()));
    own.map_or(true, |own| own.is_some_and(|own| change.ours.contains(&own.bits())))
}
