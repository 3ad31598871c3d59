//! Runs jobs side by side, and collects the output of each in a file.

use std::collections::{BTreeMap, VecDeque};
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
    /// Whether it must run at least one test: a filter that matches none passes.
    pub(crate) must_run_tests: bool,
    /// Whether nothing else may run at the same time.
    pub(crate) runs_alone: bool,
    /// How often it runs; it passes if it does each time.
    pub(crate) times: u32,
}

/// The result of a job.
#[derive(Clone, Debug)]
pub(crate) struct JobResult {
    pub(crate) name: String,
    pub(crate) duration: Duration,
    /// User and system time of the command and of the processes that it waited for, where it ended.
    pub(crate) cpu: Option<Duration>,
    pub(crate) has_passed: bool,
    /// Whether a signal ended it before it could say.
    pub(crate) was_cut_off: bool,
    pub(crate) output: PathBuf,
}

impl JobResult {
    /// How many tests passed; none if it says nothing of tests.
    pub(crate) fn tests(&self) -> Option<u32> {
        let text = fs::read(&self.output).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().filter_map(passed_tests).reduce(|sum, n| sum + n)
    }

    /// Whether it says that something was skipped.
    pub(crate) fn has_skipped(&self) -> bool {
        let text = fs::read(&self.output).unwrap_or_default();
        String::from_utf8_lossy(&text).contains("SKIPPED ")
    }
}

/// What is done with each result: it may find that the job has failed after all.
pub(crate) type Ended<'a> = dyn FnMut(&mut JobResult) -> anyhow::Result<()> + Send + 'a;

/// Runs `lanes` jobs at once beside the steps, which run one after the other; jobs that run alone
/// come last. Calls `ended` for each that ends, one at a time.
///
/// # Errors
/// If the output of a command can't be kept.
pub(crate) fn run_all(
    jobs: Vec<Job>,
    lanes: usize,
    steps: Vec<Job>,
    logs: &Path,
    ended: &mut Ended<'_>,
) -> anyhow::Result<Vec<JobResult>> {
    if let Ok(old) = fs::read_dir(logs) {
        for old in
            old.flatten().filter(|old| old.path().extension().is_some_and(|end| end == "txt"))
        {
            fs::remove_file(old.path())?;
        }
    }
    let (alone, jobs) = jobs.into_iter().partition(|job| job.runs_alone);
    let mut done = run(vec![(jobs, lanes), (steps, 1)], logs, ended)?;
    done.extend(run(vec![(alone, 1)], logs, ended)?);
    Ok(done)
}

