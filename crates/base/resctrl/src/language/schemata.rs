//! What `schemata` and `size` say.

use std::fmt;

use fairways_core::WayMask;

use super::{LanguageError, by_domain, plain};

/// What one domain of a resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Of a cache: the ways that may be filled.
    Mask(WayMask),
    /// Of memory bandwidth: percent, MiB/s, or an eighth of a GB/s, as the resource counts. In
    /// `size`, of a cache: bytes.
    Number(u32),
}

/// One resource's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// `L3`, `L3CODE`, `L3DATA`, `L2`, ..., `MB`, `SMBA`.
    pub resource: String,
    /// What each domain has, by its id, ascending as the kernel prints them; ids may skip numbers.
    /// None is there where the kernel prints `uninitialized`, for a group in pseudo-locksetup.
    pub domains: Vec<(u32, Value)>,
}

impl Line {
    /// What domain `id` has.
    #[must_use]
    pub fn value(&self, id: u32) -> Option<Value> {
        self.domains.iter().find(|(of, _)| *of == id).map(|&(_, value)| value)
    }

    /// Whether the resource is a cache, whose values are masks.
    #[must_use]
    pub fn is_cache(&self) -> bool {
        names_a_cache(&self.resource)
    }
}

/// A line of a resource that is not known here: a switch, a percentage, whatever a newer kernel
/// brings. It is kept as it is: what its numbers mean is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLine {
    /// The resource's name.
    pub resource: String,
    /// The text behind the colon.
    pub text: String,
}

/// A group's file `schemata` (or, with numbers for masks, `size`): resctrl.rst, "Schemata files".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schemata {
    /// One line a known resource, in the file's order.
    pub lines: Vec<Line>,
    /// The other lines, in the file's order.
    pub unknown: Vec<UnknownLine>,
}

/// The lines of known resources, and no others.
impl From<Vec<Line>> for Schemata {
    fn from(lines: Vec<Line>) -> Self {
        Self { lines, unknown: Vec::new() }
    }
}

/// The caches that have lines, with masks.
const CACHES: [&str; 6] = ["L3", "L3CODE", "L3DATA", "L2", "L2CODE", "L2DATA"];

/// The bandwidths that have lines, with numbers.
const BANDWIDTHS: [&str; 2] = ["MB", "SMBA"];

impl Schemata {
    /// Reads a whole file `schemata`. Every name of a resource is taken; the values of one that is
    /// not known are not read.
    ///
    /// # Errors
    /// At the first thing that is not `resource:domain=value;...`, a mask in hexadecimal for a
    /// cache and a decimal number for a bandwidth.
    pub fn parse(text: &str) -> Result<Self, LanguageError> {
        Self::parse_with("schemata", text, |resource, value| {
            if names_a_cache(resource) {
                let digits = value.strip_prefix("0x").unwrap_or(value);
                let bits =
                    u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
                bits.map(|bits| Value::Mask(WayMask::from_bits(bits))).ok_or_else(|| {
                    LanguageError::new("schemata", value, "a mask of ways in hexadecimal")
                })
            } else {
                number("schemata", value)
            }
        })
    }

    /// Reads a whole file `size`: the same lines, with a cache's shares in bytes.
    ///
    /// # Errors
    /// As [`Schemata::parse`].
    pub fn parse_sizes(text: &str) -> Result<Self, LanguageError> {
        Self::parse_with("size", text, |_, value| number("size", value))
    }

    fn parse_with(
        what: &'static str,
        text: &str,
        value: impl Fn(&str, &str) -> Result<Value, LanguageError>,
    ) -> Result<Self, LanguageError> {
        let (mut lines, mut unknown): (Vec<Line>, Vec<UnknownLine>) = Default::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let expected = "resource:domain=value";
            let (resource, domains) = line
                .split_once(':')
                .ok_or_else(|| LanguageError::new(what, line.trim(), expected))?;
            let (resource, domains) = (resource.trim(), domains.trim());
            if resource.is_empty() {
                return Err(LanguageError::new(what, line.trim(), expected));
            }
            if !names_a_cache(resource) && !BANDWIDTHS.contains(&resource) {
                let (resource, text) = (resource.to_owned(), domains.to_owned());
                unknown.push(UnknownLine { resource, text });
                continue;
            }
            if lines.iter().any(|line| line.resource == resource) {
                return Err(LanguageError::new(what, resource, "each resource once"));
            }
            let domains = match domains {
                "uninitialized" => Vec::new(),
                domains => by_domain(what, domains, |text| value(resource, text))?,
            };
            lines.push(Line { resource: resource.to_owned(), domains });
        }
        Ok(Self { lines, unknown })
    }

    /// The line of `resource`.
    #[must_use]
    pub fn line(&self, resource: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.resource == resource)
    }
}

/// As it is written: a mask in hexadecimal, a number in decimal digits.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mask(mask) => write!(f, "{:x}", mask.bits()),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// As it is written: `L3:0=7ff;1=3`, without the end of the line.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.resource)?;
        for (at, (id, value)) in self.domains.iter().enumerate() {
            let separator = if at == 0 { "" } else { ";" };
            write!(f, "{separator}{id}={value}")?;
        }
        Ok(())
    }
}

/// As it is read: the text is that of the file.
impl fmt::Display for UnknownLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.resource, self.text)
    }
}

