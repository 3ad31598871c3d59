//! Redis's protocol RESP2, as far as this client needs it (redis.io, "Redis serialization protocol
//! specification").

use std::io::{self, BufRead, Read as _, Write};

use super::bounded::broken;

/// A value that the server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    List(Vec<Self>),
    Null,
    Error(String),
}

/// The most values of an answer: a histogram of each of 400 commands has some 10,000.
const MOST_VALUES: usize = 1 << 16;

/// The deepest nesting of lists, and the most bytes of a text and items of a list; far beyond what
/// is requested here.
const DEEPEST: u32 = 8;
const LONGEST: usize = 1 << 20;

/// Sends a command.
///
/// # Errors
/// The writer's.
pub(super) fn write(to: &mut impl Write, words: &[&str]) -> io::Result<()> {
    let mut command = format!("*{}\r\n", words.len());
    for word in words {
        command.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    to.write_all(command.as_bytes())
}

/// Reads one value.
///
/// # Errors
/// The reader's; or it is not RESP2, or larger than anything requested.
pub(super) fn read(from: &mut impl BufRead) -> io::Result<Value> {
    value(from, DEEPEST, &mut 0)
}

fn value(from: &mut impl BufRead, deep: u32, count: &mut usize) -> io::Result<Value> {
    *count += 1;
    if *count > MOST_VALUES {
        return Err(broken(format!("expected at most {MOST_VALUES} values in an answer")));
    }
    let mut line = String::new();
    from.by_ref().take(4096).read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix("\r\n").ok_or_else(wrong)?;
    let mut characters = line.chars();
    let kind = characters.next().ok_or_else(wrong)?;
    let rest = characters.as_str();
    match kind {
        '+' => Ok(Value::Text(rest.to_owned())),
        '-' => Ok(Value::Error(rest.to_owned())),
        ':' => number(rest).map(Value::Number),
        '$' => {
            let Some(length) = length(rest)? else { return Ok(Value::Null) };
            let mut bytes = vec![0; length + 2];
            from.read_exact(&mut bytes)?;
            let text = bytes.strip_suffix(b"\r\n").ok_or_else(wrong)?;
            Ok(Value::Text(String::from_utf8_lossy(text).into_owned()))
        }
        '*' => {
            let Some(length) = length(rest)? else { return Ok(Value::Null) };
            let deeper = deep.checked_sub(1).ok_or_else(wrong)?;
            (0..length)
                .map(|_| value(from, deeper, count))
                .collect::<io::Result<_>>()
                .map(Value::List)
        }
        _ => Err(wrong()),
    }
}

fn wrong() -> io::Error {
    io::Error::other("the server does not speak RESP2")
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|_| wrong())
}

/// The length of a text or a list; `None` for a null.
fn length(text: &str) -> io::Result<Option<usize>> {
    match number(text)? {
        -1 => Ok(None),
        length => match usize::try_from(length) {
            Ok(length) if length <= LONGEST => Ok(Some(length)),
            _ => Err(wrong()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn values_are_read_as_the_server_means_them() {
        let mut bytes: &[u8] = b"*4\r\n$3\r\na\r\n\r\n:-5\r\n*-1\r\n+OK\r\n-ERR no\r\n";
        let list = vec![text("a\r\n"), Value::Number(-5), Value::Null, text("OK")];
        assert_eq!(read(&mut bytes).unwrap(), Value::List(list));
        assert_eq!(read(&mut bytes).unwrap(), Value::Error("ERR no".to_owned()));
        assert!(read(&mut bytes).is_err(), "nothing is left");
    }

    #[test]
    fn what_is_no_such_value_is_refused() {
        let deep = "*1\r\n".repeat(100);
        for wrong in
            ["?\r\n", ":x\r\n", "$3\r\nabcde", "$9999999999\r\n", "$-2\r\n", "+a", "\r\n", &deep]
        {
            assert!(read(&mut wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_command_is_a_list_of_texts() {
        let mut bytes = Vec::new();
        write(&mut bytes, &["GET", "é"]).unwrap();
        assert_eq!(bytes, "*2\r\n$3\r\nGET\r\n$2\r\né\r\n".as_bytes());
    }
}
