//! Loads the configuration in force from its files.
//!
//! Each file is checked by itself, so that an error states the file and the line. Then the files
//! are laid over each other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_core::plain;
use fairways_exec_policy::descriptor;
use fairways_exec_policy::policies;
use fairways_policy::Descriptor;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::values::CounterSource;
use super::{Config, file};

const ADMIN: &str = "/etc/fairways/fairways.toml";
const VENDOR: &str = "/usr/share/fairways/fairways.toml";

/// The configuration of a file, or of the host without one. The error is the first mistake.
///
/// # Errors
/// If anything is wrong with it.
pub fn read(file: Option<&Path>) -> Result<Config, BadInput> {
    let (config, _) = load(file).map_err(|errors| {
        let more = match errors.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more: fairways config check)"),
        };
        BadInput(format!("{}{more}", errors.first().map_or("", String::as_str)))
    })?;
    Ok(config)
}

/// The configuration, and the files that it was read from; or its mistakes, a line each. Without
/// `file`, reads the host's files; it is no error if none exists.
pub(crate) fn load(file: Option<&Path>) -> Result<(Config, Vec<PathBuf>), Vec<String>> {
    let (paths, error) = files(file);
    let mut errors: Vec<String> = error.into_iter().collect();
    let (mut merged, mut read) = (Table::new(), Vec::new());
    for path in paths {
        match one(&path) {
            Ok((table, text)) => {
                lay_over(&mut merged, table);
                read.push((path, text));
            }
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let config: Config = Value::Table(merged)
        .try_into()
        .map_err(|error: toml::de::Error| vec![plain(&error.message().replace('\n', " "))])?;
    let errors = together(&config, &read);
    let paths = read.into_iter().map(|(path, _)| path).collect();
    if errors.is_empty() { Ok((config, paths)) } else { Err(errors) }
}

/// The files, in the order in which they are laid over each other, and why some are not known.
fn files(file: Option<&Path>) -> (Vec<PathBuf>, Option<String>) {
    let (main, beside) = match file {
        Some(file) => (Some(file), file),
        None => {
            let admin = Path::new(ADMIN);
            let main = [admin, Path::new(VENDOR)].into_iter().find(|file| file.exists());
            (main, admin)
        }
    };
    let mut paths: Vec<PathBuf> = main.iter().map(|&file| file.to_owned()).collect();
    match drop_ins(beside) {
        Ok(more) => {
            paths.extend(more);
            (paths, None)
        }
        Err(error) => (paths, Some(error)),
    }
}

/// Where a wrong configuration has resctrl and the state.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) root: Option<PathBuf>,
    pub(crate) state: Option<PathBuf>,
    /// Whether all its files could be read.
    pub(crate) are_known: bool,
}

/// The places in a configuration, even if other parts of it are wrong.
pub(crate) fn places(file: Option<&Path>) -> Places {
    let (paths, error) = files(file);
    let (mut merged, mut are_known) = (Table::new(), error.is_none());
    for path in paths {
        match file::read(&path).ok().and_then(|text| toml::from_str::<Table>(&text).ok()) {
            Some(table) => lay_over(&mut merged, table),
            None => are_known = false,
        }
    }
    let resctrl = merged.get("resctrl");
    let [root, state] = ["root", "state"]
        .map(|key| resctrl.and_then(|all| all.get(key)?.as_str()).map(PathBuf::from));
    Places { root, state, are_known }
}

/// `FILE.d/*.toml`, in order of their names.
fn drop_ins(file: &Path) -> Result<Vec<PathBuf>, String> {
    let mut folder = file.as_os_str().to_owned();
    folder.push(".d");
    let folder = PathBuf::from(folder);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{}: can't read it: {error}", shown(&folder))),
    };
    file::folder_alone(&folder)?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort_unstable();
    Ok(paths)
}

/// One file, checked by itself.
fn one(path: &Path) -> Result<(Table, String), String> {
    let text = file::read(path)?;
    let wrong = |error: toml::de::Error| wrong(path, &text, &error);
    let table: Table = toml::from_str(&text).map_err(wrong)?;
    let _: Config = toml::from_str(&text).map_err(wrong)?;
    Ok((table, text))
}

/// Checks the text of a configuration that is in no file yet.
pub(super) fn check_text(text: &str) -> Result<(), String> {
    let config: Config = toml::from_str(text).map_err(|error| error.to_string())?;
    let missing = config.missing_need();
    match together(&config, &[]).into_iter().chain(missing).next() {
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// `FILE:LINE: KEY: what is wrong`.
fn wrong(path: &Path, text: &str, error: &toml::de::Error) -> String {
    let message = plain(&error.message().replace('\n', " "));
    let at = error.span().map_or(0, |span| span.start);
    let table = DeTable::parse(text).ok();
    let key = table.and_then(|table| key_at(table.get_ref(), at));
    let key = key.map(|key| format!("{key}: ")).unwrap_or_default();
    format!("{}:{}: {key}{message}", shown(path), line(text, at))
}

fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count()
}

/// The key that is, or whose value is, at a place of the text: `resctrl.root`.
fn key_at(table: &DeTable<'_>, at: usize) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref().to_string();
        let below = below(value, at).map(|below| format!("{name}{below}"));
        let own = key.span().contains(&at) || value.span().contains(&at);
        below.or_else(|| own.then_some(name))
    })
}

