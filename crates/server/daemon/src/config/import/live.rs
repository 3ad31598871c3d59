//! The groups of a resctrl file system, whichever manager made them: pqos, an administrator.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_linux::status;
use fairways_programs::{CpuUser, Roots, Selector};
use fairways_resctrl::language::{Schemata, Value};

use super::classes::{CacheMasks, ClassMember, ClassWays, ImportedClass};
use super::{ImportedSources, SourceKind, source};
use crate::config::names::program_name;

/// The most groups, and the most tasks of one.
const MOST_GROUPS: usize = 1024;
const MOST_TASKS: usize = 1 << 18;

/// The caches whose ways a group has, the last level first.
const CACHES: [&[&str]; 2] = [&["L3", "L3CODE", "L3DATA"], &["L2", "L2CODE", "L2DATA"]];

/// Whether a folder is a resctrl file system.
pub(super) fn is_resctrl(folder: &Path) -> bool {
    folder.join("info").is_dir() && folder.join("schemata").is_file()
}

/// Reads all groups.
pub(super) fn read(
    import: &mut ImportedSources,
    root: &Path,
    roots: &Roots,
) -> Result<(), BadInput> {
    let cache =
        CACHES.iter().find(|names| names.iter().any(|name| root.join("info").join(name).is_dir()));
    let Some(cache) = cache else {
        return Err(
            import.wrong("expected a cache whose ways can be given out, found none in info")
        );
    };
    let ways = cache.iter().find_map(|name| {
        let mask = source::file(&root.join("info").join(name).join("cbm_mask")).ok()?;
        Some(u32::from_str_radix(mask.trim(), 16).ok()?.count_ones())
    });
    import.cache.ways = ways.or(import.cache.ways);
    let of_root = schemata(import, root)?;
    let mut rest = ImportedClass::new(String::new(), SourceKind::Resctrl, import.source.clone());
    rest.ways = ClassWays::Masks(masks(&of_root, cache));
    import.confine_others(&rest);
    let users = CpuUser::all(roots)
        .map_err(|why| import.wrong(&format!("processes can't be listed: {why}")))?;
    let mut taken = BTreeSet::new();
    for name in groups(import, root)? {
        let folder = root.join(&name);
        let place = format!("{}/{name}", import.source);
        if name.starts_with("fairways.") {
            import.leave_out_at(&place, "group", "Fairways made it");
            continue;
        }
        if let Some(mode) = line(&folder, "mode").filter(|mode| mode.starts_with("pseudo-lock")) {
            import.leave_out_at(&place, &mode, "Fairways locks nothing in the cache");
            continue;
        }
        let cpus = line(&folder, "cpus_list").filter(|cpus| !cpus.is_empty());
        if let Some(cpus) = &cpus {
            let why = "Fairways gives ways to programs, not to CPUs";
            import.leave_out_at(&place, &format!("CPUs {cpus}"), why);
        }
        let tasks = tasks(&folder);
        if tasks.is_empty() && cpus.is_none() {
            import.leave_out_at(&place, "group", "no task is in it");
            continue;
        }
        let schemata = schemata(import, &folder)?;
        let mut class = ImportedClass::new(name, SourceKind::Resctrl, place.clone());
        class.ways = ClassWays::Masks(masks(&schemata, cache));
        class.is_exact = true;
        class.bandwidth = bandwidth(&schemata, &of_root);
        if schemata.lines.iter().any(|line| line.resource.ends_with("CODE")) {
            let why = "Fairways gives code and data the same ways: those of both count";
            import.leave_out_at(&place, "code and data apart", why);
        }
        members(import, &mut class, &tasks, &users, &mut taken, roots);
        import.add_class(class, 0).map_err(|error| import.wrong(&error.why))?;
    }
    Ok(())
}

/// The names of the groups, in order.
fn groups(import: &ImportedSources, root: &Path) -> Result<BTreeSet<String>, BadInput> {
    let entries =
        fs::read_dir(root).map_err(|why| import.wrong(&format!("can't read it: {why}")))?;
    let folders =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names
        .filter(|name| !matches!(name.as_str(), "info" | "mon_groups" | "mon_data"))
        .take(MOST_GROUPS)
        .collect())
}

