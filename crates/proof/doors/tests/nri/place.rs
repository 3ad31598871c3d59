//! Where processes are, and the script that says so of itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Machine;
use crate::running::configure;

/// Writes the configuration with NRI on, these keys of `[kubernetes]`, and these programs.
pub(crate) fn configure_with(machine: &Machine, keys: &str, programs: &[(&str, &str)]) {
    configure_at(machine, &machine.at("nri.sock"), keys, programs);
}

/// The same for a runtime with its socket there.
pub(crate) fn configure_at(
    machine: &Machine,
    socket: &Path,
    keys: &str,
    programs: &[(&str, &str)],
) {
    configure(machine, "policy = \"equal\"", programs);
    let file = machine.at("fairways.toml");
    let text = fs::read_to_string(&file).unwrap();
    let section = format!("[kubernetes]\nnri = true\nsocket = {socket:?}\n{keys}\n");
    fs::write(file, format!("{text}{section}")).unwrap();
}

/// The words of a process that first notes in which groups it and a child of it are, in the file
/// `notes/NAME`, and then waits.
///
/// The emulator finds inherited groups by looks at /proc, so the child's are looked for until they
/// are there. Nothing else could put it there: the runtime announces no child, and has no cgroups.
pub(crate) fn noting(machine: &Machine, name: &str) -> Vec<String> {
    let notes = machine.at("notes");
    fs::create_dir_all(&notes).unwrap();
    let script = r#"
        where_is() { grep -lx "$1" "$root"/tasks "$root"/*/tasks "$root"/*/mon_groups/*/tasks 2>/dev/null; }
        root=$1 note=$2
        sh -c 'exec sleep 3600' & child=$!
        { echo self; where_is $$; echo child; } > "$note.new"
        for try in $(seq 25); do where_is $child | grep -q fairways && break; sleep 0.04; done
        where_is $child >> "$note.new"
        mv "$note.new" "$note"
        exec sleep 3600
    "#;
    let (root, note) = (machine.root.clone(), notes.join(name));
    ["sh", "-c", script, "sh"]
        .map(str::to_owned)
        .into_iter()
        .chain([root, note].map(|path: PathBuf| path.into_os_string().into_string().unwrap()))
        .collect()
}

/// What a process noted: the groups in which it and its child were.
pub(crate) fn noted(machine: &Machine, name: &str) -> (Vec<String>, Vec<String>) {
    let file = machine.at("notes").join(name);
    crate::common::eventually("the process has noted where it is", || file.exists());
    let text = fs::read_to_string(&file).unwrap();
    let (own, child) = text.split_once("child\n").unwrap();
    let own = own.strip_prefix("self\n").unwrap();
    [own, child].map(|lines| lines.lines().map(|line| group(&machine.root, line)).collect()).into()
}

/// The group of a file `tasks`.
pub(crate) fn group(root: &Path, tasks: &str) -> String {
    let tasks = Path::new(tasks).strip_prefix(root).unwrap();
    tasks.parent().unwrap().to_str().unwrap().to_owned()
}

/// The monitoring groups of all programs, by the program's name.
pub(crate) fn groups(machine: &Machine) -> BTreeMap<String, String> {
    let snapshot = machine.snapshot(&[]);
    snapshot.keys().filter_map(|file| program(file.strip_suffix("/tasks")?)).collect()
}

/// The program that a group is of, and the group.
fn program(group: &str) -> Option<(String, String)> {
    let (_, program) = group.rsplit_once('/')?.1.strip_prefix("fairways.")?.split_once('-')?;
    Some((program.to_owned(), group.to_owned()))
}
