//! Makes the corpus of real programs again, or compares it: `corpus/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use crate::prepare::{install, run};
use crate::run_folder::{FOLDER, MadeInput, RunFolder};

/// The flags of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct CorpusFlags {
    /// Programs of the corpus [default: all]
    programs: Vec<String>,
    /// Compare with what is committed, rather than replace it
    #[arg(long)]
    check: bool,
    /// Print the mixes, rather than measure
    #[arg(long)]
    mixes: bool,
    /// Install the packages first
    #[arg(long)]
    install: bool,
    /// The command to measure with [default: built for release]
    #[arg(long, value_name = "FILE")]
    fairways_lab: Option<PathBuf>,
}

/// `corpus/programs.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CorpusManifest {
    /// For all programs that say nothing else.
    skip: u64,
    instructions: u64,
    /// Instructions of a stream.
    stream_instructions: u64,
    /// The machine that streams are recorded for.
    stream_machine: String,
    /// Packages that inputs need.
    packages: Vec<String>,
    machines: BTreeMap<String, String>,
    input: Vec<MadeInput>,
    program: Vec<CorpusProgram>,
}

/// A program of the corpus.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CorpusProgram {
    name: String,
    package: String,
    version: String,
    /// Its licence, and the program of the papers that it stands for: for readers.
    #[serde(rename = "licence")]
    _licence: String,
    #[serde(rename = "stands_for", default)]
    _stands_for: String,
    command: String,
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    inputs: Vec<String>,
    #[serde(default)]
    skip: Option<u64>,
    #[serde(default)]
    stream: bool,
}

/// Bytes of a stream at most: 16 have 12 MB.
const MOST_STREAM: usize = 750_000;

/// Where results are put that differ from those that are committed.
const DIFFERENT: &str = "target/corpus";

/// Runs a program as a user without rights. A program that looks for its user reads
/// `nsswitch.conf`, which other packages change: each word in it costs instructions.
const AS_NOBODY: &str = "mount --bind \"$1/nsswitch.conf\" /etc/nsswitch.conf && \
     program=$0 && shift && \
     exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$program\" \"$@\"";

/// Makes or compares the programs that were asked for; whether all are as they were committed.
///
/// # Errors
/// If a program is missing, is another version, or can't be measured.
pub(crate) fn corpus(asked: &CorpusFlags) -> anyhow::Result<bool> {
    let text = fs::read_to_string(Path::new(FOLDER).join("programs.toml"))?;
    let corpus: CorpusManifest = toml::from_str(&text).context("corpus/programs.toml")?;
    if asked.mixes {
        let names = corpus.program.iter().map(|program| program.name.as_str()).collect();
        std::io::stdout().write_all(mixes(names).as_bytes())?;
        return Ok(true);
    }
    let programs = corpus.program.iter();
    let programs: Vec<&CorpusProgram> = programs
        .filter(|program| asked.programs.is_empty() || asked.programs.contains(&program.name))
        .collect();
    for name in &asked.programs {
        let is_there = programs.iter().any(|program| program.name == *name);
        ensure!(is_there, "{name}: expected a program of corpus/programs.toml");
    }
    if asked.install {
        let of_programs = programs.iter().map(|program| program.package.as_str());
        let packages: Vec<&str> =
            corpus.packages.iter().map(String::as_str).chain(of_programs).collect();
        install(&packages)?;
    }
    let fairways = match &asked.fairways_lab {
        Some(file) => file.canonicalize()?,
        None => built()?,
    };
    let place = RunFolder::new(&fairways)?;
    let mut alike = true;
    for program in programs {
        check_version(program)?;
        for file in program.inputs.iter().chain(&program.stdin) {
            place.make(&corpus.input, file)?;
        }
        for (result, made) in corpus.measure(&place, program)? {
            if asked.check {
                let is_alike = committed(&result, program)? == made;
                let shown = format!("{}: {}", program.name, result.display());
                if is_alike {
                    eprintln!("{shown}: as committed");
                } else {
                    let file = result.file_name().unwrap_or_default().to_string_lossy();
                    let found = Path::new(DIFFERENT).join(format!("{}.{file}", program.name));
                    fs::create_dir_all(DIFFERENT)?;
                    fs::write(&found, &made)?;
                    eprintln!("{shown}: differs from {}", found.display());
                }
                alike &= is_alike;
            } else {
                put(&result, program, &corpus, &made)?;
            }
        }
    }
    Ok(alike)
}

