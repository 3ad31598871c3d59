//! Sweeps: points, shards, restarts, and tables of results.

#![allow(clippy::unwrap_used)]

mod chip;
mod recipes;
mod slurm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const PROGRAMS: [&str; 8] = [
    "triad",
    "hash-join",
    "btree-lookup",
    "graph-walk",
    "chess",
    "gzip-block",
    "lp-simplex",
    "fft-out-of-core",
];

/// Three of the programs.
fn mix(number: usize) -> String {
    [1, 8, 64].map(|place| PROGRAMS[number / place % PROGRAMS.len()]).join(",")
}

/// So many mixes, under two policies and with several numbers of ways.
fn plan(mixes: usize) -> String {
    let mixes: Vec<String> = (0..mixes)
        .map(|n| format!("{{ label = \"m{n}\", flags = {{ mix = \"{}\" }} }}", mix(n)))
        .collect();
    format!(
        r#"
        command = "simulate"
        flags = {{ profiles = "synthetic" }}
        [[axis]]
        name = "policies"
        values = ["lfoc", "ucp"]
        [[axis]]
        name = "cache"
        values = [{{ label = "small", flags = {{ ways = 6 }} }}, {{ label = "large", flags = {{}} }}]
        [[axis]]
        name = "load"
        values = [{}]
        "#,
        mixes.join(",\n")
    )
}

struct SweptFolder(TempDir);

impl SweptFolder {
    fn with(plan: &str) -> Self {
        let folder = Self(TempDir::new().unwrap());
        fs::write(folder.at("plan.toml"), plan).unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairways-lab"));
        command.arg("sweep").args(words.split(' ')).current_dir(self.0.path());
        command.stdin(Stdio::null());
        command
    }

    fn output(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command prints that succeeds and complains of nothing.
    fn run(&self, words: &str) -> String {
        let output = self.output(words);
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success() && err.is_empty(), "{words}: {out}{err}");
        out
    }

    /// The line in which a command is refused.
    fn refused(&self, words: &str) -> String {
        let output = self.output(words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(output.stdout.is_empty());
        said.trim_end().to_owned()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }
}

#[test]
fn a_plan_becomes_one_table_and_what_is_done_is_not_done_again() {
    let folder = SweptFolder::with(&plan(3));
    assert_eq!(folder.run("write plan.toml"), "plan.sweep: 0 of 12 points are done\n");
    assert_eq!(folder.run("run plan.sweep --shard 2/5"), "3 points run\n");
    assert_eq!(folder.run("status plan.sweep --json"), "{\"schema\":1,\"points\":12,\"done\":3}\n");
    let missing = folder.refused("merge plan.sweep -o all.csv");
    assert!(missing.contains("9 of 12 points have no whole result, the first is policies=lfoc"));
    assert_eq!(folder.run("merge plan.sweep --partial").lines().count(), 1 + 3 * 3);
    assert_eq!(folder.run("run plan.sweep --jobs 3"), "9 points run\n");
    assert_eq!(folder.run("run plan.sweep"), "0 points run\n");
    assert_eq!(folder.run("merge plan.sweep -o all.csv"), "written to all.csv: 36 rows\n");
    let table = String::from_utf8(folder.read("all.csv")).unwrap();
    let mut lines = table.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("policies,cache,load,mix,policy,app,program,slowdown"), "{header}");
    assert!(lines.next().unwrap().starts_with("lfoc,small,m0,"));
    // The rows of a point are those that the command itself prints.
    let words = format!("simulate --profiles synthetic --mix {} --policies ucp --csv", mix(2));
    let alone =
        Command::new(env!("CARGO_BIN_EXE_fairways-lab")).args(words.split(' ')).output().unwrap();
    let alone = String::from_utf8(alone.stdout).unwrap();
    let of_point = table.lines().filter_map(|line| line.strip_prefix("ucp,large,m2,"));
    assert!(of_point.eq(alone.lines().skip(1)), "{alone}");
    // Another plan keeps the results of points that it has, too.
    fs::write(folder.at("plan.toml"), plan(4)).unwrap();
    assert_eq!(folder.run("write plan.toml"), "plan.sweep: 12 of 16 points are done\n");
    fs::write(folder.at("plan.toml"), plan(1)).unwrap();
    assert_eq!(folder.run("write plan.toml"), "plan.sweep: 4 of 4 points are done\n");
    assert_eq!(fs::read_dir(folder.at("plan.sweep/points")).unwrap().count(), 4);
}

