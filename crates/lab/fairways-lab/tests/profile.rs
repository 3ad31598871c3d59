//! `fairways-lab profile`. Needs qemu-user; without it a test prints that and does nothing, unless
//! `FAIRWAYS_REQUIRE_SYSTEM` is set.

#![allow(clippy::unwrap_used)]

mod traced;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use traced::{errors, fairways, folder, run, there_is_qemu};

#[test]
fn a_profile_is_what_simulate_reads() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let out = run(folder.path(), &["profile", "--plot", "p.svg", "--", "sort", "text"]);
    assert!(out.status.success(), "{}", errors(&out));
    // The command's own output is passed on, and nothing more.
    assert_eq!(out.stdout.iter().filter(|&&byte| byte == b'\n').count(), 20_000);
    let shown = errors(&out);
    assert!(shown.contains("11 ways of 2560 KB") && shown.contains("sort.profile.csv"), "{shown}");
    assert!(std::fs::read_to_string(folder.path().join("p.svg")).unwrap().contains("<svg"));
    let words = ["profile", "-q", "--append", "-o", "sort.profile.csv", "--name", "two", "true"];
    assert!(run(folder.path(), &words).status.success());
    let words = ["simulate", "--profiles", "sort.profile.csv", "--mix", "sort,two,sort", "--json"];
    let out = run(folder.path(), &words);
    assert!(out.status.success(), "{}", errors(&out));
    let csv = std::fs::read_to_string(folder.path().join("sort.profile.csv")).unwrap();
    // Each has its run as a comment.
    assert_eq!(csv.lines().count(), 2 + 1 + 2 * 11);
}

const MACHINES: [&str; 3] = ["chip:skylake", "chip:xeon-e5", "chip:t1:sets=768:ways=32"];

/// Their L1s and L2s differ; slices begin and end between two accesses of some.
#[test]
fn one_run_for_several_machines_gives_the_bytes_of_a_run_for_each() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    for part in [
        &["--skip", "1M", "--instructions", "3M"][..],
        &["--skip", "20001", "--instructions", "70003", "--slices", "9", "--apart", "300007"],
        &["--env", "A=B", "--set-sampling", "4"],
    ] {
        let profile = [&["profile", "-q"], part].concat();
        let mut together = profile.clone();
        for (machine, file) in MACHINES.into_iter().zip(["0.csv", "1.csv", "2.csv"]) {
            together.extend(["--machine", machine, "-o", file]);
            let words = [&profile, &["--machine", machine, "-o", "one.csv", "sort", "text"][..]];
            let out = run(folder.path(), &words.concat());
            assert!(out.status.success(), "{}", errors(&out));
            let path = folder.path();
            std::fs::rename(path.join("one.csv"), path.join(format!("alone-{file}"))).unwrap();
        }
        let out = run(folder.path(), &[&together[..], &["sort", "text"]].concat());
        assert!(out.status.success(), "{}", errors(&out));
        for file in ["0.csv", "1.csv", "2.csv"] {
            let alone = folder.path().join(format!("alone-{file}"));
            let [found, expected] = [folder.path().join(file), alone]
                .map(|path| std::fs::read_to_string(path).unwrap());
            assert_eq!(found, expected, "{part:?}");
        }
    }
}

#[test]
fn profiles_of_several_machines_have_names_of_their_own() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let machines = ["--machine", MACHINES[0], "--machine", MACHINES[2]];
    let out = run(folder.path(), &[&["profile", "--json"], &machines[..], &["true"]].concat());
    let said = String::from_utf8(out.stdout).unwrap();
    let found: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&found[0]["machine"], &found[1]["machine"]),
        (&MACHINES[0].into(), &MACHINES[2].into())
    );
    assert_eq!(found[0]["instructions"], found[1]["instructions"]);
    for name in ["true.skylake.profile.csv", "true.t1_sets_768_ways_32.profile.csv"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn json_says_what_the_table_does() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let words = ["profile", "--json", "--ways", "4", "--machine", "chip:xeon-d", "-o", "p.csv"];
    let out = run(folder.path(), &[&words[..], &["echo", "said"]].concat());
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&found["schema"], &found["program"]), (&1.into(), &"echo".into()));
    assert_eq!((&found["exit_code"], &found["ways"]), (&0.into(), &4.into()));
    let misses: Vec<u64> =
        (0..4).map(|row| found["by_ways"][row]["llc_misses"].as_u64().unwrap()).collect();
    assert!(misses.is_sorted_by(|a, b| a >= b) && misses[3] > 0, "{misses:?}");
    let references = found["l1_references"].as_u64().unwrap();
    assert!(found["instructions"].as_u64().unwrap() > references && references > misses[0]);
    assert!(errors(&out).contains("said"));
}

#[test]
fn the_exit_code_is_passed_on() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)] {
        let out = run(folder.path(), &["profile", "-q", "--", "sh", "-c", script]);
        assert_eq!(out.status.code(), Some(code), "{script}: {}", errors(&out));
        assert!(folder.path().join("sh.profile.csv").exists());
    }
    let out = run(folder.path(), &["profile", "-q", "--", "sh", "-c", "ls > /dev/null; true"]);
    let said = "fairways-lab: warning: sh: forked once and executed ls, which is not simulated; \
                --children measures them, too\n";
    assert_eq!(errors(&out), said);
}