/// Ten mixes each of several sizes, drawn without repetition.
fn mixes(mut names: Vec<&str>) -> String {
    names.sort_unstable();
    let mut text = String::from("mix,programs\n");
    for size in [4_usize, 8, 12, 16] {
        for number in 1..=10 {
            let (mut left, mut state) = (names.clone(), (1000 * size + number) as u64);
            let drawn = (0..size.min(names.len())).map(|_| {
                let place = draw(&mut state) % left.len() as u64;
                left.swap_remove(usize::try_from(place).unwrap_or(0))
            });
            let drawn: Vec<&str> = drawn.collect();
            text.push_str(&format!("{size}-{number},{}\n", drawn.join(",")));
        }
    }
    text
}

/// The next number of a generator (splitmix64).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn built() -> anyhow::Result<PathBuf> {
    run(Command::new("cargo").args(["build", "--release", "-p", "fairways-lab"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(Path::new(&target).join("release/fairways-lab").canonicalize()?)
}

fn check_version(program: &CorpusProgram) -> anyhow::Result<()> {
    let CorpusProgram { name, package, version, .. } = program;
    let query = ["-W", "-f=${Version}", package];
    let output = Command::new("dpkg-query").args(query).stderr(Stdio::null()).output()?;
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        found == *version,
        "{name}: expected {package} {version}, found {}",
        if found.is_empty() { "none" } else { &found }
    );
    Ok(())
}

impl CorpusManifest {
    /// The results of a program: where each belongs, and its bytes.
    fn measure(
        &self,
        place: &RunFolder,
        program: &CorpusProgram,
    ) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
        eprintln!("== {}", program.name);
        let machines: Vec<&str> = self.machines.values().map(String::as_str).collect();
        let made = self.traced(place, program, "profile", &machines, self.instructions)?;
        let files = self.machines.keys().map(|name| format!("profiles/{name}.csv"));
        let files = files.map(|file| Path::new(FOLDER).join(file));
        let mut results: Vec<(PathBuf, Vec<u8>)> = files.zip(made).collect();
        if program.stream {
            let (machine, mut length) = ([&*self.stream_machine], self.stream_instructions);
            let mut made = self.traced(place, program, "record", &machine, length)?.concat();
            while made.len() > MOST_STREAM {
                length /= 2;
                made = self.traced(place, program, "record", &machine, length)?.concat();
            }
            let file = format!("{}.stream", program.name);
            results.push((Path::new(FOLDER).join("streams").join(file), made));
        }
        Ok(results)
    }

    /// Runs `fairways-lab profile` or `record` once, as a user without rights if this one has them.
    /// The results are in the machines' order.
    fn traced(
        &self,
        place: &RunFolder,
        program: &CorpusProgram,
        verb: &str,
        machines: &[&str],
        instructions: u64,
    ) -> anyhow::Result<Vec<Vec<u8>>> {
        let (fairways, work) = (place.fairways(), place.path());
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| {
            use std::os::unix::fs::MetadataExt as _;
            own.uid() == 0
        });
        let mut command = if is_root { Command::new("unshare") } else { Command::new(&fairways) };
        if is_root {
            command.args(["--mount", "sh", "-c", AS_NOBODY]).args([&*fairways, &*work]);
        }
        let (skip, instructions) =
            (program.skip.unwrap_or(self.skip).to_string(), instructions.to_string());
        command.args([verb, "-q", "--name", &program.name]);
        let mut results = Vec::new();
        for (number, machine) in machines.iter().enumerate() {
            let result = work.join(format!("result-{number}"));
            let _ = fs::remove_file(&result);
            command.args(["--machine", machine, "-o"]).arg(&result);
            results.push(result);
        }
        command.args(["--skip", &skip, "--instructions", &instructions, "--"]);
        command.args(program.command.split_whitespace()).current_dir(&work);
        command.stdin(match &program.stdin {
            Some(file) => fs::File::open(work.join(file))?.into(),
            None => Stdio::null(),
        });
        // Always a file: some programs do other things if it is a pipe or a terminal.
        let errors = work.join("errors");
        command.stdout(Stdio::null()).stderr(fs::File::create(&errors)?);
        if !command.status()?.success() {
            let said = String::from_utf8_lossy(&fs::read(errors)?).into_owned();
            bail!("{}: {}", program.name, said.lines().last().unwrap_or_default());
        }
        results.iter().map(|result| Ok(fs::read(result)?)).collect()
    }
}

