//! A program as the command line names it.

use std::str::FromStr;

use fairways_command_kit::similar::did_you_mean;
use fairways_programs::Selector;

use super::ProgramConfig;

/// How selectors begin, to suggest one where it is misspelt.
const SELECTORS: [&str; 7] = ["cgroup", "unit", "user-unit", "container", "pod", "process", "pid"];

/// `NAME=SELECTOR`, or `NAME.*=SELECTOR` where every match is a program of its own.
impl FromStr for ProgramConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, select) = text
            .split_once('=')
            .ok_or_else(|| format!("expected NAME=SELECTOR, found {text:?}"))?;
        let (name, each) = name.strip_suffix(".*").map_or((name, false), |name| (name, true));
        let select = select.parse::<Selector>().map_err(|why| {
            let kind = select.split(':').next().unwrap_or_default();
            format!("{why}, found {text:?}{}", did_you_mean(kind, SELECTORS))
        })?;
        if name.trim().is_empty() || name.chars().any(|c| c.is_control() || c == '/' || c == ',') {
            let expected = "expected a name without control characters, commas and slashes";
            return Err(format!("{expected}, found {text:?}"));
        }
        Ok(Self { each, ..Self::new(name.to_owned(), select) })
    }
}
