//! The recipes of docs/sweep.md, run as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fairways_testing::needs::{Need, find, has};

use super::{SweptFolder, plan};

const RECIPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/recipes");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/sweep.md");

pub(super) fn recipe(name: &str) -> PathBuf {
    Path::new(RECIPES).join(name)
}

/// A command whose `fairways` is the one under test.
pub(super) fn command(folder: &SweptFolder, program: &Path) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_fairways-lab")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::env::split_paths(&path);
    let path = std::env::join_paths([own.to_owned()].into_iter().chain(folders)).unwrap();
    let mut command = Command::new(program);
    command.current_dir(folder.0.path()).env("PATH", path).env("HOME", folder.0.path());
    command.stdin(Stdio::null());
    command
}

/// Checks that a command succeeds; what it writes is shown if not.
pub(super) fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{command:?}: {out}\n{err}");
}

/// A sweep of which nothing is done, and the table of what it is when done.
pub(super) fn sweep() -> (SweptFolder, Vec<u8>) {
    let folder = SweptFolder::with(&plan(4));
    folder.run("write plan.toml");
    folder.run("run plan.sweep");
    folder.run("merge plan.sweep -o results.parquet");
    let table = folder.read("results.parquet");
    fs::remove_file(folder.at("results.parquet")).unwrap();
    fs::remove_dir_all(folder.at("plan.sweep")).unwrap();
    folder.run("write plan.toml");
    (folder, table)
}

#[test]
fn the_page_shows_the_recipes() {
    let page = fs::read_to_string(PAGE).unwrap();
    for name in ["array.sbatch", "Snakefile", "job.yaml"] {
        let text = fs::read_to_string(recipe(name)).unwrap();
        assert!(page.contains(&format!("```text\n{text}```")), "{name}");
    }
}

#[test]
fn gnu_parallel_runs_the_points() {
    if !has("gnu_parallel_runs_the_points", &[Need::Program("parallel")]) {
        return;
    }
    let (folder, expected) = sweep();
    let page = fs::read_to_string(PAGE).unwrap();
    let line = page.lines().find(|line| line.contains("| parallel ")).unwrap();
    succeeds(command(&folder, Path::new("sh")).args(["-c", line]));
    folder.run("merge plan.sweep -o results.parquet");
    assert!(folder.read("results.parquet") == expected);
}

#[test]
fn snakemake_runs_the_points_and_merges_them() {
    if !has("snakemake_runs_the_points_and_merges_them", &[Need::Program("snakemake")]) {
        return;
    }
    let (folder, expected) = sweep();
    let snakemake = find("snakemake").unwrap();
    let mut run = command(&folder, &snakemake);
    run.args(["--cores", "2", "--snakefile"]).arg(recipe("Snakefile"));
    succeeds(&mut run);
    assert!(folder.read("results.parquet") == expected);
    // What is gone is made again, and nothing else.
    let results = fs::read_dir(folder.at("plan.sweep/results")).unwrap();
    let gone = results.map(|entry| entry.unwrap().path()).next().unwrap();
    fs::remove_file(&gone).unwrap();
    fs::remove_file(folder.at("results.parquet")).unwrap();
    succeeds(&mut run);
    assert!(gone.is_file() && folder.read("results.parquet") == expected);
}

/// The job is one that Kubernetes takes, and its shards are those that `run` takes.
#[test]
fn the_job_is_valid() {
    if !has("the_job_is_valid", &[Need::Program("kubernetes-validate")]) {
        return;
    }
    let judge = find("kubernetes-validate").unwrap();
    succeeds(Command::new(judge).arg("--strict").arg(recipe("job.yaml")));
    let text = fs::read_to_string(recipe("job.yaml")).unwrap();
    assert!(text.contains(
        r#"args: [sweep, run, plan.sweep, --jobs, "1", --shard, "$(JOB_COMPLETION_INDEX)/8"]"#
    ));
    let (folder, expected) = sweep();
    for index in 0..8 {
        folder.run(&format!("run plan.sweep --jobs 1 --shard {index}/8"));
    }
    folder.run("merge plan.sweep -o results.parquet");
    assert!(folder.read("results.parquet") == expected);
}