#[test]
fn mistakes_are_answered_before_anything_is_written() {
    for (text, expected) in [
        (
            "command = \"simulate\"\n[[axis]]\nname = \"polices\"\nvalues = [\"lfoc\"]",
            "plan.toml: polices=lfoc: unexpected argument '--polices' found; did you mean \"--policies\"?",
        ),
        (
            "command = \"simulate\"\n[[axis]]\nname = \"policies\"\nvalues = [\"lfoc\", \"lfco\"]",
            "plan.toml: policies=lfco: --policies: ",
        ),
        ("command = \"simulate\"\nflags = { json = true }", "plan.toml: "),
        (
            "command = \"simulate\"\n[[axis]]\nname = \"mix\"\nvalues = [\"lbm,gzip\", \"lbm,gziip\"]",
            "plan.toml: mix=lbm,gziip: --mix: ",
        ),
        ("command = \"optimum\"\nflags = { profiles = \"nothere.csv\" }", "plan.toml: "),
        ("command = 1", "plan.toml: line 1: "),
    ] {
        let folder = SweptFolder::with(text);
        let said = folder.refused("write plan.toml");
        assert!(said.starts_with(&format!("fairways-lab: {expected}")), "{said}");
        assert!(!folder.at("plan.sweep").exists());
    }
    let folder = SweptFolder::with(&plan(1));
    assert!(folder.refused("run plan.sweep").contains("`fairways-lab sweep write` makes it"));
    assert!(folder.refused("run plan.sweep --shard 9/8").contains("1/8, the first of eight"));
    assert!(folder.refused("point plan.toml").contains("expected DIR/points/NAME.json"));
    folder.run("write plan.toml");
    folder.run("run plan.sweep");
    let results = fs::read_dir(folder.at("plan.sweep/results")).unwrap();
    let mut others: Vec<PathBuf> = results.map(|entry| entry.unwrap().path()).collect();
    let result = others.pop().unwrap();
    let whole = fs::read(&result).unwrap();
    // In a row, at a line's end, in the last line, and empty: such a point is run again.
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let without_last = lines[..lines.len() - 1].concat();
    let in_last = &whole[..whole.len() - 1];
    for cut in [&whole[..whole.len() - 40], &without_last, in_last, &[]] {
        fs::write(&result, cut).unwrap();
        let said = folder.refused("merge plan.sweep");
        assert!(said.contains("1 of 4 points have no whole result"), "{said}");
        assert_eq!(folder.run("status plan.sweep"), "plan.sweep: 3 of 4 points are done\n");
        assert_eq!(folder.run("run plan.sweep"), "1 points run\n");
        assert!(fs::read(&result).unwrap() == whole);
    }
    // A row less shows only when rows are read.
    let row_less = [&lines[..2], &lines[lines.len() - 1..]].concat().concat();
    fs::write(&result, row_less).unwrap();
    fs::write(&others[0], without_last).unwrap();
    let said = folder.refused("merge plan.sweep --partial");
    assert!(said.contains("expected whole results, found 1 damaged: results/"), "{said}");
    assert!(said.contains(result.file_name().unwrap().to_str().unwrap()), "{said}");
    assert!(said.ends_with("delete these, and run the sweep again"), "{said}");
    fs::remove_file(&result).unwrap();
    assert_eq!(folder.run("run plan.sweep"), "2 points run\n");
    // The name of any column that results have, for flags that it does not show.
    let table = folder.run("merge plan.sweep");
    let columns: Vec<&str> = table.lines().next().unwrap().split(',').skip(3).collect();
    assert!(columns.contains(&"policy") && columns.contains(&"jain"), "{columns:?}");
    for column in columns {
        let values = "[{ label = \"a\", flags = {} }]";
        let text =
            format!("command = \"simulate\"\n[[axis]]\nname = \"{column}\"\nvalues = {values}");
        let said = SweptFolder::with(&text).refused("write plan.toml");
        assert!(said.contains("as results have that column"), "{said}");
    }
}

