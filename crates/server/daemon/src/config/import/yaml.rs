//! YAML, and JSON, which is YAML too, as a tree that knows its lines.
//!
//! The text may be hostile: how deep it is nested and how many values it has are bounded while it
//! is read, with what aliases repeat counted each time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle};

/// How deep values may be nested.
const DEEPEST: usize = 64;
/// How many values there may be, with those that aliases repeat.
const MOST: usize = 1_000_000;
/// A text counts as one value more for every this many bytes.
const BYTES_OF_A_VALUE: usize = 32;

/// What is wrong in a source, and in which line.
#[derive(Debug)]
pub(super) struct WrongLine {
    pub(super) line: usize,
    pub(super) why: String,
}

impl WrongLine {
    pub(super) fn new(line: usize, why: impl Into<String>) -> Self {
        Self { line, why: why.into() }
    }
}

/// A value, and the line of its key.
#[derive(Clone, Debug)]
pub(super) struct YamlNode {
    pub(super) line: usize,
    pub(super) value: YamlValue,
    /// How many values it consists of; long texts count as several.
    size: usize,
    /// How deep it is.
    depth: usize,
}

#[derive(Clone, Debug)]
pub(super) enum YamlValue {
    Null,
    /// Text, a number or a switch; and whether its lines are lines of the file.
    Text(String, bool),
    List(Vec<YamlNode>),
    Map(BTreeMap<String, YamlNode>),
}

impl YamlNode {
    fn new(line: usize, value: YamlValue) -> Self {
        let (size, depth) = match &value {
            YamlValue::List(all) => below(all.iter()),
            YamlValue::Map(all) => below(all.values()),
            YamlValue::Text(text, _) => (text.len() / BYTES_OF_A_VALUE, 0),
            YamlValue::Null => (0, 0),
        };
        Self { line, value, size: size + 1, depth: depth + 1 }
    }

    /// The value of a key. Like Go's readers, it takes capitals for small letters.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let YamlValue::Map(all) = &self.value else { return None };
        let found = all.get(key).or_else(|| {
            all.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
        });
        found.filter(|found| !matches!(found.value, YamlValue::Null))
    }

    /// The value of a key of a key, and so on.
    pub(super) fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Text(text, _) => Some(text),
            _ => None,
        }
    }

    /// The text of a key, if it is a text.
    pub(super) fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// Its entries; the error says which key was expected to have some.
    pub(super) fn map(&self, key: &str) -> Result<&BTreeMap<String, Self>, WrongLine> {
        static NONE: BTreeMap<String, YamlNode> = BTreeMap::new();
        match &self.value {
            YamlValue::Map(all) => Ok(all),
            YamlValue::Null => Ok(&NONE),
            _ => Err(self.wrong(key, "keys with values")),
        }
    }

    /// Its items, likewise.
    pub(super) fn list(&self, key: &str) -> Result<&[Self], WrongLine> {
        match &self.value {
            YamlValue::List(all) => Ok(all),
            YamlValue::Null => Ok(&[]),
            _ => Err(self.wrong(key, "a list")),
        }
    }

    /// A whole number from 0 to `most`.
    pub(super) fn number(&self, key: &str, most: u32) -> Result<u32, WrongLine> {
        let number = self.text().and_then(|text| text.parse().ok());
        number
            .filter(|number| *number <= most)
            .ok_or_else(|| self.wrong(key, &format!("a whole number from 0 to {most}")))
    }

    /// What is wrong with it.
    pub(super) fn wrong(&self, key: &str, expected: &str) -> WrongLine {
        let found = match &self.value {
            YamlValue::Null => "nothing".to_owned(),
            YamlValue::Text(text, _) => format!("{:?}", text.chars().take(60).collect::<String>()),
            YamlValue::List(_) => "a list".to_owned(),
            YamlValue::Map(_) => "keys with values".to_owned(),
        };
        WrongLine::new(self.line, format!("{key}: expected {expected}, found {found}"))
    }

    /// The documents of a text inside this one, such as a file in a `ConfigMap`.
    pub(super) fn inner(&self) -> Result<Vec<Self>, WrongLine> {
        match &self.value {
            YamlValue::Text(text, true) => read_from(text, self.line, true),
            YamlValue::Text(text, false) => read_from(text, self.line, false),
            _ => Ok(Vec::new()),
        }
    }
}

fn below<'n>(all: impl Iterator<Item = &'n YamlNode>) -> (usize, usize) {
    all.fold((0, 0), |(size, depth), node| (size + node.size, depth.max(node.depth)))
}

/// The documents of a file.
pub(super) fn read(text: &str) -> Result<Vec<YamlNode>, WrongLine> {
    read_from(text, 0, true)
}

