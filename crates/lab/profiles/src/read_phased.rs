//! Reading a file of phased programs.
//!
//! A CSV with a header and a phase a row. `PROGRAM` is the program's name, `PROFILE` the program of
//! the table that it behaves like, `INSTRUCTIONS` the length of the phase: a whole number from 1 to
//! [`MOST_INSTRUCTIONS`], or `rest`, to the end of the run, in a program's last phase. Columns may
//! be in any order, and further ones are ignored; the rows of one program are adjacent, in the
//! order of its phases. Blank lines and lines that begin with `#` are ignored.

use std::collections::HashMap;

use crate::error::{InputError, shown};
use crate::phased::{PhasedProgram, ProgramPhase};
use crate::records::{CsvRecord, CsvRecords};
use crate::table::ProfileTable;

const PROGRAM: &str = "PROGRAM";
const PROFILE: &str = "PROFILE";
const INSTRUCTIONS: &str = "INSTRUCTIONS";

/// The word for the rest of the run.
const REST: &str = "rest";

/// The longest phase, in instructions: hours on any core.
const MOST_INSTRUCTIONS: u64 = 1_000_000_000_000_000;

/// Reads the phased programs of a file, in its order, made of the programs of `table`. `file` is
/// how errors name it.
///
/// # Errors
/// The first line and column that break the format of docs/profiles.md, and what was expected
/// there: text that is not UTF-8, a missing or repeated column, a row too short or too long, a name
/// that `table` has, rows of a program that are not adjacent, a phase after the rest of the run, a
/// profile that `table` does not have, a number that is not whole or out of range, or no program.
pub fn read_phased(
    bytes: &[u8],
    file: &str,
    table: &ProfileTable,
) -> Result<Vec<PhasedProgram>, InputError> {
    let mut records = CsvRecords::new(bytes, file, Some(b'#'))?;
    let lines = records.lines();
    let columns = match records.next()? {
        Some(header) => PhaseColumns::find(&header)?,
        None => {
            let expected = format!("a header with {PROGRAM}, {PROFILE} and {INSTRUCTIONS}");
            return Err(lines.ended(&expected));
        }
    };
    let mut programs: Vec<PhasedProgram> = Vec::new();
    let mut last_lines: HashMap<String, usize> = HashMap::new();
    while let Some(record) = records.next()? {
        record.check_length(columns.fields)?;
        let name = record.name(columns.program, PROGRAM)?;
        if table.find(name).is_some() {
            return Err(record.error(PROGRAM, "a name that no profile has", &shown(name)));
        }
        let earlier = last_lines.insert(name.to_owned(), record.line);
        let current = programs.last_mut().filter(|program| program.name == name);
        match (current, earlier) {
            (Some(program), Some(line)) => {
                if program.phases.last().is_some_and(|phase| phase.instructions.is_none()) {
                    let expected = format!("another program after the \"{REST}\" of line {line}");
                    return Err(record.error(PROGRAM, &expected, &shown(name)));
                }
                program.phases.push(columns.phase(&record, table)?);
            }
            (None, Some(line)) => {
                let expected = format!("the rows of {} together", shown(name));
                let found = format!("one more; the others end on line {line}");
                return Err(record.error(PROGRAM, &expected, &found));
            }
            (_, None) => {
                let phases = vec![columns.phase(&record, table)?];
                programs.push(PhasedProgram { name: name.to_owned(), phases });
            }
        }
    }
    if programs.is_empty() {
        return Err(lines.ended("a phase of a program"));
    }
    Ok(programs)
}

/// The indices of the columns.
struct PhaseColumns {
    fields: usize,
    program: usize,
    profile: usize,
    instructions: usize,
}

impl PhaseColumns {
    fn find(header: &CsvRecord<'_>) -> Result<Self, InputError> {
        Ok(Self {
            fields: header.fields.len(),
            program: header.column(PROGRAM)?,
            profile: header.column(PROFILE)?,
            instructions: header.column(INSTRUCTIONS)?,
        })
    }

    fn phase(
        &self,
        record: &CsvRecord<'_>,
        table: &ProfileTable,
    ) -> Result<ProgramPhase, InputError> {
        let profile = &record.fields[self.profile];
        let program = table
            .find(profile)
            .ok_or_else(|| record.error(PROFILE, "a program of the profiles", &shown(profile)))?;
        let field = &record.fields[self.instructions];
        let instructions = if field == REST { None } else { Some(whole(record, field)?) };
        Ok(ProgramPhase { program, instructions })
    }
}

fn whole(record: &CsvRecord<'_>, field: &str) -> Result<u64, InputError> {
    let digits = field.bytes().all(|byte| byte.is_ascii_digit());
    match field.parse() {
        Ok(number) if digits && (1..=MOST_INSTRUCTIONS).contains(&number) => Ok(number),
        _ => {
            let expected = format!("a whole number from 1 to {MOST_INSTRUCTIONS} or \"{REST}\"");
            Err(record.error(INSTRUCTIONS, &expected, &shown(field)))
        }
    }
}
