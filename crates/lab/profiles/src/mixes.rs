//! Mixes of programs, and the file that names them.
//!
//! One mix a line: its name, then its programs, separated by commas. A program may be in a mix more
//! than once. Blank lines and lines that begin with `#` are ignored, and so is a first line whose
//! first field is `mix` (a header).
//!
//! Where the first mix begins with a program, no mix of the file has a name, as in the
//! `workloads.csv` of PBBCache: the mixes are called `W1`, `W2`, ... in their order.

use std::collections::HashMap;

use crate::error::{InputError, shown};
use crate::records::{NAME_RULE, is_name, utf8};

/// Programs that run side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    /// The name of the mix.
    pub name: String,
    /// The programs: their indices in the [`ProfileTable`](crate::ProfileTable), or in the
    /// [`ProgramCatalog`](crate::ProgramCatalog) that the mix was read for.
    pub programs: Vec<usize>,
}

/// Reads a mixes file. `file` is how errors name it, `find` the index of a program by its name.
///
/// # Errors
/// The first line and column that break the format of the module's documentation: text that is not
/// UTF-8, a name that is missing, used twice, or a program's, a mix without programs, a program
/// that `find` does not know, or no mix at all.
pub fn read_mixes(
    bytes: &[u8],
    file: &str,
    find: impl Fn(&str) -> Option<usize>,
) -> Result<Vec<Mix>, InputError> {
    let text = utf8(bytes, file)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut mixes: Vec<Mix> = Vec::new();
    let mut lines: HashMap<&str, usize> = HashMap::new();
    let mut first = true;
    let mut has_names = None;
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() || content.trim_start().starts_with('#') {
            continue;
        }
        let mut fields = content.split(',').map(str::trim);
        let name = fields.next().unwrap_or_default();
        if std::mem::take(&mut first) && name == "mix" {
            continue;
        }
        let names_a_program = find(name).is_some();
        if !*has_names.get_or_insert(!names_a_program) {
            let programs = std::iter::once(name).chain(fields);
            let programs = programs_of(programs, file, line, 1, &find)?;
            mixes.push(Mix { name: format!("W{}", mixes.len() + 1), programs });
            continue;
        }
        if names_a_program {
            let expected = "a name that no program has, as on the lines before";
            return Err(error(file, line, 1, expected, shown(name)));
        }
        if !is_name(name) {
            return Err(error(file, line, 1, NAME_RULE, shown(name)));
        }
        if let Some(earlier) = lines.insert(name, line) {
            let found = format!("{}, which line {earlier} has too", shown(name));
            return Err(error(file, line, 1, "a mix of another name", found));
        }
        let programs = programs_of(fields, file, line, 2, &find)?;
        if programs.is_empty() {
            return Err(error(file, line, 2, "at least one program", "none".into()));
        }
        mixes.push(Mix { name: name.to_owned(), programs });
    }
    if mixes.is_empty() {
        let end = text.lines().count() + 1;
        return Err(error(
            file,
            end,
            1,
            "a mix: a name, then programs",
            "the end of the file".into(),
        ));
    }
    Ok(mixes)
}

fn error(file: &str, line: usize, column: usize, expected: &str, found: String) -> InputError {
    InputError {
        file: file.to_owned(),
        line,
        column: Some(column.to_string()),
        expected: expected.to_owned(),
        found,
    }
}

/// The programs that these fields name; the first field is in column `first`.
fn programs_of<'a>(
    fields: impl Iterator<Item = &'a str>,
    file: &str,
    line: usize,
    first: usize,
    find: &impl Fn(&str) -> Option<usize>,
) -> Result<Vec<usize>, InputError> {
    let expected = "a program of the profiles";
    let programs = (first..).zip(fields).map(|(column, field)| {
        find(field).ok_or_else(|| error(file, line, column, expected, shown(field)))
    });
    programs.collect()
}