/// The documents of a text that begins after a line; `counts` says whether its lines are lines of
/// the file.
fn read_from(text: &str, after: usize, counts: bool) -> Result<Vec<YamlNode>, WrongLine> {
    let mut builder = TreeBuilder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let line = if counts { after + error.marker().line() } else { after };
            WrongLine::new(line, format!("expected YAML or JSON: {}", error.info()))
        })?;
        builder.line = if counts { after + span.start.line() } else { after };
        builder.take(event)?;
    }
    Ok(builder.documents)
}

/// A list or a map that has begun.
struct OpenNode {
    line: usize,
    anchor: usize,
    content: OpenContent,
}

enum OpenContent {
    List(Vec<YamlNode>),
    /// The entries, and the key whose value comes next, with its line.
    Map(BTreeMap<String, YamlNode>, Option<(String, usize)>),
}

#[derive(Default)]
struct TreeBuilder {
    documents: Vec<YamlNode>,
    open: Vec<OpenNode>,
    anchors: BTreeMap<usize, YamlNode>,
    /// How many values there are so far.
    count: usize,
    /// The line of the event.
    line: usize,
}

impl TreeBuilder {
    fn take(&mut self, event: Event<'_>) -> Result<(), WrongLine> {
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Scalar(text, style, anchor, _) => {
                let node = YamlNode::new(self.line, scalar(text, style));
                self.count(node.size)?;
                self.add(node, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(anchor, OpenContent::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                self.begin(anchor, OpenContent::Map(BTreeMap::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => {
                // A value can't be a part of itself.
                let Some(size) = self.anchors.get(&anchor).map(|node| node.size) else {
                    let why = "expected an alias of a value that ends before it";
                    return Err(WrongLine::new(self.line, why));
                };
                self.count(size)?;
                match self.anchors.get(&anchor).cloned() {
                    Some(node) => self.add(node, 0),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Counts more values.
    fn count(&mut self, more: usize) -> Result<(), WrongLine> {
        self.count += more;
        match self.count > MOST {
            true => {
                let why = format!("expected at most {MOST} values, aliases counted");
                Err(WrongLine::new(self.line, why))
            }
            false => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, content: OpenContent) -> Result<(), WrongLine> {
        self.count(1)?;
        if self.open.len() >= DEEPEST {
            return Err(self.too_deep());
        }
        self.open.push(OpenNode { line: self.line, anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), WrongLine> {
        let Some(OpenNode { line, anchor, content }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            OpenContent::List(all) => YamlValue::List(all),
            OpenContent::Map(all, _) => YamlValue::Map(merged(all)),
        };
        self.add(YamlNode::new(line, value), anchor)
    }

    /// Adds a value where it belongs.
    fn add(&mut self, mut node: YamlNode, anchor: usize) -> Result<(), WrongLine> {
        if self.open.len() + node.depth > DEEPEST {
            return Err(self.too_deep());
        }
        if anchor != 0 {
            // The copy that aliases repeat.
            self.count(node.size)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.documents.push(node),
            Some(OpenContent::List(all)) => all.push(node),
            Some(OpenContent::Map(all, key)) => match key.take() {
                None => {
                    let line = node.line;
                    let name = match node.value {
                        YamlValue::Text(text, _) => text,
                        YamlValue::Null => String::new(),
                        _ => return Err(node.wrong("a key", "a text")),
                    };
                    if all.contains_key(&name) {
                        let why = format!("expected each key once, found {name:?} again");
                        return Err(WrongLine::new(line, why));
                    }
                    *key = Some((name, line));
                }
                Some((name, line)) => {
                    node.line = line;
                    all.insert(name, node);
                }
            },
        }
        Ok(())
    }

    fn too_deep(&self) -> WrongLine {
        let why = format!("expected values that are nested at most {DEEPEST} deep");
        WrongLine::new(self.line, why)
    }
}

/// Adds the keys that `<<` names, except those that exist already.
fn merged(mut all: BTreeMap<String, YamlNode>) -> BTreeMap<String, YamlNode> {
    let Some(under) = all.remove("<<") else { return all };
    let under = match under.value {
        YamlValue::List(several) => several,
        value => vec![YamlNode { value, ..under }],
    };
    for node in under {
        if let YamlValue::Map(more) = node.value {
            for (key, value) in more {
                all.entry(key).or_insert(value);
            }
        }
    }
    all
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> YamlValue {
    let is_null = matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
    match style {
        ScalarStyle::Plain if is_null => YamlValue::Null,
        _ => YamlValue::Text(text.into_owned(), style == ScalarStyle::Literal),
    }
}
