//! Commands in running text, and in blocks that are not run: their verbs and flags exist.

use std::collections::BTreeMap;
use std::process::Command;

use super::page::{Page, commands, project};

/// The texts in backquotes or in blocks of a page that begin with a door's name or `cargo`.
pub(crate) fn said(page: &Page) -> Vec<String> {
    let mut said = Vec::new();
    for block in page.blocks.iter().filter(|block| block.language == "sh") {
        said.extend(commands(&block.text));
    }
    let prose = page.prose();
    said.extend(prose.split('`').skip(1).step_by(2).map(str::to_owned));
    let said = said.iter().map(|command| command.replace("\\\n", " "));
    let said = said.map(|command| command.split_whitespace().collect::<Vec<_>>().join(" "));
    let said = said.map(|command| command.strip_prefix("sudo ").unwrap_or(&command).to_owned());
    // A newcomer has not installed it.
    let said = said.map(|command| command.replace("cargo lab ", "fairways-lab "));
    said.filter(|command| door_of(command).is_some() || command.contains("cargo ")).collect()
}

/// The program that a command begins with, if it is a door.
pub(crate) fn door_of(command: &str) -> Option<&'static str> {
    let name = command.split(' ').next()?;
    ["fairways", "fairways-lab"].into_iter().find(|door| *door == name)
}

/// What `DOOR VERBS --help` prints, asked once.
#[derive(Default)]
pub(crate) struct Helps(BTreeMap<String, Option<String>>);

impl Helps {
    fn of(&mut self, verbs: &[&str]) -> Option<String> {
        let asked = self.0.entry(verbs.join(" ")).or_insert_with(|| {
            let mut command = Command::new(fairways_doors::bin().join(verbs[0]));
            let output = command.args(&verbs[1..]).arg("--help").output().unwrap();
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        });
        asked.clone()
    }

    /// Whether a verb exists under these.
    fn has(&mut self, verbs: &[&str], verb: &str) -> bool {
        let help = self.of(verbs).unwrap_or_default();
        let (_, listed) = help.split_once("\nCommands:\n").unwrap_or_default();
        let listed = listed.split("\n\n").next().unwrap_or_default();
        listed.lines().any(|line| line.split_whitespace().next() == Some(verb))
    }

    /// Why a command of a door would not be accepted, if so.
    pub(crate) fn misses(&mut self, command: &str) -> Option<String> {
        let command = command.split(" # ").next().unwrap_or_default();
        let words = shell_words::split(command).unwrap_or_default();
        let mut words = words.iter().map(String::as_str).take_while(|word| !ends(word));
        let door = words.next()?;
        let verb = words.next()?;
        if verb.starts_with('-') {
            let help = self.of(&[door]).unwrap_or_default();
            let listed = help.split(|of: char| of.is_whitespace() || of == ',');
            return (!listed.into_iter().any(|word| word == verb)).then(|| format!("no {verb}"));
        }
        let mut verbs = vec![door, verb];
        if !self.has(&[door], verb) {
            return Some(format!("no verb {verb:?}"));
        }
        for word in words {
            if word == "--" {
                break;
            }
            let flag = word.trim_start_matches(['\'', '"', '[']);
            let flag = flag.split(['=', ']', ',']).next().unwrap_or_default();
            if flag.len() > 1 && flag.starts_with('-') {
                let help = self.of(&verbs).unwrap_or_default();
                let listed = help.split(|of: char| of.is_whitespace() || of == ',');
                if !listed.into_iter().any(|word| word == flag) {
                    return Some(format!("{} has no {flag}", verbs.join(" ")));
                }
            } else if self.has(&verbs, word) {
                verbs.push(word);
            }
        }
        None
    }
}

/// Whether the shell takes over here.
pub(crate) fn ends(word: &str) -> bool {
    word.starts_with(['|', '>', '&', ';', '<']) || word == "||"
}

/// Why `cargo COMMAND` would fail, if so: packages, targets or features that do not exist.
pub(crate) fn cargo_misses(command: &str) -> Option<String> {
    let (_, command) = command.split_once("cargo ")?;
    let words: Vec<&str> = command.split(' ').collect();
    let after = |flag: &str| words.windows(2).find(|pair| pair[0] == flag).map(|pair| pair[1]);
    let package = after("-p").unwrap_or("fairways");
    let name = package.strip_prefix("fairways-").unwrap_or(package);
    let groups =
        ["base", "server", "lab", "proof"].map(|group| project().join("crates").join(group));
    let mut folders = groups.iter().flat_map(|group| [group.join(package), group.join(name)]);
    let folder = folders.find(|folder| folder.join("Cargo.toml").is_file());
    let Some(folder) = folder else { return Some(format!("no package {package}")) };
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for (flag, of) in [("--example", "examples"), ("--bench", "benches"), ("--test", "tests")] {
        let Some(name) = after(flag) else { continue };
        let there = [format!("{of}/{name}.rs"), format!("{of}/{name}/main.rs")];
        if !there.iter().any(|file| folder.join(file).exists()) {
            return Some(format!("{package} has no {flag} {name}"));
        }
    }
    let feature = after("--features")?;
    let has = manifest.lines().any(|line| line.starts_with(&format!("{feature} =")));
    (!has).then(|| format!("{package} has no feature {feature}"))
}

#[test]
fn missing_commands_are_found() {
    let mut helps = Helps::default();
    for there in [
        "fairways --version",
        "fairways run --dry-run --program a=b",
        "fairways-lab run --machine model",
        "fairways-lab emulated DIR cpu 1 off --json | x --y",
    ] {
        assert_eq!(helps.misses(there), None, "{there}");
    }
    for wrong in [
        "fairways walk",
        "fairways simulate",
        "fairways-lab doctor",
        "fairways --versions",
        "fairways run --dry",
        "fairways config check --dry-run",
        "fairways-lab emulated DIR advance 1s --until",
    ] {
        assert!(helps.misses(wrong).is_some(), "{wrong}");
    }
    let bench = "cargo bench -p fairways-experiments --bench decision > out.csv";
    assert_eq!(cargo_misses(bench), None);
    for wrong in ["decisions", "decision --features none"] {
        assert!(cargo_misses(&bench.replace("decision", wrong)).is_some(), "{wrong}");
    }
    assert!(cargo_misses("cargo test -p fairways-none").is_some());
}
