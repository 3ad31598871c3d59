use std::os::fd::AsRawFd as _;

use tempfile::TempDir;

use super::*;

/// A hierarchy of v2 in a directory; and where its cgroups are.
fn forest() -> (TempDir, PathBuf, Forest) {
    let directory = tempfile::tempdir().unwrap();
    let (proc, cgroup) = (directory.path().join("proc"), directory.path().join("cgroup"));
    fs::create_dir_all(proc.join("self")).unwrap();
    fs::create_dir(&cgroup).unwrap();
    let mount = format!("30 22 0:1 / {} rw - cgroup2 cgroup2 rw\n", cgroup.display());
    fs::write(proc.join("self/mountinfo"), mount).unwrap();
    let forest = Forest::open(&Proc::new(proc), &cgroup).unwrap();
    (directory, cgroup, forest)
}

/// The number of watches in the kernel, where it reports them (`proc_pid_fdinfo(5)`).
fn watch_count(forest: &Forest) -> Option<usize> {
    let fd = forest.inotify.as_ref().unwrap().as_raw_fd();
    let fdinfo = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
    let count = fdinfo.lines().filter(|line| line.starts_with("inotify ")).count();
    Some(count).filter(|&count| count > 0)
}

#[test]
fn cgroups_that_are_gone_are_not_watched() {
    let (directory, cgroup, mut forest) = forest();
    let before = watch_count(&forest);
    for round in 0..10 {
        let path = cgroup.join("a");
        fs::create_dir_all(path.join("b")).unwrap();
        fs::write(path.join("cgroup.events"), "populated 1\n").unwrap();
        forest.refresh(true).unwrap();
        assert_eq!(forest.populated(0, "/a"), Some(true));
        assert_eq!(forest.watched.len(), 4);
        // As with kernfs, and unlike where a directory is removed from a disk, its watches stay.
        fs::rename(&path, directory.path().join(round.to_string())).unwrap();
        assert!(forest.refresh(round % 2 == 0).unwrap().dirs);
        assert_eq!(forest.paths(0).collect::<Vec<_>>(), ["/"]);
        assert_eq!((forest.watched.len(), watch_count(&forest)), (1, before));
    }
}

#[test]
fn a_walk_finds_recreated_cgroups_and_keeps_watches() {
    let (directory, cgroup, mut forest) = forest();
    for name in ["a", "b"] {
        fs::create_dir(cgroup.join(name)).unwrap();
        fs::write(cgroup.join(name).join("cgroup.events"), "populated 1\n").unwrap();
    }
    forest.refresh(true).unwrap();
    assert!(forest.populated(0, "/a").is_some() && forest.populated(0, "/b").is_some());
    assert!(!forest.walk().unwrap());
    assert!(forest.reports_population(0, "/a") && forest.watched.len() == 5);
    let inode = forest.inode(0, "/a");
    fs::rename(cgroup.join("a"), directory.path().join("gone")).unwrap();
    fs::create_dir(cgroup.join("a")).unwrap();
    assert!(forest.walk().unwrap(), "the paths are the same");
    assert!(inode.is_some() && forest.inode(0, "/a") != inode);
    assert!(!forest.reports_population(0, "/a") && forest.reports_population(0, "/b"));
    assert_eq!(forest.watched.len(), 4);
}

#[test]
fn a_cgroup_reported_with_an_error_is_walked_to() {
    let (_directory, cgroup, mut forest) = forest();
    let odd = cgroup.join("a");
    fs::create_dir(&odd).unwrap();
    fs::remove_dir(&odd).unwrap();
    std::os::unix::fs::symlink(&odd, &odd).unwrap();
    fs::create_dir(cgroup.join("b")).unwrap();
    let error = forest.refresh(true).unwrap_err().to_string();
    assert!(error.contains("cgroup/a"), "{error}");
    fs::remove_file(&odd).unwrap();
    assert!(forest.refresh(false).unwrap().dirs, "there is something to look at");
    assert!(forest.refresh(true).unwrap().dirs);
    assert_eq!(forest.paths(0).collect::<Vec<_>>(), ["/", "/b"]);
    assert_eq!(forest.refresh(true).unwrap(), Changes::default());
    assert!(forest.is_watched());
}
