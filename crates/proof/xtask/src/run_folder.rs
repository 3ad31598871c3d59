//! A folder in which the programs of the corpus run, and its inputs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

pub(crate) const FOLDER: &str = "corpus";

/// A file that is made for programs to read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MadeInput {
    pub(crate) file: String,
    /// Made by a shell; its output is the file, unless it writes the file itself.
    make: String,
}

/// Where programs run: a folder that any user can reach, whatever folder the project is in.
pub(crate) struct RunFolder {
    folder: tempfile::TempDir,
}

impl RunFolder {
    /// A folder with this program and the inputs that are committed.
    pub(crate) fn new(fairways: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let place = Self { folder };
        fs::copy(fairways, place.fairways())?;
        let inputs = place.path();
        fs::create_dir(&inputs)?;
        // Programs write here as another user.
        fs::set_permissions(&inputs, fs::Permissions::from_mode(0o777))?;
        for entry in fs::read_dir(Path::new(FOLDER).join("inputs"))? {
            let entry = entry?;
            fs::copy(entry.path(), inputs.join(entry.file_name()))?;
        }
        Ok(place)
    }

    pub(crate) fn fairways(&self) -> PathBuf {
        self.folder.path().join("fairways-lab")
    }

    /// The working directory of programs.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// Makes an input that is not there yet, after those that its command names.
    pub(crate) fn make(&self, inputs: &[MadeInput], file: &str) -> anyhow::Result<()> {
        let to = self.path().join(file);
        if to.exists() {
            return Ok(());
        }
        let input = inputs.iter().find(|input| input.file == file);
        let input = input.with_context(|| format!("{file}: expected an input that is made"))?;
        for word in input.make.split_whitespace().filter(|word| *word != file) {
            if inputs.iter().any(|other| other.file == word) {
                self.make(inputs, word)?;
            }
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &input.make]).current_dir(self.path());
        let output = shell.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{file}: {}", input.make);
        if !to.exists() {
            fs::write(to, output.stdout)?;
        }
        Ok(())
    }
}
