//! What pages may run as it stands: programs that change only files in the page's own folder.
//! Everything else that a page shows is named in `named.rs`; otherwise nothing of the page is run.

use std::iter::Peekable;
use std::str::Chars;

use super::named::TEMPORARY;

/// Programs, and builtins of the shell.
const ALLOWED: [&str; 24] = [
    "fairways",
    "fairways-lab",
    "fusermount3",
    ":",
    "[",
    "cat",
    "cd",
    "echo",
    "false",
    "grep",
    "kill",
    "ls",
    "mkdir",
    "mkfifo",
    "mktemp",
    "pgrep",
    "printf",
    "rm",
    "sleep",
    "test",
    "true",
    "umount",
    "valgrind",
    "wait",
];

/// Words after which another command begins, or nothing.
const KEYWORDS: [&str; 12] =
    ["!", "do", "done", "elif", "else", "fi", "if", "then", "until", "while", "{", "}"];

/// Why this command may not be run as it stands, if it may not.
pub(crate) fn refused(command: &str) -> Option<String> {
    let mut lexer =
        Lexer { rest: command.chars().peekable(), simple: Vec::new(), words: Vec::new() };
    if let Err(why) = lexer.list(None) {
        return Some(why);
    }
    lexer.simple.iter().find_map(|words| elsewhere(words).or_else(|| unknown(words)))
}

/// The word that names a place outside the page's folder, if there is one.
fn elsewhere(words: &[String]) -> Option<String> {
    let place = |word: &&String| {
        word.split('=').any(|part| {
            let outside = part.starts_with('/') && !part.starts_with(TEMPORARY);
            (outside && part != "/dev/null") || part.split('/').any(|folder| folder == "..")
        })
    };
    words.iter().find(place).map(|word| format!("{word} is not in the page's folder"))
}

/// The program that is not allowed, if there is one.
fn unknown(words: &[String]) -> Option<String> {
    let local = |word: &&String| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|of| of.is_ascii_lowercase() || of == '_')
    };
    let mut words = words.iter().skip_while(|word| KEYWORDS.contains(&word.as_str()));
    let program = words.find(|word| !local(word))?;
    let known = ALLOWED.contains(&program.as_str());
    (!known).then(|| format!("{program} is not among what pages may run"))
}

/// The part of the shell's grammar that pages use; anything else is refused.
struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    /// The complete simple commands, each as its words, including those of its redirections.
    simple: Vec<Vec<String>>,
    /// The words of the command that is being read.
    words: Vec<String>,
}

impl Lexer<'_> {
    /// Reads commands up to this bracket, or the end.
    fn list(&mut self, until: Option<char>) -> Result<(), String> {
        let before = std::mem::take(&mut self.words);
        let mut here = false;
        loop {
            let Some(next) = self.rest.next() else {
                self.over();
                self.words = before;
                return if until.is_some() { Err("a bracket is open".to_owned()) } else { Ok(()) };
            };
            match next {
                _ if Some(next) == until => {
                    self.over();
                    self.words = before;
                    return Ok(());
                }
                // The text of a here-document ends the command; in it the shell only substitutes
                // variables.
                '\n' if here => {
                    let text: String = self.rest.by_ref().collect();
                    if text.contains('`') || text.contains("$(") {
                        return Err("a command in the text of a here-document".to_owned());
                    }
                }
                ';' | '|' | '&' | '\n' | '(' | ')' => self.over(),
                '#' => while self.rest.next_if(|of| *of != '\n').is_some() {},
                '<' if self.rest.next_if_eq(&'<').is_some() => {
                    while self.rest.next_if_eq(&' ').is_some() {}
                    here = true;
                    self.word()?;
                }
                '<' | '>' => {
                    self.rest.next_if(|of| ['>', '&', '|'].contains(of));
                    if self.rest.peek() == Some(&'(') {
                        return Err("a process in the place of a file".to_owned());
                    }
                }
                _ if next.is_whitespace() => {}
                '\\' if self.rest.next_if_eq(&'\n').is_some() => {}
                _ => self.begun(next)?,
            }
        }
    }

    fn over(&mut self) {
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.simple.push(words);
        }
    }

    fn word(&mut self) -> Result<(), String> {
        self.rest.next().map_or(Ok(()), |first| self.begun(first))
    }

    /// Reads a word with this first character.
    fn begun(&mut self, first: char) -> Result<(), String> {
        let mut word = String::new();
        let mut next = Some(first);
        let mut quoted = false;
        while let Some(of) = next {
            match of {
                '\'' if !quoted => loop {
                    match self.rest.next() {
                        Some('\'') => break,
                        Some(of) => word.push(of),
                        None => return Err("a quote is open".to_owned()),
                    }
                },
                '"' => quoted = !quoted,
                '\\' => word.extend(self.rest.next().filter(|of| *of != '\n')),
                '`' => return Err("backquotes".to_owned()),
                '$' if self.rest.next_if_eq(&'(').is_some() => {
                    word.push('$');
                    self.list(Some(')'))?;
                }
                _ => word.push(of),
            }
            let ends = |of: &char| of.is_whitespace() || ";|&()<>".contains(*of);
            next = if quoted { self.rest.next() } else { self.rest.next_if(|of| !ends(of)) };
        }
        if quoted {
            return Err("a quote is open".to_owned());
        }
        // The number of a redirection's file is no word.
        let number = !word.is_empty() && word.chars().all(|of| of.is_ascii_digit());
        if !(number && matches!(self.rest.peek(), Some('<' | '>'))) {
            self.words.push(word);
        }
        Ok(())
    }
}

#[test]
fn what_pages_may_run_is_distinguished_from_what_they_may_not() {
    for may in [
        "fairways run --config /tmp/fairways.toml --log-level error & daemon=$!",
        "until [ -e /tmp/resctrl/schemata ]; do sleep 0.1; done",
        "ls -d /tmp/a.* || cat /tmp/b   # as a user: dpkg",
        "cat > /tmp/a << 'END'\n| dpkg\nEND",
        "here=$(mktemp -d)\nfairways run \\\n  --program 'a=b; dpkg' 2>&1 > \"$here/out\" < /dev/null",
        "until fairways status 2> /dev/null | grep -q 'plan 6'; do sleep 1; done",
    ] {
        assert_eq!(refused(may), None, "{may}");
    }
    for may_not in [
        "dpkg --install a.deb",
        "sudo fairways run",
        "ls | dpkg",
        "ls; dpkg",
        "ls && dpkg",
        "ls || ! dpkg",
        "ls & dpkg",
        "ls\ndpkg",
        "while dpkg; do ls; done",
        "{ dpkg; }",
        "(dpkg)",
        "echo $(ls $(dpkg))",
        "echo \"$(dpkg)\"",
        "echo `dpkg`",
        "cat <(dpkg)",
        "cat << END\n$(dpkg)\nEND",
        "$program",
        "'d'pk\"g\"",
        "PATH=/tmp/bin fairways",
        "a=b dpkg",
        "\\\n dpkg",
        "> /tmp/a dpkg",
        "echo a > /etc/passwd",
        "rm -r /tmp/../etc",
        "fairways man --out=/usr/share/man",
        "echo 'a",
        "echo $(ls",
    ] {
        assert!(refused(may_not).is_some(), "{may_not}");
    }
}
