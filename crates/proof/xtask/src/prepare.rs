//! Installs what the suites need besides the toolchain, where it is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::inputs::SuiteNeed;
use crate::suites::Suites;

/// The programs among the packages of PyPI.
const JUDGE_PROGRAMS: [&str; 2] = ["kubernetes-validate", "snakemake"];

/// A folder with nothing but these programs.
const JUDGES_PATH: &str = "target/judges/path";

/// What every build needs, as the suites name it.
const OF_THE_BUILD: [&str; 2] = ["clang-19", "libelf"];

/// Installs what the build needs and is missing. The versions of packages that are not installed
/// are known afterwards.
///
/// # Errors
/// If something can't be installed.
pub(crate) fn prepare_build() -> anyhow::Result<()> {
    let needs = Suites::read()?.needs;
    if !missing(needs.values()).is_empty() {
        install(&missing(OF_THE_BUILD.iter().filter_map(|name| needs.get(*name))))?;
    }
    Ok(())
}

/// Installs what is missing; returns the folder that `PATH` has to begin with, if any.
///
/// # Errors
/// If something can't be installed.
pub(crate) fn prepare() -> anyhow::Result<Option<PathBuf>> {
    let needs = Suites::read()?.needs;
    let missing = missing(needs.values());
    if !missing.is_empty() {
        install(&missing)?;
    }
    // As udev's rules have it: users may mount file systems that only they see.
    run(Command::new("chmod").args(["0666", "/dev/fuse"]))?;
    install_judges(needs.values().flat_map(|need| &need.pip))?;
    Ok(judges())
}

/// The packages that are missing of what suites need.
fn missing<'a>(needs: impl IntoIterator<Item = &'a SuiteNeed>) -> Vec<&'a str> {
    fn is_installed(package: &str) -> bool {
        quietly(Command::new("dpkg").args(["-s", package]))
    }
    let mut missing = BTreeSet::new();
    for need in needs {
        let programs = need.programs.iter().filter(|(program, _)| !is_there(program));
        missing.extend(programs.map(|(_, package)| package.as_str()));
        missing.extend(need.packages.iter().map(String::as_str).filter(|name| !is_installed(name)));
    }
    missing.into_iter().collect()
}

/// The folder of the validators that [`prepare`] has installed, with which `PATH` has to begin.
pub(crate) fn judges() -> Option<PathBuf> {
    Path::new(JUDGES_PATH).canonicalize().ok()
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.args(["-qq", "-o", "Acquire::Retries=5", "-o", "DPkg::Lock::Timeout=300"]);
    command.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    command
}

pub(crate) fn install(packages: &[&str]) -> anyhow::Result<()> {
    eprintln!("== apt-get install {}", packages.join(" "));
    // The archive is unreachable at times.
    for pause in [10, 30, 60, 0] {
        let _ = run(apt_get().arg("update"));
        let install = ["install", "-y", "--no-install-recommends"];
        if packages.is_empty() || run(apt_get().args(install).args(packages)).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(pause));
    }
    bail!("apt-get install {}", packages.join(" "))
}

/// Installs these tools, unless the system has them all.
fn install_judges<'a>(packages: impl Iterator<Item = &'a String>) -> anyhow::Result<()> {
    let has_both_validators = find("kubernetes-validate").is_some_and(|judge| {
        let text = std::fs::read_to_string(judge).unwrap_or_default();
        let python = text.lines().next().and_then(|line| line.strip_prefix("#!"));
        let imports = ["-c", "import dockerfile_parse, yaml"];
        python.is_some_and(|python| quietly(Command::new(python).args(imports)))
    });
    if has_both_validators && is_there("snakemake") {
        return Ok(());
    }
    let path = Path::new(JUDGES_PATH);
    let folder = path.parent().context(JUDGES_PATH)?;
    let pip = folder.join("bin/pip");
    if !pip.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    run(Command::new(pip).args(["install", "--quiet", "--retries", "10"]).args(packages))?;
    // The folder has only the programs, because its Python is only for them.
    std::fs::create_dir_all(path)?;
    let folder = folder.canonicalize()?;
    for program in JUDGE_PROGRAMS {
        let link = path.join(program);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(folder.join("bin").join(program), &link)
            .with_context(|| link.display().to_string())?;
    }
    Ok(())
}

fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn is_there(program: &str) -> bool {
    find(program).is_some()
}

fn quietly(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status().context(name.clone())?;
    if !status.success() {
        bail!("{name}: {status}");
    }
    Ok(())
}