#[test]
fn a_point_is_for_its_files_and_its_version() {
    let folder = SweptFolder::with(
        "command = \"simulate\"\nflags = { profiles = \"mine.csv\", mix = \"gzip,xz\" }",
    );
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../corpus/profiles/skylake.csv");
    fs::copy(corpus, folder.at("mine.csv")).unwrap();
    folder.run("write plan.toml");
    fs::write(folder.at("mine.csv"), "another").unwrap();
    let said = folder.refused("run plan.sweep");
    assert!(said.contains("expected the file \"mine.csv\" as it was, it has changed"), "{said}");
    fs::remove_file(folder.at("mine.csv")).unwrap();
    assert!(folder.refused("run plan.sweep").contains("there is none here"));
    let points = fs::read_dir(folder.at("plan.sweep/points")).unwrap();
    let point = points.map(|entry| entry.unwrap().path()).next().unwrap();
    let text = fs::read_to_string(&point).unwrap();
    let other = text.replace("\"fairways\":\"", "\"fairways\":\"9");
    fs::write(&point, other).unwrap();
    assert!(folder.refused("run plan.sweep").contains("unaltered"));
    fs::write(&point, text).unwrap();
    let index = folder.at("plan.sweep/sweep.json");
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, text.replace("\"fairways\":\"", "\"fairways\":\"9")).unwrap();
    assert!(folder.refused("run plan.sweep").contains("write the sweep again"));
}

/// A table is not written over what the sweep itself needs, under any of its names.
#[test]
fn a_table_does_not_replace_a_file_of_the_sweep() {
    let folder = SweptFolder::with(&plan(1));
    folder.run("write plan.toml");
    folder.run("run plan.sweep");
    let index = folder.read("plan.sweep/sweep.json");
    let result = fs::read_dir(folder.at("plan.sweep/results")).unwrap().next().unwrap().unwrap();
    let result = format!("plan.sweep/results/{}", result.file_name().to_str().unwrap());
    std::os::unix::fs::symlink("plan.sweep", folder.at("link")).unwrap();
    std::os::unix::fs::symlink("plan.sweep/sweep.json", folder.at("all.csv")).unwrap();
    for table in [
        "plan.sweep/sweep.json",
        "plan.sweep/../plan.sweep/sweep.json",
        "link/sweep.json",
        "all.csv",
        &result,
        "plan.sweep/points/all.csv",
    ] {
        let said = folder.refused(&format!("merge plan.sweep -o {table}"));
        let expected = "expected a file that is not the sweep's own";
        assert!(said.starts_with(&format!("fairways-lab: {table}: {expected}")), "{said}");
    }
    assert!(folder.read("plan.sweep/sweep.json") == index);
    folder.run("merge plan.sweep -o plan.sweep/all.csv");
    folder.run("merge link -o results.csv");
}

/// A point that fails leaves the others alone, and no result.
#[test]
fn a_point_that_fails_is_named_and_the_others_are_run() {
    let folder = SweptFolder::with(&plan(1));
    folder.run("write plan.toml");
    // A result that can't be written.
    let points = fs::read_dir(folder.at("plan.sweep/points")).unwrap();
    let name = points.map(|entry| entry.unwrap().file_name()).min().unwrap();
    let name = Path::new(&name).with_extension("csv");
    let blocked = folder.at("plan.sweep/results").join(&name);
    fs::create_dir(&blocked).unwrap();
    // A folder of that name counts as no result.
    let output = folder.output("run plan.sweep");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("can't write it") && said.contains("1 of 4 points failed"), "{said}");
    fs::remove_dir(&blocked).unwrap();
    assert_eq!(folder.run("run plan.sweep"), "1 points run\n");
}