/// As it is written to a file: every line ended, none padded, those of unknown resources last. A
/// resource without a value is left out, since the kernel takes no line without one.
impl fmt::Display for Schemata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.lines.iter().filter(|line| !line.domains.is_empty());
        lines.try_for_each(|line| writeln!(f, "{line}"))?;
        let mut unknown = self.unknown.iter().filter(|line| !line.text.is_empty());
        unknown.try_for_each(|line| writeln!(f, "{line}"))
    }
}

fn number(what: &'static str, text: &str) -> Result<Value, LanguageError> {
    plain(text).map(Value::Number).ok_or_else(|| LanguageError::new(what, text, "a number"))
}

fn names_a_cache(resource: &str) -> bool {
    CACHES.contains(&resource)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "    MB:0=100;16=4294967295\nL3DATA:0=fffff;16=00003\nL3CODE:0=1;16=0\n";

    #[test]
    fn the_kernels_own_form_is_read() {
        let schemata = Schemata::parse(FILE).expect("as the kernel prints it");
        let names: Vec<&str> = schemata.lines.iter().map(|line| line.resource.as_str()).collect();
        assert_eq!(names, ["MB", "L3DATA", "L3CODE"]);
        let data = schemata.line("L3DATA").expect("a line");
        assert_eq!(data.value(16), Some(Value::Mask(WayMask::from_bits(3))));
        assert_eq!(data.value(1), None, "ids may skip numbers");
        assert!(data.is_cache());
        let bandwidth = schemata.line("MB").expect("a line");
        assert_eq!(bandwidth.value(16), Some(Value::Number(u32::MAX)), "unlimited under mba_MBps");
        assert!(!bandwidth.is_cache());
        assert_eq!(
            schemata.to_string(),
            "MB:0=100;16=4294967295\nL3DATA:0=fffff;16=3\nL3CODE:0=1;16=0\n"
        );
    }

    #[test]
    fn sizes_are_bytes() {
        let sizes = Schemata::parse_sizes("    L3:0=5592404;1=16777212\n")
            .expect("as the kernel prints it");
        assert_eq!(sizes.lines[0].value(0), Some(Value::Number(5_592_404)));
    }

    #[test]
    fn a_group_about_to_be_locked_has_no_mask_yet() {
        let schemata = Schemata::parse("    L3:uninitialized\n").expect("as the kernel prints it");
        assert_eq!(schemata.lines[0].domains, []);
        assert_eq!(schemata.to_string(), "", "the kernel refuses a line without values");
    }

    /// A switch, a percentage, a word, what looks like a cache's name or begins like a bandwidth's,
    /// a line twice.
    #[test]
    fn lines_of_unknown_resources_are_kept_as_they_are() {
        let file = "    MB:0=100\n MB_HLIM:0=0;1=1\n  L3_MAX:0=100\nL3:0=f\nL4:0=zz\n\
                    MBA:0=low;1=12.5 %\nX:\nL3_MAX:1=50\n";
        let schemata = Schemata::parse(file).expect("a newer kernel's");
        let known: Vec<String> = schemata.lines.iter().map(Line::to_string).collect();
        assert_eq!(known, ["MB:0=100", "L3:0=f"]);
        let unknown: Vec<String> = schemata.unknown.iter().map(UnknownLine::to_string).collect();
        let expected = [
            "MB_HLIM:0=0;1=1",
            "L3_MAX:0=100",
            "L4:0=zz",
            "MBA:0=low;1=12.5 %",
            "X:",
            "L3_MAX:1=50",
        ];
        assert_eq!(unknown, expected);
        let written: Vec<&str> = expected.into_iter().filter(|line| *line != "X:").collect();
        assert_eq!(schemata.to_string(), format!("MB:0=100\nL3:0=f\n{}\n", written.join("\n")));
        let sizes = Schemata::parse_sizes("L3:0=100\nL3_MAX:0=all\n").expect("likewise");
        assert_eq!((sizes.lines.len(), sizes.unknown.len()), (1, 1));
    }

    #[test]
    fn errors_name_the_text() {
        for (text, error) in [
            ("L3\n", "schemata `L3`: expected resource:domain=value"),
            ("L3:0\n", "schemata `0`: expected domain=value, separated by `;`"),
            ("L3:0=g\n", "schemata `g`: expected a mask of ways in hexadecimal"),
            ("MB:0=f\n", "schemata `f`: expected a number"),
            ("L3:0=f;0=f\n", "schemata `0=f`: expected each domain once"),
            (":0=f\n", "schemata `:0=f`: expected resource:domain=value"),
            ("L3:0=f\nL3:1=f\n", "schemata `L3`: expected each resource once"),
            ("L3:+0=f\n", "schemata `+0=f`: expected domain=value, separated by `;`"),
            ("L3:0=+f\n", "schemata `+f`: expected a mask of ways in hexadecimal"),
            ("MB:0=+5\n", "schemata `+5`: expected a number"),
            ("L3:0=fffffffff\n", "schemata `fffffffff`: expected a mask of ways in hexadecimal"),
        ] {
            assert_eq!(Schemata::parse(text).expect_err(text).to_string(), error);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_read_again(text in "(.{0,60}|[L3MBC:=;0-9a-fx \n]{0,60})") {
            if let Ok(schemata) = Schemata::parse(&text) {
                let again = Schemata::parse(&schemata.to_string()).expect("what was printed");
                prop_assert_eq!(again.to_string(), schemata.to_string());
            }
        }
    }
}
