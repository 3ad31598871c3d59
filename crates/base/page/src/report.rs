//! Makes a page of files of results, and writes it.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fairways_command_kit::input::shown;
use fairways_command_kit::{BadInput, whole};

use super::page::{Page, Section};
use super::recognise::Recogniser;

/// The command's options.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// The results, a section each; - is standard input.
    pub files: Vec<PathBuf>,
    /// The page; - is standard output.
    pub out: PathBuf,
    /// The page's title; without it, Fairways and the heading of the first file.
    pub title: Option<String>,
}

/// Writes the page and prints its path to `out`; or writes the page itself to `out`.
///
/// # Errors
/// If a file can't be read or has no results, or the page can't be written.
pub fn report(
    args: &ReportOptions,
    recogniser: &Recogniser,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let to_standard = args.out.as_os_str() == "-";
    if !to_standard {
        check_output(&args.out, &args.files)?;
    }
    let sections = args.files.iter().map(|path| recogniser.section(path));
    let sections = sections.collect::<Result<Vec<Section>, BadInput>>()?;
    let first = sections.first().map(|section| section.heading.as_str()).unwrap_or_default();
    let title = args.title.clone().unwrap_or_else(|| format!("Fairways: {first}"));
    let results = match sections.len() {
        1 => "one file".to_owned(),
        several => format!("{several} files"),
    };
    let html = fairways_command_kit::plain::lines(&Page { title, sections }.html()?);
    if to_standard {
        return Ok(out.write_all(html.as_bytes())?);
    }
    whole::write(&args.out, html.as_bytes(), None)
        .with_context(|| format!("{}: can't write it", shown(&args.out)))?;
    Ok(writeln!(out, "written to {}: the results of {results}", shown(&args.out))?)
}

/// Checks that the page does not replace a file that it shows, or a part of a journal.
fn check_output(out: &Path, files: &[PathBuf]) -> Result<(), BadInput> {
    if out.is_dir() {
        return Err(BadInput(format!("--out: expected a file, and {} is a folder", shown(out))));
    }
    let Ok(there) = out.canonicalize() else { return Ok(()) };
    let read =
        files.iter().flat_map(|file| fairways_record::journal::parts(file).chain([file.clone()]));
    match read
        .into_iter()
        .find(|file: &PathBuf| file.canonicalize().is_ok_and(|file| file == there))
    {
        Some(file) => Err(BadInput(format!(
            "--out: expected another file than the results, found {}",
            shown(&file)
        ))),
        None => Ok(()),
    }
}
