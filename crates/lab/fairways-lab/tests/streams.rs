//! `fairways-lab record`, and runs that come out alike. Needs qemu-user; without it a test prints
//! that and does nothing, unless `FAIRWAYS_REQUIRE_SYSTEM` is set.

#![allow(clippy::unwrap_used)]

mod traced;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use fairways_profiles::{ProfileMetric, read_table};
use traced::{errors, fairways, folder, run, there_is_qemu};

fn succeeds(folder: &Path, words: &[&str]) {
    let out = run(folder, words);
    assert!(out.status.success(), "{words:?}: {}", errors(&out));
}

const SLICE: [&str; 4] = ["--skip", "5M", "--instructions", "3M"];
const SLICES: [&str; 4] = ["--slices", "3", "--apart", "6M"];

fn record(folder: &Path, output: &str, more: &[&str]) {
    let words = ["record", "-q", "-o", output];
    succeeds(folder, &[&words[..], &SLICE, more, &["--", "sort", "text"]].concat());
}

fn profile(folder: &Path, output: &str, more: &[&str]) {
    let words = ["profile", "-q", "-o", output];
    succeeds(folder, &[&words[..], &SLICE, more, &["--", "sort", "text"]].concat());
}

/// Whatever the environment, the folder, the limits, the ignored signals, the open files, the
/// libraries' cache and the load are.
#[test]
fn runs_come_out_alike_to_the_last_byte() {
    if !there_is_qemu() {
        return;
    }
    let (here, there) = (folder(), folder());
    record(here.path(), "a.stream", &SLICES);
    profile(here.path(), "a.csv", &SLICES);
    let busy = ["profile", "-q", "-o", "busy.csv", "--", "sh", "-c", "while :; do :; done"];
    let mut busy = fairways(here.path(), &busy).stderr(Stdio::null()).spawn().unwrap();
    let script = "ulimit -s 65536; trap '' INT QUIT HUP; exec 7< text; exec \"$0\" \"$@\"";
    let hidden = format!("mount --bind /dev/null /etc/ld.so.cache && {{ {script}; }}");
    let apart = ["--map-root-user", "--mount", "sh", "-c"];
    let mut probe = Command::new("unshare");
    let can_hide = probe.args(apart).arg("mount --bind /dev/null /etc/ld.so.cache").status();
    let can_hide = can_hide.is_ok_and(|status| status.success());
    if !can_hide {
        eprintln!("no mounts of one's own here: the libraries' cache stays the same");
    }
    for (words, output) in
        [(["record", "-q", "-o"], "b.stream"), (["profile", "-q", "-o"], "b.csv")]
    {
        let mut elsewhere = Command::new(if can_hide { "unshare" } else { "sh" });
        match can_hide {
            true => elsewhere.args(apart).arg(&hidden),
            false => elsewhere.args(["-c", script]),
        };
        elsewhere.arg(cargo_bin("fairways-lab")).args(words).arg(output);
        elsewhere.args([&SLICE[..], &SLICES, &["--", "sort", "text"]].concat());
        elsewhere.current_dir(there.path()).stdin(Stdio::null()).stdout(Stdio::null());
        elsewhere.env("LC_ALL", "C.UTF-8").env("LONG", "x".repeat(3000));
        assert!(elsewhere.status().unwrap().success());
    }
    Command::new("kill").args(["-KILL", &busy.id().to_string()]).status().unwrap();
    busy.wait().unwrap();
    for (a, b) in [("a.stream", "b.stream"), ("a.csv", "b.csv")] {
        let (a, b) = (here.path().join(a), there.path().join(b));
        assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "{a:?} differs from {b:?}");
    }
    let csv = fs::read_to_string(here.path().join("a.csv")).unwrap();
    let table = read_table(csv.as_bytes(), "a.csv").unwrap();
    let run = table.run(0).unwrap();
    assert_eq!((run.skip, run.instructions, run.slices), (5_000_000, 9_000_000, 3));
    assert_eq!((&run.command[..], run.exit_code), (&["sort".into(), "text".into()][..], None));
    assert!(run.file.ends_with("/sort") && run.sha256.len() == 64, "{run:?}");
}