/// 2,000 points in 8 shards that are killed at random and started again give the bytes of one run.
#[test]
fn shards_that_are_killed_and_started_again_equal_one_run() {
    let whole = SweptFolder::with(&plan(500));
    whole.run("write plan.toml");
    assert_eq!(whole.run("run plan.sweep"), "2000 points run\n");
    let folder = SweptFolder::with(&plan(500));
    folder.run("write plan.toml");
    let mut shards: Vec<Option<Child>> = (1..=8).map(|shard| Some(start(&folder, shard))).collect();
    let (mut kills, mut turns) = (0_u64, 0_u64);
    let end = Instant::now() + Duration::from_secs(600);
    while shards.iter().any(Option::is_some) {
        assert!(Instant::now() < end, "the shards do not end");
        turns += 1;
        std::thread::sleep(Duration::from_millis(50 + turns * 7919 % 200));
        for (number, shard) in (1..).zip(&mut shards) {
            let Some(child) = shard else { continue };
            if let Some(status) = child.try_wait().unwrap() {
                let said = folder.read(&format!("said{number}"));
                assert!(status.success(), "shard {number}: {}", String::from_utf8_lossy(&said));
                *shard = None;
            } else if kills < 60 && (turns * 31 + number as u64 * 17).is_multiple_of(8) {
                // Some are interrupted, as at a cluster's time limit.
                let signal = if kills % 3 == 0 { Signal::TERM } else { Signal::KILL };
                let _ = kill_process(Pid::from_child(child), signal);
                child.wait().unwrap();
                kills += 1;
                *shard = Some(start(&folder, number));
            }
        }
    }
    assert!(kills >= 20, "{kills} kills");
    for table in ["all.csv", "all.parquet"] {
        let words = format!("merge plan.sweep -o {table}");
        assert_eq!(whole.run(&words), folder.run(&words));
        assert!(whole.read(table) == folder.read(table), "{table} differs");
    }
    assert_eq!(whole.read("all.parquet")[..4], *b"PAR1");
    // What killed processes left of results goes once it is old.
    let results = folder.at("plan.sweep/results");
    for left in fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().path()) {
        if left.extension().is_none_or(|end| end != "csv") {
            let file = fs::File::options().write(true).open(left).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
        }
    }
    assert_eq!(folder.run("run plan.sweep"), "0 points run\n");
    assert_eq!(fs::read_dir(&results).unwrap().count(), 2000);
}

fn start(folder: &SweptFolder, shard: usize) -> Child {
    let mut command = folder.command(&format!("run plan.sweep --jobs 1 --shard {shard}/8"));
    let said = fs::File::create(folder.at(&format!("said{shard}"))).unwrap();
    command.stdout(Stdio::null()).stderr(said).spawn().unwrap()
}

/// The points' processes end with the one that started them.
#[test]
fn nothing_goes_on_when_a_run_is_killed() {
    let folder = SweptFolder::with(
        "command = \"simulate\"\nflags = { machine = \"chip:skylake\", programs = \"mlr:8M,mload:60M\", duration = \"1000s\" }\n\
         [[axis]]\nname = \"seed\"\nvalues = [1, 2]",
    );
    folder.run("write plan.toml");
    let mut run = folder.command("run plan.sweep").stderr(Stdio::null()).spawn().unwrap();
    let place = folder.at("plan.sweep");
    eventually("a point runs", || running(&place) > 0);
    kill_process(Pid::from_child(&run), Signal::KILL).unwrap();
    run.wait().unwrap();
    eventually("no point runs", || running(&place) == 0);
}

/// The processes in that folder's tests that run a point.
fn running(sweep: &Path) -> usize {
    let folder = sweep.parent().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let here = processes.filter(|process| {
        let words = fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        let cwd = fs::read_link(process.path().join("cwd")).unwrap_or_default();
        words.contains("\0point\0") && cwd == folder
    });
    here.count()
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within 60 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}