/// What is committed of a program: a stream, or its lines in a file of profiles.
fn committed(result: &Path, program: &CorpusProgram) -> anyhow::Result<Vec<u8>> {
    let bytes = fs::read(result).with_context(|| result.display().to_string())?;
    if result.extension().is_some_and(|extension| extension == "stream") {
        return Ok(bytes);
    }
    let lines = ProfileLines::new(std::str::from_utf8(&bytes)?);
    Ok(lines.join([program.name.as_str()]).into_bytes())
}

/// Replaces what is committed of a program.
fn put(
    result: &Path,
    program: &CorpusProgram,
    corpus: &CorpusManifest,
    made: &[u8],
) -> anyhow::Result<()> {
    fs::create_dir_all(result.parent().context("a folder")?)?;
    if result.extension().is_some_and(|extension| extension == "stream") {
        return Ok(fs::write(result, made)?);
    }
    let before = fs::read_to_string(result).unwrap_or_default();
    let (mut all, own) =
        (ProfileLines::new(&before), ProfileLines::new(std::str::from_utf8(made)?));
    all.header = own.header.or(all.header);
    all.programs.extend(own.programs);
    let names = corpus.program.iter().map(|program| program.name.as_str());
    ensure!(all.programs.contains_key(program.name.as_str()), "{}: no profile", program.name);
    Ok(fs::write(result, all.join(names))?)
}

/// The lines of a file of profiles: for each program its comment, and its rows.
#[derive(Debug, Default)]
struct ProfileLines<'a> {
    header: Option<&'a str>,
    programs: BTreeMap<&'a str, (Vec<&'a str>, Vec<&'a str>)>,
}

impl<'a> ProfileLines<'a> {
    fn new(text: &'a str) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            if let Some((name, _)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(' ')) {
                all.programs.entry(name).or_default().0.push(line);
            } else if line.starts_with("BENCH,") {
                all.header = Some(line);
            } else if let Some((name, _)) = line.split_once(',') {
                all.programs.entry(name).or_default().1.push(line);
            }
        }
        all
    }

    /// A file with these programs, as far as they are there.
    fn join<'b>(&self, names: impl IntoIterator<Item = &'b str>) -> String {
        let programs: Vec<_> =
            names.into_iter().filter_map(|name| self.programs.get(name)).collect();
        let comments = programs.iter().flat_map(|(comments, _)| comments);
        let rows = programs.iter().flat_map(|(_, rows)| rows);
        comments.chain(&self.header).chain(rows).map(|line| format!("{line}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_is_well_formed() {
        let text = include_str!("../../../../corpus/programs.toml");
        let corpus: CorpusManifest = toml::from_str(text).expect("corpus/programs.toml");
        let inputs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../corpus/inputs");
        for program in &corpus.program {
            for file in program.inputs.iter().chain(&program.stdin) {
                let is_made = corpus.input.iter().any(|input| input.file == *file);
                let is_there = Path::new(inputs).join(file).exists();
                assert!(is_made || is_there, "{}: {file}", program.name);
            }
            assert!(!program.version.is_empty(), "{}", program.name);
        }
        let mut names: Vec<&str> = corpus.program.iter().map(|program| &*program.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), corpus.program.len(), "names are unique");
    }

    #[test]
    fn the_mixes_are_those_that_are_committed() {
        let corpus: CorpusManifest =
            toml::from_str(include_str!("../../../../corpus/programs.toml")).expect("a corpus");
        let names = corpus.program.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(mixes(names), include_str!("../../../../corpus/mixes.csv"));
    }

    #[test]
    fn profiles_of_programs_are_put_together_in_order() {
        let own = "# b {}\nBENCH,NR_WAYS\nb,1\nb,2\n";
        let mut all = ProfileLines::new("# a {}\nBENCH,NR_WAYS\na,1\n");
        all.programs.extend(ProfileLines::new(own).programs);
        let expected = "# b {}\n# a {}\nBENCH,NR_WAYS\nb,1\nb,2\na,1\n";
        assert_eq!(all.join(["b", "none", "a"]), expected);
        assert_eq!(all.join(["b"]), own);
    }
}
