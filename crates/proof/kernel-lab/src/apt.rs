//! Debian's archive, read without changing this machine's apt configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::scratch::Scratch;
use crate::tools::{PATIENT, run};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// One suite of the archive that this machine's own sources name; state and configuration are
/// private to this object.
pub(crate) struct Suite {
    name: String,
    directory: Scratch,
}

impl Suite {
    /// Fetches the lists of a suite.
    pub(crate) fn fetch(name: &str) -> Result<Self, Error> {
        let archive = archive()?;
        let directory = Scratch::new()?;
        for part in ["lists/partial", "cache/archives/partial", "none"] {
            let part = directory.path().join(part);
            fs::create_dir_all(&part).map_err(Error::file(&part))?;
        }
        let sources = directory.path().join("sources.list");
        let line = format!("deb [signed-by={KEYRING}] {archive} {name} main\n");
        fs::write(&sources, line).map_err(Error::file(&sources))?;
        let suite = Self { name: name.into(), directory };
        run(suite.apt("apt-get").args(["-qq", "update"]))?;
        Ok(suite)
    }

    fn apt(&self, program: &str) -> Command {
        let at = |part: &str| self.directory.path().join(part).display().to_string();
        let mut command = Command::new(program);
        for (option, value) in [
            ("Dir::Etc::sourcelist", at("sources.list")),
            ("Dir::Etc::sourceparts", at("none")),
            ("Dir::Etc::preferences", at("no-preferences")),
            ("Dir::Etc::preferencesparts", at("none")),
            ("Dir::State::lists", at("lists")),
            ("Dir::Cache", at("cache")),
            // The directories belong to the user who runs this, not to apt's own user.
            ("APT::Sandbox::User", "root".into()),
            // Otherwise it only warns about a list that did not come.
            ("APT::Update::Error-Mode", "any".into()),
        ] {
            command.arg("-o").arg(format!("{option}={value}"));
        }
        command.args(PATIENT);
        command
    }

    /// The name of the newest package whose name is the pattern followed by a version.
    pub(crate) fn newest(&self, pattern: &str) -> Result<String, Error> {
        let found = run(self.apt("apt-cache").args(["search", "--names-only", pattern]))?;
        let names = found.lines().filter_map(|line| line.split_whitespace().next());
        let newest = names.max_by_key(|name| version(name));
        newest.map(str::to_owned).ok_or_else(|| Error::NoKernel(self.name.clone()))
    }

    /// Downloads a package and unpacks it into a directory.
    pub(crate) fn unpack(&self, package: &str, to: &Path) -> Result<(), Error> {
        let downloads = self.directory.path().join("download");
        fs::create_dir_all(&downloads).map_err(Error::file(&downloads))?;
        run(self.apt("apt-get").current_dir(&downloads).args(["-qq", "download", package]))?;
        let mut entries = fs::read_dir(&downloads).map_err(Error::file(&downloads))?;
        let file: PathBuf = match entries.next() {
            Some(entry) => entry.map_err(Error::file(&downloads))?.path(),
            None => return Err(Error::program("apt-get", format!("did not download {package}"))),
        };
        run(Command::new("dpkg").arg("-x").arg(file).arg(to))?;
        Ok(())
    }
}

/// The archive's address, from apt's sources.
fn archive() -> Result<String, Error> {
    let format = "$(REPO_URI) $(ORIGIN)/$(LABEL)";
    let targets = run(Command::new("apt-get").args([
        "indextargets",
        "--format",
        format,
        "Created-By: Packages",
    ]))?;
    let all: Vec<_> = targets.lines().filter_map(|line| line.split_once(' ')).collect();
    // Before the first update, origins are unknown.
    let labelled = all.iter().find(|(_, label)| *label == "Debian/Debian");
    let guessed = all.iter().find(|(uri, _)| uri.trim_end_matches('/').ends_with("/debian"));
    labelled.or(guessed).map(|(uri, _)| (*uri).into()).ok_or(Error::Archive)
}

/// The numbers in a name, to sort by.
fn version(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_numbers_not_text() {
        let older = version("linux-binary-7.2.9+deb14-cloud-amd64");
        assert!(older < version("linux-binary-7.2.13+deb14-cloud-amd64"));
        assert!(older < version("linux-binary-7.10.1+deb14-cloud-amd64"));
    }
}
