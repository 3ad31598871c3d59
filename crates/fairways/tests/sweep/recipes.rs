//! The recipes of docs/sweep.md, run as they are.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fairways_needs::{Need, find, has};

use super::{SweptFolder, eventually, plan};

const RECIPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sweep/recipes");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweep.md");

fn recipe(name: &str) -> PathBuf {
    Path::new(RECIPES).join(name)
}

/// A command whose `fairways` is the one under test.
fn command(folder: &SweptFolder, program: &Path) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_fairways")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::env::split_paths(&path);
    let path = std::env::join_paths([own.to_owned()].into_iter().chain(folders)).unwrap();
    let mut command = Command::new(program);
    command.current_dir(folder.0.path()).env("PATH", path).env("HOME", folder.0.path());
    command.stdin(Stdio::null());
    command
}

/// Checks that a command succeeds; what it writes is shown if not.
fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{command:?}: {out}\n{err}");
}

/// A sweep of which nothing is done, and the table of what it is when done.
fn sweep() -> (SweptFolder, Vec<u8>) {
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

#[test]
fn slurm_runs_the_shards_as_an_array() {
    let needs = [Need::Root, Need::Program("slurmctld"), Need::Program("sbatch")];
    if !has("slurm_runs_the_shards_as_an_array", &needs) {
        return;
    }
    let (folder, expected) = sweep();
    let cluster = SlurmNode::start(&folder);
    let mut submit = command(&folder, Path::new("sbatch"));
    submit.env("SLURM_CONF", &cluster.configuration).arg("--wait").arg(recipe("array.sbatch"));
    succeeds(&mut submit);
    drop(cluster);
    folder.run("merge plan.sweep -o results.parquet");
    assert!(folder.read("results.parquet") == expected);
    let log = String::from_utf8(folder.read("sweep-1.log")).unwrap();
    assert_eq!(log, "2 points run\n");
}

/// Slurm's daemons for one node, until it is dropped.
struct SlurmNode {
    configuration: PathBuf,
    daemons: Vec<Child>,
}

impl SlurmNode {
    fn start(folder: &SweptFolder) -> Self {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let name = name.trim();
        let ports = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [control, node] = ports.map(|port| port.local_addr().unwrap().port());
        let [state, spool] = ["state", "spool"].map(|name| folder.at(name).display().to_string());
        let configuration = folder.at("slurm.conf");
        let cpus = std::thread::available_parallelism().unwrap();
        let text = format!(
            "ClusterName=test\nSlurmctldHost={name}(127.0.0.1)\nAuthType=auth/none\nCredType=cred/none\n\
             SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={state}\nSlurmdSpoolDir={spool}\n\
             SlurmctldPidFile={state}/control.pid\nSlurmdPidFile={state}/node.pid\n\
             SlurmctldPort={control}\nSlurmdPort={node}\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             SwitchType=switch/none\nMpiDefault=none\nReturnToService=2\n\
             NodeName={name} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(&configuration, text).unwrap();
        [&state, &spool].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        let mut cluster = Self { configuration, daemons: Vec::new() };
        for daemon in ["slurmctld", "slurmd"] {
            let mut start = command(folder, &find(daemon).unwrap());
            start.arg("-D").env("SLURM_CONF", &cluster.configuration);
            let log = fs::File::create(folder.at(daemon)).unwrap();
            cluster.daemons.push(start.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        }
        eventually("the node is idle", || {
            let mut ask = command(folder, Path::new("sinfo"));
            let asked =
                ask.args(["--noheader", "--format=%t"]).env("SLURM_CONF", &cluster.configuration);
            asked.output().is_ok_and(|output| output.stdout.starts_with(b"idle"))
        });
        cluster
    }
}

impl Drop for SlurmNode {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
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