fn below(value: &Spanned<DeValue<'_>>, at: usize) -> Option<String> {
    match value.get_ref() {
        DeValue::Table(table) => key_at(table, at).map(|key| format!(".{key}")),
        DeValue::Array(values) => values.iter().enumerate().find_map(|(index, value)| {
            let below = below(value, at);
            let own = value.span().contains(&at).then(String::new);
            below.or(own).map(|below| format!("[{index}]{below}"))
        }),
        _ => None,
    }
}

/// Lays one file over another: tables are merged, `program` grows, and any other value is replaced.
fn lay_over(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(over)) => lay_over(below, over),
            (Some(Value::Array(below)), Value::Array(more)) => below.extend(more),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// The mistakes that only show once the files are merged.
fn together(config: &Config, read: &[(PathBuf, String)]) -> Vec<String> {
    let mut errors = Vec::new();
    // A program is not started to read a configuration: `restore` reads it, too.
    if !policies::is_program(&config.policy)
        && let Err(error) = config.make_policy()
    {
        let named = config.parameters.keys().find(|name| {
            let text = error.to_string();
            text.contains(&format!("{name:?}")) || text.contains(&format!("parameter {name} "))
        });
        let at = named.and_then(|name| place(read, &["parameters", name]));
        let key = named.map_or("parameters".to_owned(), |name| format!("parameters.{name}"));
        let at = at.or_else(|| place(read, &["policy"])).unwrap_or_default();
        errors.push(format!("{at}{key}: {error}"));
    }
    if let Some(why) = config.log.contradiction() {
        let at = place(read, &["log", "format"]).unwrap_or_default();
        errors.push(format!("{at}{why}"));
    }
    if let Some(why) = config.contradiction_to_counters_only() {
        let at = place(read, &["counters_only"]).unwrap_or_default();
        errors.push(format!("{at}{why}"));
    }
    let mut names = HashSet::new();
    for program in &config.program {
        if !names.insert(&program.name) {
            let files: Vec<String> = read.iter().map(|(path, _)| shown(path)).collect();
            let (files, name) = (files.join(", "), &program.name);
            errors.push(format!(
                "{files}: program.name: expected programs of different names, found two {name:?}"
            ));
        }
    }
    errors
}

/// `FILE:LINE: ` of the place where a key was set last.
fn place(read: &[(PathBuf, String)], keys: &[&str]) -> Option<String> {
    read.iter().rev().find_map(|(path, text)| {
        let root = DeTable::parse(text).ok()?;
        let (last, tables) = keys.split_last()?;
        let mut table = root.get_ref();
        for key in tables {
            table = table.get(*key)?.get_ref().as_table()?;
        }
        let (key, _) = table.get_key_value(*last)?;
        Some(format!("{}:{}: ", shown(path), line(text, key.span().start)))
    })
}

impl Config {
    /// The policy with its parameters.
    pub(crate) fn make_policy(&self) -> Result<Box<dyn fairways_core::Policy>, BadInput> {
        crate::rules::make(&self.policy, self.given()).map(|(policy, _)| policy)
    }

    /// The policy's description.
    pub(crate) fn descriptor(&self) -> Option<&'static Descriptor> {
        descriptor(&self.policy)
    }

    /// Why programs can't be watched by counters alone as configured, if that is so.
    pub(crate) fn contradiction_to_counters_only(&self) -> Option<String> {
        let found = match self {
            config if !config.counters_only => return None,
            config if config.policy != "stock" => {
                return Some(format!(
                    "counters_only: expected policy stock, which gives out nothing, found {}",
                    config.policy
                ));
            }
            config if config.observe => "observe = true",
            config if config.dry_run => "dry_run = true",
            config if config.counters.source == CounterSource::None => "counters.source = \"none\"",
            _ => return None,
        };
        Some(format!("counters_only: expected counters and nothing else, found {found}"))
    }

    /// Whether the policy decides where and when threads run.
    pub(crate) fn schedules(&self) -> bool {
        self.descriptor().is_some_and(Descriptor::schedules)
    }

    /// The parameters that are set.
    pub(crate) fn given(&self) -> serde_json::Map<String, serde_json::Value> {
        let parameters = self.parameters.iter().map(|(name, value)| match value {
            Value::String(text) => (name.clone(), policies::value(text.trim())),
            other => (name.clone(), policies::value(&other.to_string())),
        });
        parameters.collect()
    }
}
