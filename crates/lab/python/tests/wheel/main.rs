//! The wheel: built by maturin, installed into an empty environment, and tried there with pytest,
//! stubtest and the notebook. Nothing is published.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use fairways_testing::needs::{Need, has, skip};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wheel");

/// Runs a command to its end.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let [out, err] =
        [output.stdout, output.stderr].map(|of| String::from_utf8_lossy(&of).into_owned());
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
}

/// An empty environment.
fn environment(folder: &Path) -> PathBuf {
    run(Command::new("python3").args(["-m", "venv"]).arg(folder));
    folder.join("bin")
}

fn install(bin: &Path) -> Command {
    let mut pip = Command::new(bin.join("pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--retries", "10"]);
    pip
}

/// The wheel that maturin builds.
fn wheel(bin: &Path, to: &Path) -> PathBuf {
    let mut maturin = Command::new(bin.join("maturin"));
    maturin.args(["build", "--profile", "dev", "--out"]).arg(to);
    maturin.current_dir(env!("CARGO_MANIFEST_DIR"));
    run(maturin.env("CARGO", Path::new(HERE).join("cargo.sh")));
    let mut found = fs::read_dir(to).unwrap().map(|file| file.unwrap().path());
    let wheel = found.next().unwrap();
    let name = wheel.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("fairways-") && name.contains("-cp310-abi3-"), "{name}");
    wheel
}

#[test]
fn the_wheel_works_in_an_empty_environment() {
    let test = "the_wheel_works_in_an_empty_environment";
    if !has(test, &[Need::Program("python3")]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    if !Command::new("python3").args(["-c", "import ensurepip"]).status().unwrap().success() {
        return skip(test, "python3-venv is missing");
    }
    let bin = environment(&folder.path().join("tools"));
    run(install(&bin).arg("--requirement").arg(Path::new(HERE).join("requirements.txt")));
    let wheel = wheel(&bin, &folder.path().join("wheels"));
    run(install(&bin).arg(&wheel));
    let mut pytest = Command::new(bin.join("pytest"));
    pytest.args(["-q", "-p", "no:cacheprovider"]).arg(HERE).current_dir(folder.path());
    run(pytest.env("PYTHONDONTWRITEBYTECODE", "1"));
    let mut stubtest = Command::new(bin.join("stubtest"));
    run(stubtest.arg("fairways").current_dir(folder.path()));
    let mut mypy = Command::new(bin.join("mypy"));
    mypy.args(["--strict", "--package", "fairways"]).current_dir(folder.path());
    run(&mut mypy);
    to_a_plot(&wheel, folder.path());
}

fn to_a_plot(wheel: &Path, folder: &Path) {
    let start = Instant::now();
    let bin = environment(&folder.join("empty"));
    run(install(&bin).arg(wheel).arg("matplotlib"));
    let plot = folder.join("plot.png");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plot.py");
    run(Command::new(bin.join("python")).arg(script).arg(&plot));
    let took = start.elapsed();
    assert!(fs::read(plot).unwrap().starts_with(b"\x89PNG"));
    eprintln!("from an empty environment to a plot: {:.1} s", took.as_secs_f64());
}