#[test]
fn interrupted_it_keeps_what_was_measured() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for signal in ["-INT", "-TERM"] {
        let script = "echo > up; while :; do :; done";
        let measured = ["profile", "-o", "p.csv", "--", "sh", "-c", script];
        let mut started = fairways(folder.path(), &measured);
        let mut child = started.stderr(Stdio::null()).spawn().unwrap();
        let (up, began) = (folder.path().join("up"), Instant::now());
        while !up.exists() {
            assert!(began.elapsed() < Duration::from_secs(300), "it does not run");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::fs::remove_file(up).unwrap();
        // Instructions are counted in portions.
        std::thread::sleep(Duration::from_millis(500));
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let since = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(since.elapsed() < Duration::from_secs(10));
        let csv = std::fs::read_to_string(folder.path().join("p.csv")).unwrap();
        assert_eq!(csv.lines().count(), 1 + 12);
        std::fs::remove_file(folder.path().join("p.csv")).unwrap();
    }
}

#[test]
fn what_cannot_be_measured_is_reported_in_one_line() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("other.csv"), "BENCH,NR_WAYS\n").unwrap();
    let others = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../corpus/profiles/broadwell.csv");
    std::fs::copy(others, folder.path().join("broadwell.csv")).unwrap();
    std::os::unix::fs::symlink("other.csv", folder.path().join("link.csv")).unwrap();
    for (words, code, said) in [
        (&["nonesuch"][..], 2, "fairways-lab: nonesuch: expected a program"),
        (&["--ways", "33", "true"], 2, "fairways-lab: --ways: expected"),
        (&["--machine", "model", "true"], 2, "fairways-lab: --machine: expected chip:"),
        (&["--name", "a,b", "true"], 2, "fairways-lab: --name: expected a name without commas"),
        (&["--append", "-o", "other.csv", "true"], 2, "fairways-lab: other.csv:1"),
        (
            &["--append", "-o", "broadwell.csv", "--machine", "chip:xeon-e5-2630", "true"],
            2,
            "fairways-lab: broadwell.csv: expected profiles of chip:xeon-e5-2630, found one of chip:xeon-e5",
        ),
        (&["-o", "none/p.csv", "true"], 2, "fairways-lab: none/p.csv: can't write"),
        (&["--plot", "none/p.svg", "true"], 2, "fairways-lab: none/p.svg: can't write"),
        (
            &["--plot", "p.png", "true"],
            2,
            "fairways-lab: --plot: expected a name that ends in .svg",
        ),
        (
            &["--machine", MACHINES[0], "--machine", MACHINES[1], "-o", "p.csv", "true"],
            2,
            "fairways-lab: --output: expected as many as machines (2), in their order, found 1",
        ),
        (
            &[
                "--machine=chip:skylake",
                "--machine=chip:t1",
                "--output=p.csv",
                "--output=p.csv",
                "true",
            ],
            2,
            "fairways-lab: p.csv: expected a file for each machine, found one for chip:skylake and \
             chip:t1",
        ),
        (
            &[
                "--machine=chip:skylake",
                "--machine=chip:t1",
                "--output=p.csv",
                "--output=./p.csv",
                "true",
            ],
            2,
            "fairways-lab: ./p.csv: expected a file for each machine",
        ),
        (
            &[
                "--machine=chip:skylake",
                "--machine=chip:t1",
                "--output=other.csv",
                "--output=link.csv",
                "true",
            ],
            2,
            "fairways-lab: link.csv: expected a file for each machine",
        ),
        (
            &["--machine", MACHINES[0], "--machine", MACHINES[0], "true"],
            2,
            "fairways-lab: true.skylake.profile.csv: expected a file for each machine, found one for",
        ),
        (
            &["--machine", MACHINES[0], "--machine", MACHINES[1], "--plot", "p.svg", "true"],
            2,
            "fairways-lab: --plot: expected one --machine with it, found 2",
        ),
        (&["--qemu", "/nonesuch", "true"], 1, "fairways-lab: expected qemu-"),
        (
            &["--qemu", "/bin/true", "true"],
            1,
            "fairways-lab: /bin/true: expected a QEMU that takes plugins",
        ),
    ] {
        let out = run(folder.path(), &[&["profile"], words].concat());
        assert_eq!(out.status.code(), Some(code), "{words:?}: {}", errors(&out));
        assert!(errors(&out).starts_with(said), "{words:?}: {}", errors(&out));
        assert_eq!(errors(&out).lines().count(), 1, "{words:?}");
        assert!(out.stdout.is_empty(), "{words:?}");
    }
    let files = std::fs::read_dir(folder.path()).unwrap().flatten();
    let mut names: Vec<_> = files.map(|file| file.file_name()).collect();
    names.sort();
    assert_eq!(names, ["broadwell.csv", "link.csv", "other.csv"]);
    let kept = std::fs::read_to_string(folder.path().join("other.csv")).unwrap();
    assert_eq!(kept, "BENCH,NR_WAYS\n");
}
