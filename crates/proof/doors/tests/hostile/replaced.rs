//! Groups that replace the daemon's own.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::Signal;

use super::common::{Machine, Sleeper, can, eventually};
use super::running::{Daemon, command, configure};

/// Another manager removes the daemon's class and makes one of the same name: the daemon never
/// writes to it, warns once and plans around it, and it still exists on exit.
#[test]
fn a_class_that_replaced_the_daemons_is_left_alone() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,mload:60M");
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let select = |program: &str| format!("select = \"pid:{}\"", machine.pids[program]);
    let (reads, streams) = (select("mlr:500K"), select("mload:60M"));
    configure(&machine, "policy = \"equal\"", &[("reads", &reads), ("streams", &streams)]);
    let daemon = Daemon::start(&machine, command(&machine));
    let class_of = |pid: i32| {
        let snapshot = machine.snapshot(&tasks);
        let has = |text: &String| text.lines().any(|line| line == pid.to_string());
        let mut found =
            snapshot.iter().filter(|(path, text)| path.ends_with("/tasks") && has(text));
        found.find_map(|(path, _)| Some(path.split_once('/')?.0.to_owned())).unwrap_or_default()
    };
    let managed = |pid: &i32| class_of(*pid).starts_with("fairways.");
    eventually("both have classes", || tasks.iter().all(managed));

    let theirs = Sleeper::start();
    let class = class_of(tasks[0]);
    let path = machine.root.join(&class);
    // The daemon may be at work in it, and may create it again before the other manager does.
    eventually("the class is another's", || {
        fs::remove_dir(&path).and_then(|()| fs::create_dir(&path)).is_ok()
    });
    machine.write(&format!("{class}/schemata"), "L3:0=3\n");
    machine.write(&format!("{class}/tasks"), &theirs.id().to_string());
    let inode = fs::metadata(&path).unwrap().ino();
    let held = || {
        let tasks = fs::read_to_string(path.join("tasks")).unwrap();
        let schemata = fs::read_to_string(path.join("schemata")).unwrap();
        (fs::metadata(&path).unwrap().ino(), tasks, schemata)
    };
    let foreign = held();
    assert_eq!((foreign.0, foreign.1.trim()), (inode, &*theirs.id().to_string()));

    eventually("both have classes again", || {
        tasks.iter().all(|pid| managed(pid) && class_of(*pid) != class)
    });
    assert_eq!(held(), foreign);
    eventually("its ways are planned around", || {
        daemon.status()["domains"][0]["ways"].as_u64() == Some(8)
    });
    let warning = "made another of its name";
    assert_eq!(daemon.said().matches(warning).count(), 1, "{}", daemon.said());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(held(), foreign, "still there when the daemon has ended");
    let ours = fs::read_dir(&machine.root).unwrap().flatten().map(|entry| entry.file_name());
    let ours: Vec<_> =
        ours.filter(|name| name.to_string_lossy().starts_with("fairways.")).collect();
    assert_eq!(ours, [class.as_str()]);
}
