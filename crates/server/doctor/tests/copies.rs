//! What doctor says about copies of hosts that nobody here has (`tests/copies`). They are not real:
//! each is made from the kernel's documents, and says from which.
//!
//! `INSTA_UPDATE=always cargo test -p fairways-doctor --test copies` writes what it says now.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use fairways_doctor::{ExaminedHost, collect, examine, output};
use tempfile::TempDir;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/copies")
}

/// Unpacks a copy: after a few words about it, each file follows a line `=== PATH`.
fn unpacked(text: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    let (head, files) = text.split_once("=== ").unwrap();
    assert!(head.starts_with("Not real: ") && head.contains("Made from "), "{head}");
    for file in files.split("\n=== ") {
        let (path, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = copy.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    copy
}

fn said(sysroot: &Path) -> String {
    let (sysroot, is_copy) = (sysroot.to_owned(), true);
    let host = ExaminedHost { sysroot, resctrl: None, is_copy, without_scheduler: None };
    let mut text = Vec::new();
    output::text(&examine(&host), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn doctor_says_of_each_copy_what_it_would_say_there() {
    let mut count = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let copy = unpacked(&fs::read_to_string(&path).unwrap());
        collect::check(copy.path()).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = said(copy.path());
        assert!(!text.contains(copy.path().to_str().unwrap()), "{text}");
        insta::with_settings!({ prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, text);
        });
        count += 1;
    }
    assert!(count >= 5);
}

/// The script copies a copy as it is: it takes nothing that doctor does not read, and drops nothing
/// that it does.
#[test]
fn a_copy_of_a_copy_says_the_same() {
    for entry in fs::read_dir(folder()).unwrap() {
        let copy = unpacked(&fs::read_to_string(entry.unwrap().path()).unwrap());
        let again = tempfile::tempdir().unwrap();
        let to = again.path().join("again");
        collect::collect(&to, copy.path()).unwrap();
        assert_eq!(said(&to), said(copy.path()));
        let said = collect::collect(&to, copy.path()).unwrap_err().to_string();
        assert!(said.ends_with("expected a name that is free"), "{said}");
        let tar = again.path().join("again.tar");
        collect::collect(&tar, copy.path()).unwrap();
        assert!(tar.is_file() && !again.path().join("again.tar.folder").exists());
    }
}

/// A host whose files have what is nobody's business; none of it is in the copy.
#[test]
fn nothing_private_is_copied() {
    let host = tempfile::tempdir().unwrap();
    let secret = "s3cret";
    for (file, text) in [
        ("proc/cmdline", "root=UUID=s3cret ip=s3cret hostname=s3cret rdt=!l3cat,mba quiet\n"),
        ("proc/cpuinfo", "vendor_id\t: GenuineIntel\nmodel name\t: Xeon\nSerial\t\t: s3cret\n"),
        ("proc/7/cmdline", "s3cret\0--password=s3cret\0"),
        ("proc/7/comm", "s3cret\n"),
        ("proc/self/status", "Name:\ts3cret\n"),
        ("proc/sys/kernel/hostname", "s3cret\n"),
        ("proc/sys/kernel/osrelease", "6.12.0\n"),
        ("boot/config-6.12.0", "CONFIG_DEFAULT_HOSTNAME=\"s3cret\"\nCONFIG_CGROUPS=y\n"),
        ("sys/class/dmi/id/sys_vendor", "s3cret KVM\n"),
        ("sys/class/dmi/id/product_serial", "s3cret\n"),
        ("etc/passwd", "s3cret\n"),
        (
            "proc/mounts",
            "s3cret:/export /home/s3cret nfs rw,addr=s3cret 0 0\n\
         s3cret /s3cret fuse.resctrl rw 0 0\n\
         resctrl /sys/fs/resctrl resctrl rw,cdp,context=s3cret 0 0\n\
         cgroup /sys/fs/cgroup/s3cret cgroup rw,name=s3cret 0 0\n",
        ),
        ("sys/fs/resctrl/schemata", "    L3:0=fff\n"),
        ("sys/fs/resctrl/tasks", "7\n"),
        ("sys/fs/resctrl/info/last_cmd_status", "s3cret\n"),
        ("sys/fs/resctrl/info/L3/cbm_mask", "fff\n"),
        ("sys/fs/resctrl/s3cret/schemata", "    L3:0=f\n"),
        ("sys/fs/resctrl/s3cret/mon_groups/s3cret/tasks", "7\n"),
        ("sys/fs/resctrl/fairways.s3cret/schemata", "    L3:0=f\n"),
        ("sys/fs/resctrl/mon_groups/s3cret/tasks", "7\n"),
    ] {
        let path = host.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let copy = tempfile::tempdir().unwrap();
    let to = copy.path().join("copy");
    collect::collect(&to, host.path()).unwrap();
    let (mut names, mut texts) = (Vec::new(), String::new());
    walk(&to, &mut names, &mut texts);
    assert!(!texts.contains(secret) && !names.concat().contains(secret), "{texts}\n{names:?}");
    assert_eq!(fs::read_to_string(to.join("proc/cmdline")).unwrap().trim(), "rdt=!l3cat,mba");
    assert_eq!(fs::read_to_string(to.join("sys/class/dmi/id/sys_vendor")).unwrap(), "KVM\n");
    for folder in ["group2/mon_groups/group1", "fairways.1", "mon_groups/group1", "info/L3"] {
        assert!(to.join("sys/fs/resctrl").join(folder).is_dir(), "{folder}: {names:?}");
    }
    let mounts = fs::read_to_string(to.join("proc/mounts")).unwrap();
    assert!(mounts.contains("resctrl /sys/fs/resctrl resctrl rw,cdp 0 0\n"), "{mounts}");
}

fn walk(folder: &Path, names: &mut Vec<String>, texts: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        if path.is_dir() {
            walk(&path, names, texts);
        } else {
            texts.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// docs/collect.md lists what the script reads.
#[test]
fn the_page_lists_every_file_that_the_script_reads() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/collect.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, list) = collect::SCRIPT.split_once("# The list.").unwrap();
    let mut count = 0;
    for line in list.lines() {
        let mut words = line.split_whitespace();
        if !matches!(words.next(), Some("take" | "note" | "words")) {
            continue;
        }
        let path = words.next().unwrap().trim_matches(['\'', '"']).replace("$release", "RELEASE");
        let path = path.replace("[0-9]*", "N").replace("index*", "indexN");
        assert!(page.contains(&format!("`/{path}`")), "docs/collect.md: /{path}");
        count += 1;
    }
    assert!(count > 20);
}
