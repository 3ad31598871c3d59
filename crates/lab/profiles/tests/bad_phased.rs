//! Errors in files of phased programs are one line, as with the other files.

#![allow(clippy::unwrap_used)]

use fairways_profiles::{PhasedProgram, ProgramPhase, embedded, read_phased};

const GOOD: &str = "\
PROGRAM,PROFILE,INSTRUCTIONS
a,chess,5
a,triad,rest
b,hash-join,1000000000000000
b,chess,1
";

fn read(text: &str) -> Result<Vec<PhasedProgram>, String> {
    read_phased(text.as_bytes(), "ph.csv", embedded()).map_err(|error| error.to_string())
}

fn error(text: &str) -> String {
    read(text).unwrap_err()
}

/// The error for the good file with the first `from` made `to`.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    error(&GOOD.replacen(from, to, 1))
}

fn phase(profile: &str, instructions: Option<u64>) -> ProgramPhase {
    ProgramPhase { program: embedded().find(profile).unwrap(), instructions }
}

#[test]
fn phases_in_order() {
    let programs = read(GOOD).unwrap();
    let a = vec![phase("chess", Some(5)), phase("triad", None)];
    let b = vec![phase("hash-join", Some(1_000_000_000_000_000)), phase("chess", Some(1))];
    let expected = [("a", a), ("b", b)];
    assert_eq!(
        programs,
        expected.map(|(name, phases)| PhasedProgram { name: name.into(), phases })
    );

    // Columns in another order and a further one, comments, blank lines, Windows line ends, a
    // byte-order mark, spaces.
    let reordered = "\u{feff}# ours\r\n\r\nINSTRUCTIONS,more,PROGRAM,PROFILE\r\n5,\"#\",a, chess\r\n\
                     # a, again\r\nrest,,a,triad\r\n\n1000000000000000,,b,hash-join\n#\n1,,b,chess";
    assert_eq!(read(reordered).unwrap(), programs);
}

#[test]
fn an_empty_file_or_a_header_alone() {
    let header =
        "expected a header with PROGRAM, PROFILE and INSTRUCTIONS, found the end of the file";
    assert_eq!(error(""), format!("ph.csv:1: {header}"));
    assert_eq!(error("# ours\n"), format!("ph.csv:2: {header}"));
    let none = "ph.csv:2: expected a phase of a program, found the end of the file";
    assert_eq!(error(GOOD.lines().next().unwrap()), none);
}

#[test]
fn columns_fields_and_text() {
    let missing = "ph.csv:1: column PROFILE: expected this column, found a header without it: \
                   \"PROGRAM,PHASE,INSTRUCTIONS\"";
    assert_eq!(changed("PROFILE", "PHASE"), missing);
    let twice = "ph.csv:1: column PROGRAM: expected this column once, found it twice";
    assert_eq!(changed("PROGRAM", "PROGRAM,PROGRAM"), twice);
    let short = "ph.csv:3: column 3: expected 3 fields, as in the header, found 2 fields";
    assert_eq!(changed(",rest", ""), short);
    let long = "ph.csv:3: column 4: expected 3 fields, as in the header, found 4 fields";
    assert_eq!(changed("rest", "rest,"), long);
    let bytes = b"PROGRAM,PROFILE,INSTRUCTIONS\n# \xff";
    let error = read_phased(bytes, "ph.csv", embedded()).unwrap_err().to_string();
    assert_eq!(error, "ph.csv:2: expected UTF-8 text, found byte 0xff");
}

#[test]
fn names() {
    let empty = "ph.csv:2: column PROGRAM: expected a name without commas, quotes or control characters, found nothing";
    assert_eq!(changed("a,chess", ",chess"), empty);
    let taken = "ph.csv:4: column PROGRAM: expected a name that no profile has, found \"triad\"";
    assert_eq!(changed("b,hash-join", "triad,hash-join"), taken);
    let unknown = "ph.csv:2: column PROFILE: expected a program of the profiles, found \"a\"";
    assert_eq!(changed("chess", "a"), unknown);
}

#[test]
fn the_rows_of_a_program_stand_together() {
    let apart = "ph.csv:6: column PROGRAM: expected the rows of \"a\" together, found one more; the others end on line 3";
    assert_eq!(error(&format!("{GOOD}a,chess,1")), apart);
}

#[test]
fn only_the_last_phase_takes_the_rest() {
    let after = "ph.csv:3: column PROGRAM: expected another program after the \"rest\" of line 2, found \"a\"";
    assert_eq!(changed("a,chess,5", "a,chess,rest"), after);
}

#[test]
fn instructions() {
    for bad in
        ["0", "1000000000000001", "18446744073709551616", "-1", "+1", "1.5", "1e9", "Rest", ""]
    {
        let found = if bad.is_empty() { "nothing".into() } else { format!("{bad:?}") };
        let expected = format!(
            "ph.csv:2: column INSTRUCTIONS: expected a whole number from 1 to 1000000000000000 or \
             \"rest\", found {found}"
        );
        assert_eq!(changed("5", bad), expected);
    }
}

#[test]
fn the_line_is_right_after_comments() {
    let error = changed("a,triad,rest", "# \"one\n\r\n#, two\r\n\na,triad,x");
    assert!(error.starts_with("ph.csv:7: column INSTRUCTIONS"), "{error}");
}