/// Runs the jobs of several queues side by side; each queue has a number of jobs that run at once.
fn run(
    queues: Vec<(Vec<Job>, usize)>,
    logs: &Path,
    ended: &mut Ended<'_>,
) -> anyhow::Result<Vec<JobResult>> {
    fs::create_dir_all(logs).with_context(|| logs.display().to_string())?;
    let done = Mutex::new((Ok(Vec::new()), ended));
    let queues = queues.into_iter().map(|(jobs, lanes)| (Mutex::new(VecDeque::from(jobs)), lanes));
    let queues: Vec<(Mutex<VecDeque<Job>>, usize)> = queues.collect();
    std::thread::scope(|scope| {
        for (queue, lanes) in &queues {
            for _ in 0..*lanes {
                scope.spawn(|| {
                    loop {
                        let Some(job) = next(queue) else { return };
                        let one = run_job(&job, logs);
                        let Ok(mut done) = done.lock() else { return };
                        let (all, ended) = &mut *done;
                        let one = one.and_then(|mut one| ended(&mut one).map(|()| one));
                        match (&mut *all, one) {
                            (Ok(all), Ok(one)) => all.push(one),
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

fn run_job(job: &Job, logs: &Path) -> anyhow::Result<JobResult> {
    let output = logs.join(format!("{}.txt", job.name.replace([' ', '/'], "-")));
    let mut file = File::create(&output).with_context(|| output.display().to_string())?;
    let since = Instant::now();
    let (mut has_passed, mut was_cut_off) = (true, false);
    for _ in 0..job.times {
        let mut command = Command::new("bash");
        command.args(["-c", TIMED, "bash"]).args(&job.command);
        command.current_dir(&job.folder).envs(job.variables.iter().cloned());
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
        match command.status() {
            Ok(status) => {
                has_passed &= status.success();
                // As a shell reports a command that SIGINT or SIGTERM has ended.
                was_cut_off |= matches!(status.code(), None | Some(130 | 143));
            }
            Err(error) => {
                writeln!(file, "bash: {error}")?;
                has_passed = false;
            }
        }
        if !has_passed {
            break;
        }
    }
    has_passed &= !job.must_run_tests || has_run_tests(&output);
    let cpu = cpu_time(&output);
    Ok(JobResult {
        name: job.name.clone(),
        duration: since.elapsed(),
        cpu,
        has_passed,
        was_cut_off,
        output,
    })
}

/// Runs a command and adds a line with its user and system time, in seconds.
const TIMED: &str = r#"TIMEFORMAT=$'\n== cpu %3U %3S'; time "$@""#;

/// What the line of [`TIMED`] says.
fn cpu_time(output: &Path) -> Option<Duration> {
    let text = fs::read(output).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find_map(|line| line.strip_prefix("== cpu "))?;
    let seconds = line.split(' ').map(|part| part.replace(',', ".").parse::<f64>().ok());
    Duration::try_from_secs_f64(seconds.sum::<Option<f64>>()?).ok()
}

/// Whether the output of a test binary says that tests have run.
fn has_run_tests(output: &Path) -> bool {
    let text = fs::read(output).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(passed_tests).any(|passed| passed > 0)
}

/// The number in a line of a test binary's that says how many tests passed.
fn passed_tests(line: &str) -> Option<u32> {
    let rest = line.strip_prefix("test result: ok. ")?;
    rest.split(' ').next()?.parse().ok()
}

/// Prints a job's output after a line with its name and result.
pub(crate) fn show(done: &JobResult, to: &mut dyn Write) {
    let word = if done.has_passed { "passed" } else { "FAILED" };
    let seconds = done.duration.as_secs_f64();
    let _ = writeln!(to, "\n== {}: {word} in {seconds:.1} s", done.name);
    if let Ok(text) = fs::read(&done.output) {
        let _ = to.write_all(&text);
    }
}

/// Prints the jobs by duration, each with the reason why it ran, and the end of the output of those
/// that failed; returns whether all passed.
pub(crate) fn sum_up(
    mut done: Vec<JobResult>,
    reasons: &BTreeMap<String, String>,
    to: &mut dyn Write,
) -> bool {
    done.sort_by_key(|done| std::cmp::Reverse(done.duration));
    let _ = writeln!(to, "\n== seconds, CPU seconds");
    for job in &done {
        let cpu = job.cpu.map_or("-".to_owned(), |cpu| format!("{:.1}", cpu.as_secs_f64()));
        let (seconds, name) = (job.duration.as_secs_f64(), &job.name);
        let why = reasons.get(name).map_or(String::new(), |why| format!(": {why}"));
        let _ = writeln!(to, "{seconds:>7.1} {cpu:>7} {name}{why}");
    }
    let cpu: Duration = done.iter().filter_map(|job| job.cpu).sum();
    let _ = writeln!(to, "        {:>7.1} in all, without the build", cpu.as_secs_f64());
    for job in done.iter().filter(|done| !done.has_passed) {
        let _ = writeln!(to, "\n== FAILED: {}", job.name);
        let text = fs::read(&job.output).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        // For tests, what each failure printed; for anything else, the end.
        let from = lines.iter().position(|line| *line == "failures:");
        let from = from.unwrap_or(lines.len().saturating_sub(LAST));
        for line in lines[from..].iter().take(2 * LAST) {
            let _ = writeln!(to, "{}", line.chars().take(400).collect::<String>());
        }
        for line in lines.iter().filter(|line| line.ends_with("... FAILED")) {
            let _ = writeln!(to, "{line}");
        }
    }
    done.iter().all(|done| done.has_passed)
}

/// Lines shown of a failed job.
const LAST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_run_and_those_that_fail_are_reported() {
        let folder = std::env::temp_dir().join(format!("fairways-xtask-{}", std::process::id()));
        fn job(name: &str, script: &str) -> Job {
            Job {
                name: name.to_owned(),
                command: ["sh", "-c", script].map(str::to_owned).to_vec(),
                folder: std::env::temp_dir(),
                variables: vec![("WORD".to_owned(), "hello".to_owned())],
                must_run_tests: false,
                runs_alone: false,
                times: 1,
            }
        }
        let missing = Job { command: vec!["/no/such/program".to_owned()], ..job("missing", "") };
        let none = "test result: ok. 0 passed; 0 failed";
        let empty = Job { must_run_tests: true, ..job("empty", &format!("echo '{none}'")) };
        let some = Job {
            must_run_tests: true,
            ..job("some", "echo 'test result: ok. 2 passed; 0 failed'")
        };
        let one = vec![job("good", "echo $WORD"), job("bad", "echo no; exit 3")];
        let mut printed = Vec::new();
        let alone = Job { runs_alone: true, ..job("alone", "true") };
        let jobs = vec![alone, missing, empty, some];
        let done = run_all(jobs, 2, one, &folder, &mut |result| {
            show(result, &mut printed);
            Ok(())
        });
        let done = done.unwrap();
        assert_eq!(done.last().map(|done| done.name.as_str()), Some("alone"));
        let mut came: Vec<(&str, bool)> =
            done.iter().map(|done| (done.name.as_str(), done.has_passed)).collect();
        came.sort_unstable();
        let failed = [("bad", false), ("empty", false), ("missing", false)];
        assert_eq!(
            came.iter().filter(|result| !result.1).collect::<Vec<_>>(),
            failed.iter().collect::<Vec<_>>()
        );
        assert_eq!(came.len(), 6);
        let good = fs::read_to_string(folder.join("good.txt")).unwrap();
        assert!(good.starts_with("hello\n") && good.contains("\n== cpu 0"), "{good}");
        assert!(done.iter().all(|job| job.cpu.is_some_and(|cpu| cpu < Duration::from_secs(9))));
        let reasons = [("bad".to_owned(), "code changed".to_owned())].into();
        assert!(!sum_up(done, &reasons, &mut printed));
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains("== FAILED: bad\nno\n"), "{printed}");
        assert!(printed.contains(" bad: code changed\n"), "{printed}");
        fs::remove_dir_all(folder).unwrap();
    }
}
