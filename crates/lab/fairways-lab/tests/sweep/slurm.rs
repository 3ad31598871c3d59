//! Slurm, on this node alone: the recipe of docs/sweep.md, and the prolog and epilog of
//! docs/slurm.md.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use fairways_testing::needs::{Need, find, has};

use super::recipes::{command, recipe, succeeds, sweep};
use super::{SweptFolder, eventually};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/slurm");

#[test]
fn slurm_runs_the_shards_as_an_array() {
    let needs = [Need::Root, Need::Program("slurmctld"), Need::Program("sbatch")];
    if !has("slurm_runs_the_shards_as_an_array", &needs) {
        return;
    }
    let (folder, expected) = sweep();
    let cluster = SlurmNode::start(&folder, "");
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
    /// Starts them with further lines of slurm.conf.
    fn start(folder: &SweptFolder, more: &str) -> Self {
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
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n{more}"
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

/// Copies a script to the folder, where it finds the daemon's configuration, and notes that it
/// would reload the daemon.
fn script(folder: &SweptFolder, name: &str) -> PathBuf {
    let mut text = fs::read_to_string(Path::new(SCRIPTS).join(name)).unwrap();
    let reload = format!("echo reload >> {}", folder.at("reloads").display());
    let here = folder.0.path().display().to_string();
    for (from, to) in [("/etc/fairways", &here), ("systemctl reload fairways", &reload)] {
        assert_eq!(text.matches(from).count(), 1, "{name}: {from}");
        text = text.replace(from, to);
    }
    let path = folder.at(name);
    fs::write(&path, text).unwrap();
    let mut mark = command(folder, Path::new("chmod"));
    succeeds(mark.arg("755").arg(&path));
    path
}

/// While a job runs, it is a program of its account, with the ways that this is guaranteed; then it
/// is none. A wrong table or account fails no job.
#[test]
fn a_job_is_a_program_of_its_account() {
    let needs = [Need::Root, Need::Program("slurmctld"), Need::Program("sbatch")];
    if !has("a_job_is_a_program_of_its_account", &needs) {
        return;
    }
    fairways_testing::needs::keep_to_owner();
    let folder = SweptFolder::with("");
    fs::write(folder.at("fairways.toml"), "policy = \"dcat\"\n").unwrap();
    let accounts = "# account ways\nphysics 4\nbroken 4x\nnone 0\noctal 04\nhuge 99999999999\n\
                    1e1 3\n10 5\nevil___ 6\n";
    fs::write(folder.at("slurm.accounts"), accounts).unwrap();
    fs::create_dir(folder.at("fairways.toml.d")).unwrap();
    let [prolog, epilog] = ["fairways-prolog", "fairways-epilog"].map(|name| script(&folder, name));
    let more = format!("Prolog={}\nEpilog={}\n", prolog.display(), epilog.display());
    let cluster = SlurmNode::start(&folder, &more);
    for (account, name, baseline) in [
        ("physics", "physics", Some(4)),
        ("broken", "broken", None),
        ("none", "none", None),
        ("octal", "octal", None),
        ("huge", "huge", None),
        ("10", "10", Some(5)),
        ("evil\"]\n", "evil___", None),
    ] {
        let mut submit = command(&folder, Path::new("sbatch"));
        submit.env("SLURM_CONF", &cluster.configuration).args(["--wait", "--output=job.log"]);
        // As a prolog that was killed would have left it.
        let job = "touch fairways.toml.d/slurm-$SLURM_JOB_ID.toml.new; \
                   fairways config show --json fairways.toml";
        submit.args(["--account", account, "--wrap", job]);
        succeeds(&mut submit);
        let log = String::from_utf8(folder.read("job.log")).unwrap();
        let shown: serde_json::Value = serde_json::from_str(&log).expect(&log);
        let programs = shown["program"].as_array().unwrap();
        assert_eq!(programs.len(), 1, "{log}");
        let (found, job) = programs[0]["name"].as_str().unwrap().rsplit_once(':').unwrap();
        assert_eq!(found, name);
        let select = programs[0]["select"].as_str().unwrap();
        assert!(select.ends_with(&format!("/job_{job}")), "{select}");
        assert_eq!(programs[0]["baseline_ways"].as_u64(), baseline);
        eventually("the epilog has run", || {
            fs::read_dir(folder.at("fairways.toml.d")).unwrap().count() == 0
        });
    }
    eventually("each script has reloaded the daemon", || {
        folder.read("reloads") == b"reload\n".repeat(14)
    });
}
