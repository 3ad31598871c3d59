//! Steps as text.

use std::fmt;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Names what follows.
    Sequence(String),
    /// Unmounts and mounts with these options.
    Reset(String),
    /// Makes a directory.
    Mkdir(String),
    /// Removes a directory.
    Rmdir(String),
    /// Renames the first to the second.
    Mv(String, String),
    /// Writes a text to a file.
    Write(String, Vec<u8>),
    /// Reads a file.
    Read(String),
    /// Lists a directory.
    Ls(String),
    /// Shows everything.
    Tree,
    /// Plugs a CPU in or out.
    Cpu(u32, bool),
    /// Milliseconds pass.
    Wait(u64),
    /// What follows is done by this user.
    As(u32),
}

/// A line that is no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Malformed {
    /// Its number, from 1.
    pub line: usize,
    /// What is amiss.
    pub what: String,
}

/// A text as written in a step: bare if possible, otherwise in quotes.
#[must_use]
pub fn quoted(text: &[u8]) -> String {
    if !text.is_empty() && text.iter().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\')) {
        return String::from_utf8_lossy(text).into_owned();
    }
    let mut escaped = String::from("\"");
    for &byte in text {
        match byte {
            b'\'' => escaped.push('\''),
            _ => escaped.push_str(&byte.escape_ascii().to_string()),
        }
    }
    escaped + "\""
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequence(name) => write!(f, "sequence {}", quoted_path(name)),
            Self::Reset(options) if options.is_empty() => f.write_str("reset"),
            Self::Reset(options) => write!(f, "reset {}", quoted_path(options)),
            Self::Mkdir(path) => write!(f, "mkdir {}", quoted_path(path)),
            Self::Rmdir(path) => write!(f, "rmdir {}", quoted_path(path)),
            Self::Mv(from, to) => write!(f, "mv {} {}", quoted_path(from), quoted_path(to)),
            Self::Write(path, text) => write!(f, "write {} {}", quoted_path(path), quoted(text)),
            Self::Read(path) => write!(f, "read {}", quoted_path(path)),
            Self::Ls(path) => write!(f, "ls {}", quoted_path(path)),
            Self::Tree => f.write_str("tree"),
            Self::Cpu(cpu, online) => write!(f, "cpu {cpu} {}", if *online { "on" } else { "off" }),
            Self::Wait(milliseconds) => write!(f, "wait {milliseconds}"),
            Self::As(user) => write!(f, "as {user}"),
        }
    }
}

/// Reads steps; skips empty lines and those that begin with `#`.
///
/// # Errors
///
/// The first line that is no step.
pub fn parse(text: &str) -> Result<Vec<Step>, Malformed> {
    let mut steps = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let step = words(line).and_then(|words| step(&words));
        steps.push(step.map_err(|what| Malformed { line: i + 1, what })?);
    }
    Ok(steps)
}

fn text(word: &[u8]) -> Result<String, String> {
    String::from_utf8(word.to_vec()).map_err(|_| "a path in UTF-8 was expected".to_owned())
}

fn step(words: &[Vec<u8>]) -> Result<Step, String> {
    let [verb, operands @ ..] = words else { return Err("a step was expected".into()) };
    let verb = text(verb)?;
    Ok(match (verb.as_str(), operands) {
        ("sequence", [name]) => Step::Sequence(text(name)?),
        ("reset", []) => Step::Reset(String::new()),
        ("reset", [options]) => Step::Reset(text(options)?),
        ("mkdir", [path]) => Step::Mkdir(text(path)?),
        ("rmdir", [path]) => Step::Rmdir(text(path)?),
        ("mv", [from, to]) => Step::Mv(text(from)?, text(to)?),
        ("write", [path, bytes]) => Step::Write(text(path)?, bytes.clone()),
        ("read", [path]) => Step::Read(text(path)?),
        ("ls", [path]) => Step::Ls(text(path)?),
        ("tree", []) => Step::Tree,
        ("cpu", [cpu, state]) => match state.as_slice() {
            b"on" => Step::Cpu(number(cpu)?, true),
            b"off" => Step::Cpu(number(cpu)?, false),
            _ => return Err("on or off was expected".into()),
        },
        ("wait", [milliseconds]) => Step::Wait(number(milliseconds)?),
        ("as", [user]) => Step::As(number(user)?),
        _ => return Err(format!("no step is called {verb} with {} operands", operands.len())),
    })
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Result<T, String> {
    let text = String::from_utf8_lossy(word);
    text.parse().map_err(|_| format!("a number was expected, not {text}"))
}

/// Splits at blanks, and removes quotes and escapes.
fn words(line: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut bytes = line.bytes().peekable();
    let mut words = Vec::new();
    while let Some(&first) = bytes.peek() {
        if first.is_ascii_whitespace() {
            bytes.next();
            continue;
        }
        let mut word = Vec::new();
        if first == b'"' {
            bytes.next();
            loop {
                match bytes.next().ok_or("the quote does not end")? {
                    b'"' => break,
                    b'\\' => word.push(escape(&mut bytes)?),
                    byte => word.push(byte),
                }
            }
        } else {
            while let Some(byte) = bytes.next_if(|byte| !byte.is_ascii_whitespace()) {
                word.push(byte);
            }
        }
        words.push(word);
    }
    Ok(words)
}

fn escape(bytes: &mut impl Iterator<Item = u8>) -> Result<u8, String> {
    match bytes.next() {
        Some(b'n') => Ok(b'\n'),
        Some(b't') => Ok(b'\t'),
        Some(b'r') => Ok(b'\r'),
        Some(b'0') => Ok(0),
        Some(same @ (b'\\' | b'"' | b'\'')) => Ok(same),
        Some(b'x') => {
            let digits: String = bytes.take(2).map(char::from).collect();
            u8::from_str_radix(&digits, 16)
                .map_err(|_| "two hexadecimal digits were expected".into())
        }
        _ => Err("an unknown escape".into()),
    }
}

fn quoted_path(path: &str) -> String {
    quoted(path.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{Step, parse};

    #[test]
    fn steps_are_read_as_they_are_shown() {
        let steps = vec![
            Step::Sequence("one".into()),
            Step::Reset("cdp,debug".into()),
            Step::Reset(String::new()),
            Step::Mkdir("a b\n\u{e9}".into()),
            Step::Mv("x".into(), String::new()),
            Step::Write("g/schemata".into(), b"L3:0=\"f'\\\n\x00\xff".to_vec()),
            Step::Cpu(3, false),
            Step::Wait(5),
            Step::As(1000),
            Step::Tree,
        ];
        let text: String = steps.iter().map(|step| format!("{step}\n")).collect();
        assert_eq!(parse(&text).unwrap(), steps);
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_line_that_is_no_step_is_named() {
        assert_eq!(error("tree\ncpu 1 up"), "line 2: on or off was expected");
        assert_eq!(error("mkdir"), "line 1: no step is called mkdir with 0 operands");
        assert_eq!(error("mkdir \"a"), "line 1: the quote does not end");
    }
}
