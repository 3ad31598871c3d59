//! Pages, their fenced blocks, and the commands in them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The project's folder.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// A page of the documentation.
pub(crate) struct Page {
    /// Its path in the project.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block.
pub(crate) struct Block {
    pub(crate) language: String,
    /// Its text, without the page's indent.
    pub(crate) text: String,
    /// The lines of the page between its fences, from 0.
    pub(crate) lines: Range<usize>,
    /// Whether only empty lines stand between it and the block before.
    pub(crate) follows: bool,
}

/// README.md, CONTRIBUTING.md, and all of docs/.
pub(crate) fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(project().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(name);
            } else if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
                names.push(name);
            }
        }
    }
    names.sort();
    names.into_iter().map(Page::read).collect()
}

impl Page {
    fn read(name: String) -> Self {
        let text = fs::read_to_string(project().join(&name)).unwrap();
        Self::of(name, text)
    }

    /// A page with this text.
    pub(crate) fn of(name: String, text: String) -> Self {
        let blocks = blocks(&name, &text);
        Self { name, text, blocks }
    }

    /// The output that the page shows for the block at this place: the block of text right behind
    /// it.
    pub(crate) fn shown(&self, at: usize) -> Option<&Block> {
        self.blocks.get(at + 1).filter(|next| next.follows && next.language == "text")
    }

    /// The page without its blocks.
    pub(crate) fn prose(&self) -> String {
        let inside = |line: usize| {
            let of = |block: &Block| (block.lines.start - 1..=block.lines.end).contains(&line);
            self.blocks.iter().any(of)
        };
        let lines = self.text.lines().enumerate();
        lines.filter(|(at, _)| !inside(*at)).map(|(_, line)| format!("{line}\n")).collect()
    }
}

fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(usize, usize, String)> = None;
    let mut follows = false;
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let Some(language) = bare.strip_prefix("```") else {
            follows &= open.is_some() || bare.is_empty();
            continue;
        };
        match open.take() {
            None => open = Some((at + 1, line.len() - bare.len(), language.to_owned())),
            Some((start, indent, of)) => {
                assert!(language.is_empty(), "{page}:{}: a fence in a block", at + 1);
                let inner = lines[start..at].iter();
                let text = inner.map(|line| format!("{}\n", line.get(indent..).unwrap_or("")));
                let text = text.collect();
                blocks.push(Block { language: of, text, lines: start..at, follows });
                follows = true;
            }
        }
    }
    assert!(open.is_none(), "{page}: a block without an end");
    blocks
}

/// The commands of a script: lines, joined where they end in a backslash, and here-documents.
pub(crate) fn commands(script: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        let mut command = line.to_owned();
        while command.ends_with('\\') {
            command = format!("{command}\n{}", lines.next().unwrap_or_default());
        }
        if let Some((_, word)) = command.split_once("<<") {
            let word: String = word.chars().filter(char::is_ascii_alphabetic).collect();
            for line in lines.by_ref() {
                command = format!("{command}\n{line}");
                if line == word {
                    break;
                }
            }
        }
        if !command.trim().is_empty() {
            commands.push(command);
        }
    }
    commands
}

#[test]
fn blocks_and_commands_are_found() {
    let text = "a\n  ```sh\n  b \\\n    c\n  d << 'E'\n  e\n  E\n  ```\n\n```text\nf\n```\ng\n```sh\nh\n```\n";
    let page = Page::of("page".to_owned(), text.to_owned());
    assert_eq!(commands(&page.blocks[0].text), ["b \\\n  c", "d << 'E'\ne\nE"]);
    assert_eq!(page.shown(0).unwrap().text, "f\n");
    assert!(page.shown(1).is_none() && page.shown(2).is_none());
    assert_eq!(page.prose(), "a\n\ng\n");
}