/// A stream has the misses of the profile of the same run, with every number of ways.
#[test]
fn a_stream_fed_back_has_the_profile_of_the_run() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    for more in [&[][..], &SLICES] {
        record(folder, "s.stream", more);
        profile(folder, "live.csv", more);
        succeeds(folder, &["profile", "-q", "-o", "fed.csv", "stream:s.stream"]);
        let tables = ["live.csv", "fed.csv"].map(|file| {
            let bytes = fs::read(folder.join(file)).unwrap();
            read_table(&bytes, file).unwrap()
        });
        let [live, fed] = &tables;
        assert_eq!((live.run(0), live.names()), (fed.run(0), fed.names()));
        for metric in [ProfileMetric::Llcmpki, ProfileMetric::Ipc, ProfileMetric::BandwidthMbps] {
            for (live, fed) in live.values(0, metric).zip(fed.values(0, metric)) {
                assert!((live - fed).abs() <= 0.01 * live, "{metric:?}: {fed}, not {live}");
            }
        }
    }
    // On the chip, where they take turns under policies that schedule.
    let words = ["simulate", "--machine", "chip:skylake:cores=2", "--duration", "40ms"];
    let programs = ["--programs", "stream:s.stream,stream:s.stream,mload:60M"];
    let more = ["--policies", "stock,casc,cache-fair", "--quantum", "5ms", "--json"];
    let out = run(folder, &[&words[..], &programs, &more].concat());
    assert!(out.status.success(), "{}", errors(&out));
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    for policy in found["policies"].as_array().unwrap() {
        for slowdown in policy["slowdowns"].as_array().unwrap() {
            assert!(slowdown.as_f64().unwrap() > 0.9, "{policy}");
        }
    }
}

/// Without a slice, too.
#[test]
fn whole_runs_are_recorded_alike() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    for output in ["a.stream", "b.stream"] {
        succeeds(folder, &["record", "-q", "-o", output, "--", "sort", "text"]);
    }
    let [a, b] = ["a.stream", "b.stream"].map(|file| fs::read(folder.join(file)).unwrap());
    assert!(a == b, "{} and {} bytes", a.len(), b.len());
}

/// Nothing was measured: nothing is kept, whatever flags say.
#[test]
fn a_run_that_ends_while_it_is_skipped_is_refused() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    for verb in ["record", "profile"] {
        let words = [verb, "-q", "--keep-any", "-o", "out", "--skip", "9G", "--", "true"];
        let out = run(folder.path(), &words);
        assert_eq!(out.status.code(), Some(2), "{verb}: {}", errors(&out));
        assert!(errors(&out).contains("true: ran no instruction that was seen"), "{verb}");
        assert!(!folder.path().join("out").exists(), "{verb}");
    }
}

/// Flags of a run mean nothing to a stream; its costs can be changed.
#[test]
fn a_stream_takes_no_flags_of_a_run() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    record(folder, "s.stream", &[]);
    for more in [&["--children"][..], &["--env", "A=1"], &["--skip", "1M"], &["--by-address"]] {
        let out = run(folder, &[&["profile", "-q"][..], more, &["stream:s.stream"]].concat());
        let expected = format!("fairways-lab: {}: a stream does not take it", more[0]);
        assert_eq!((out.status.code(), errors(&out).trim_end()), (Some(2), &*expected));
    }
    let ipc = [&[][..], &["--cpi", "2"]].map(|more| {
        let words = [&["profile", "-q", "-o", "fed.csv"][..], more, &["stream:s.stream"]];
        succeeds(folder, &words.concat());
        let table = read_table(&fs::read(folder.join("fed.csv")).unwrap(), "fed.csv").unwrap();
        table.values(0, ProfileMetric::Ipc).next().unwrap()
    });
    assert!(ipc[1] < 0.6 * ipc[0], "{ipc:?}");
}

