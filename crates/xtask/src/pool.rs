//! Jobs side by side, each with its output in a file until it ends.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};

/// A command to run.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    /// Whether it is to run a test at least: a filter that matches none passes.
    pub(crate) tests: bool,
    /// Whether it is to run when nothing else does.
    pub(crate) alone: bool,
}

/// How a job came out.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) name: String,
    pub(crate) took: Duration,
    /// User and system time of the command and of the processes that it waited for, where it ended.
    pub(crate) cpu: Option<Duration>,
    pub(crate) passed: bool,
    pub(crate) output: PathBuf,
}

/// Runs jobs, so many at once, with steps beside them, one after the other; those that are to be
/// alone come last. What each printed goes to `to` when it ends.
///
/// # Errors
/// If the output of a command can't be kept.
pub(crate) fn run_all(
    jobs: Vec<Job>,
    lanes: usize,
    steps: Vec<Job>,
    logs: &Path,
    to: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<Done>> {
    if let Ok(old) = fs::read_dir(logs) {
        for old in old.flatten().filter(|old| old.path().is_file()) {
            fs::remove_file(old.path())?;
        }
    }
    let (alone, jobs) = jobs.into_iter().partition(|job| job.alone);
    let mut done = run(vec![(jobs, lanes), (steps, 1)], logs, to)?;
    done.extend(run(vec![(alone, 1)], logs, to)?);
    Ok(done)
}

/// Runs jobs of several queues side by side; with each queue goes how many of its jobs run at once.
fn run(
    queues: Vec<(Vec<Job>, usize)>,
    logs: &Path,
    to: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<Done>> {
    fs::create_dir_all(logs).with_context(|| logs.display().to_string())?;
    let done = Mutex::new((Ok(Vec::new()), to));
    let queues = queues.into_iter().map(|(jobs, lanes)| (Mutex::new(VecDeque::from(jobs)), lanes));
    let queues: Vec<(Mutex<VecDeque<Job>>, usize)> = queues.collect();
    std::thread::scope(|scope| {
        for (queue, lanes) in &queues {
            for _ in 0..*lanes {
                scope.spawn(|| {
                    loop {
                        let Some(job) = next(queue) else { return };
                        let one = one(&job, logs);
                        let Ok(mut done) = done.lock() else { return };
                        let (all, to) = &mut *done;
                        match (&mut *all, one) {
                            (Ok(all), Ok(one)) => {
                                show(&one, to);
                                all.push(one);
                            }
                            (Ok(_), Err(error)) => *all = Err(error),
                            (Err(_), _) => return,
                        }
                    }
                });
            }
        }
    });
    done.into_inner().map_or_else(|_| Err(anyhow!("a lane has panicked")), |(all, _)| all)
}

fn next(queue: &Mutex<VecDeque<Job>>) -> Option<Job> {
    queue.lock().ok()?.pop_front()
}

fn one(job: &Job, logs: &Path) -> anyhow::Result<Done> {
    let output = logs.join(format!("{}.txt", job.name.replace([' ', '/'], "-")));
    let mut file = File::create(&output).with_context(|| output.display().to_string())?;
    let since = Instant::now();
    let mut command = Command::new("bash");
    command.args(["-c", TIMED, "bash"]).args(&job.command);
    command.current_dir(&job.folder).envs(job.variables.iter().cloned());
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let passed = match command.status() {
        Ok(status) => status.success() && (!job.tests || has_run_tests(&output)),
        Err(error) => {
            writeln!(file, "bash: {error}")?;
            false
        }
    };
    let cpu = cpu_time(&output);
    Ok(Done { name: job.name.clone(), took: since.elapsed(), cpu, passed, output })
}

/// Runs a command and adds a line with its user and system time, in seconds.
const TIMED: &str = r#"TIMEFORMAT='== cpu %3U %3S'; time "$@""#;

/// What the line of [`TIMED`] says.
fn cpu_time(output: &Path) -> Option<Duration> {
    let text = fs::read(output).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find_map(|line| line.strip_prefix("== cpu "))?;
    let seconds = line.split(' ').map(|part| part.parse::<f64>().ok());
    Duration::try_from_secs_f64(seconds.sum::<Option<f64>>()?).ok()
}

/// Whether a program of tests says that it has run some.
fn has_run_tests(output: &Path) -> bool {
    let text = fs::read(output).unwrap_or_default();
    let passed = |line: &str| {
        let rest = line.strip_prefix("test result: ok. ")?;
        rest.split(' ').next()?.parse::<u32>().ok()
    };
    String::from_utf8_lossy(&text).lines().filter_map(passed).any(|passed| passed > 0)
}

/// What a job printed, after a line that says which it was.
fn show(done: &Done, to: &mut dyn Write) {
    let word = if done.passed { "passed" } else { "FAILED" };
    let seconds = done.took.as_secs_f64();
    let _ = writeln!(to, "\n== {}: {word} in {seconds:.1} s", done.name);
    if let Ok(text) = fs::read(&done.output) {
        let _ = to.write_all(&text);
    }
}

/// The jobs by how long they took, and those that failed, with the end of what they printed;
/// whether all passed.
pub(crate) fn sum_up(mut done: Vec<Done>, to: &mut dyn Write) -> bool {
    done.sort_by_key(|of| std::cmp::Reverse(of.took));
    let _ = writeln!(to, "\n== seconds, CPU seconds");
    for job in &done {
        let cpu = job.cpu.map_or("-".to_owned(), |cpu| format!("{:.1}", cpu.as_secs_f64()));
        let _ = writeln!(to, "{:>7.1} {cpu:>7} {}", job.took.as_secs_f64(), job.name);
    }
    let cpu: Duration = done.iter().filter_map(|job| job.cpu).sum();
    let _ = writeln!(to, "        {:>7.1} in all, without the build", cpu.as_secs_f64());
    for of in done.iter().filter(|of| !of.passed) {
        let _ = writeln!(to, "\n== FAILED: {}", of.name);
        let text = fs::read(&of.output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        // Of tests that failed, what each said; of anything else, the end.
        let from = lines.iter().position(|line| *line == "failures:");
        let from = from.unwrap_or(lines.len().saturating_sub(LAST));
        for line in lines[from..].iter().take(2 * LAST) {
            let _ = writeln!(to, "{}", line.chars().take(400).collect::<String>());
        }
        for line in lines.iter().filter(|line| line.ends_with("... FAILED")) {
            let _ = writeln!(to, "{line}");
        }
    }
    done.iter().all(|of| of.passed)
}

/// Lines of a job that failed.
const LAST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_run_and_those_that_fail_are_reported() {
        let folder = std::env::temp_dir().join(format!("fairways-xtask-{}", std::process::id()));
        let job = |name: &str, script: &str| Job {
            name: name.to_owned(),
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            folder: std::env::temp_dir(),
            variables: vec![("WORD".to_owned(), "word".to_owned())],
            tests: false,
            alone: false,
        };
        let missing = Job { command: vec!["/no/such/program".to_owned()], ..job("missing", "") };
        let none = "test result: ok. 0 passed; 0 failed";
        let empty = Job { tests: true, ..job("empty", &format!("echo '{none}'")) };
        let some = Job { tests: true, ..job("some", "echo 'test result: ok. 2 passed; 0 failed'") };
        let one = vec![job("good", "echo $WORD"), job("bad", "echo no; exit 3")];
        let mut printed = Vec::new();
        let alone = Job { alone: true, ..job("alone", "true") };
        let jobs = vec![alone, missing, empty, some];
        let done = run_all(jobs, 2, one, &folder, &mut printed).unwrap();
        assert_eq!(done.last().map(|of| of.name.as_str()), Some("alone"));
        let mut came: Vec<(&str, bool)> =
            done.iter().map(|of| (of.name.as_str(), of.passed)).collect();
        came.sort_unstable();
        let failed = [("bad", false), ("empty", false), ("missing", false)];
        assert_eq!(
            came.iter().filter(|of| !of.1).collect::<Vec<_>>(),
            failed.iter().collect::<Vec<_>>()
        );
        assert_eq!(came.len(), 6);
        let good = fs::read_to_string(folder.join("good.txt")).unwrap();
        assert!(good.starts_with("word\n== cpu 0."), "{good}");
        assert!(done.iter().all(|job| job.cpu.is_some_and(|cpu| cpu < Duration::from_secs(9))));
        assert!(!sum_up(done, &mut printed));
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains("== FAILED: bad\nno\n"), "{printed}");
        fs::remove_dir_all(folder).unwrap();
    }
}