fn line(folder: &Path, file: &str) -> Option<String> {
    Some(source::file(&folder.join(file)).ok()?.trim().to_owned())
}

fn schemata(import: &ImportedSources, folder: &Path) -> Result<Schemata, BadInput> {
    let path = folder.join("schemata");
    let text = source::file(&path);
    let text = text.map_err(|why| import.wrong(&format!("{}: {why}", path.display())))?;
    Schemata::parse(&text).map_err(|why| import.wrong(&format!("{}: {why}", path.display())))
}

/// The ways of a group in each cache, those of code and data together.
fn masks(schemata: &Schemata, cache: &[&str]) -> CacheMasks {
    let mut masks = BTreeMap::new();
    for line in schemata.lines.iter().filter(|line| cache.contains(&line.resource.as_str())) {
        for (id, value) in &line.domains {
            if let Value::Mask(mask) = value {
                *masks.entry(Some(*id)).or_insert(0) |= mask.bits();
            }
        }
    }
    masks
}

/// The lowest limit of memory bandwidth, in percent of the root's.
fn bandwidth(of: &Schemata, root: &Schemata) -> Option<u32> {
    let (of, root) = (of.line("MB")?, root.line("MB")?);
    let percents = of.domains.iter().filter_map(|(id, value)| match (value, root.value(*id)?) {
        (Value::Number(limit), Value::Number(most @ 1..)) => {
            u32::try_from(u64::from(*limit) * 100 / u64::from(most)).ok()
        }
        _ => None,
    });
    percents.min().filter(|percent| *percent < 100)
}

fn tasks(folder: &Path) -> Vec<i32> {
    let text = source::file(&folder.join("tasks")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).take(MOST_TASKS).collect()
}

/// Finds the programs of a group's tasks.
fn members(
    import: &mut ImportedSources,
    class: &mut ImportedClass,
    tasks: &[i32],
    users: &[CpuUser],
    taken: &mut BTreeSet<String>,
    roots: &Roots,
) {
    let place = class.place.clone();
    let of_process: BTreeMap<i32, usize> = users
        .iter()
        .enumerate()
        .flat_map(|(user, of)| of.processes.keys().map(move |process| (*process, user)))
        .collect();
    let mut found: BTreeMap<usize, BTreeSet<i32>> = BTreeMap::new();
    let mut unknown = 0;
    for task in tasks {
        let process = of_process.get_key_value(task).map(|(process, user)| (*process, *user));
        match process.or_else(|| {
            let text = status::text(&roots.proc, *task)?;
            let process: i32 = status::field(&text, "Tgid:")?.parse().ok()?;
            Some((process, *of_process.get(&process)?))
        }) {
            Some((process, user)) => {
                found.entry(user).or_default().insert(process);
            }
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        let what = format!("{unknown} of {} tasks", tasks.len());
        let why = "they have ended, are the kernel's, or are not to be seen from here";
        import.leave_out_at(&place, &what, why);
    }
    for (user, processes) in found {
        let CpuUser { selector, processes: all } = &users[user];
        let select = selector.to_string();
        if processes.len() < all.len() {
            let what = format!("{} of the {} processes of {select}", processes.len(), all.len());
            import.leave_out_at(&place, &what, "a program is in one class: all of them count");
        }
        if !taken.insert(select.clone()) {
            let why = "a program is in one class: it is in the one before";
            import.leave_out_at(&place, &select, why);
            continue;
        }
        let caution = match selector {
            Selector::Pid(_) => Some("the number is another process's once this one has ended"),
            Selector::Process { .. } => {
                Some("any user can take such a name: better a unit or a cgroup")
            }
            _ => None,
        };
        if let Some(caution) = caution {
            import.comments.push(format!("{select}: {caution}"));
        }
        let member = ClassMember::Selected { name: program_name(selector), select };
        class.members.insert(member);
    }
}