#[test]
fn a_stream_that_was_cut_or_altered_is_refused_in_a_line() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    record(folder, "s.stream", &[]);
    let good = fs::read(folder.join("s.stream")).unwrap();
    fs::write(folder.join("cut.stream"), &good[..good.len() - 7]).unwrap();
    let mut altered = good.clone();
    altered[200] ^= 1;
    fs::write(folder.join("altered.stream"), altered).unwrap();
    fs::write(folder.join("p.csv"), "").unwrap();
    for (file, said) in [
        ("cut.stream", "cut.stream: expected the stream as it was written, found it cut"),
        ("altered.stream", "altered.stream: expected the stream as it was written, found it cut"),
        ("text", "text: expected a stream that fairways-lab record wrote"),
        ("none.stream", "none.stream: can't read it"),
    ] {
        let stream = format!("stream:{file}");
        let on_chip = ["simulate", "--machine", "chip:skylake", "--programs", &stream];
        for words in [&["profile", "-o", "q.csv", &stream][..], &on_chip] {
            let out = run(folder, words);
            assert_eq!(out.status.code(), Some(2), "{words:?}: {}", errors(&out));
            assert!(errors(&out).contains(said), "{words:?}: {}", errors(&out));
            assert_eq!(errors(&out).lines().count(), 1, "{words:?}");
        }
    }
    let other = ["profile", "--machine", "chip:xeon-d:l2=32/8", "-o", "q.csv", "stream:s.stream"];
    let out = run(folder, &other);
    let said = "expected private caches of 32 KB (8 ways), 1024 KB (16 ways), found 32 KB (8 \
                ways), 32 KB (8 ways)";
    assert_eq!((out.status.code(), errors(&out).contains(said)), (Some(2), true));
    assert!(!folder.join("q.csv").exists());
}

#[test]
fn a_run_that_failed_or_ended_too_soon_is_kept_only_if_requested() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    profile(folder, "p.csv", &[]);
    let before = fs::read(folder.join("p.csv")).unwrap();
    let append = ["profile", "-q", "--append", "-o", "p.csv"];
    let long = [&append[..], &["--instructions", "90G", "--", "true"]].concat();
    let failed = [&append[..], &["--", "sh", "-c", "exit 3"]].concat();
    let died = [&append[..], &["--", "sh", "-c", "kill -KILL $$"]].concat();
    let record = ["record", "-o", "s.stream", "--", "sh", "-c", "exit 3"];
    for (words, said) in [
        (&long[..], "true: expected 90000000000 instructions, it ended after "),
        (&failed, "sh: ended with exit code 3; --keep-any keeps the result"),
        (&died, "sh: ended with exit code 137; --keep-any keeps the result"),
        (&record, "sh: ended with exit code 3; --keep-any keeps the result"),
        (&["record", "-o", "none/s.stream", "true"], "none/s.stream: can't write it"),
        (&["record", "-o", "s.stream", "stream:text"], "text: expected a stream"),
        (&["record", "-o", "s.stream", "--slices", "2", "true"], "--apart"),
        (&["record", "-o", "s.stream", "--skip", "1X", "true"], "--skip: expected a number of"),
    ] {
        let out = run(folder, words);
        assert_eq!(out.status.code(), Some(2), "{words:?}: {}", errors(&out));
        assert!(errors(&out).contains(said), "{words:?}: {}", errors(&out));
        assert_eq!(errors(&out).lines().count(), 1, "{words:?}: {}", errors(&out));
    }
    assert!(fs::read(folder.join("p.csv")).unwrap() == before);
    assert!(!folder.join("s.stream").exists());
    let keep = [&append[..], &["--keep-any", "--", "sh", "-c", "exit 3"]].concat();
    assert_eq!(run(folder, &keep).status.code(), Some(3));
    let table = read_table(&fs::read(folder.join("p.csv")).unwrap(), "p.csv").unwrap();
    assert_eq!(table.names(), ["sort", "sh"]);
    assert_eq!(table.run(1).unwrap().exit_code, Some(3));
}

/// `timeout` sends its signal to the command and to the command's group.
#[test]
fn two_signals_at_once_keep_what_was_measured() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let folder = folder.path();
    for signal in ["-INT", "-TERM"] {
        let script = "echo > up; while :; do :; done";
        let words = ["profile", "-q", "--append", "-o", "p.csv", "--name", &signal[1..]];
        let mut started = fairways(folder, &[&words[..], &["--", "sh", "-c", script]].concat());
        let mut child = started.stderr(Stdio::null()).process_group(0).spawn().unwrap();
        let (up, began) = (folder.join("up"), Instant::now());
        while !up.exists() {
            assert!(began.elapsed() < Duration::from_secs(300), "it does not run");
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::remove_file(up).unwrap();
        // Instructions are counted in portions.
        std::thread::sleep(Duration::from_millis(500));
        let (one, group) = (child.id().to_string(), format!("-{}", child.id()));
        let kill = format!("kill {signal} {one}; kill {signal} -- {group}");
        Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let csv = fs::read_to_string(folder.join("p.csv")).unwrap();
        assert!(csv.contains(&format!("\n{},11,", &signal[1..])), "{signal}: {csv}");
    }
}
