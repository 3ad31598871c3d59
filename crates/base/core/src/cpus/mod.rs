//! Sets of CPUs, as the kernel reads and prints them.
//!
//! Source: the kernel's lib/bitmap-str.c (`bitmap_parselist`, `bitmap_parse`) and
//! Documentation/admin-guide/kernel-parameters.rst, "cpu lists".

fn word(set: &CpuSet, at: usize) -> u64 {
    set.words.get(at).copied().unwrap_or(0)
}

fn is_end(rest: &[u8]) -> bool {
    rest.first().is_none_or(|&byte| ends(byte))
}

#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt::{self, Write as _};

/// Why the kernel refuses a text as a set of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuError {
    /// Not of the form: EINVAL.
    Malformed,
    /// A list names an impossible CPU: ERANGE.
    OutOfRange,
    /// A number too large, or a mask with more bits than possible CPUs: EOVERFLOW.
    TooLarge,
}

impl fmt::Display for CpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "is not a list or mask of CPUs",
            Self::OutOfRange => "names a CPU that does not exist",
            Self::TooLarge => "has a number or a mask that is too large",
        })
    }
}

impl Error for CpuError {}

/// A set of CPUs by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Bit `n % 64` of word `n / 64` is CPU `n`; the last word is not zero.
    words: Vec<u64>,
}

impl CpuSet {
    /// No CPU.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Adds `cpu`.
    pub fn insert(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// Takes `cpu` out; whether it was in.
    pub fn remove(&mut self, cpu: u32) -> bool {
        let was = self.contains(cpu);
        if was {
            self.words[cpu as usize / 64] &= !(1 << (cpu % 64));
            self.trim();
        }
        was
    }

    /// Whether `cpu` is in the set.
    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// Whether no CPU is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The number of CPUs in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The CPUs, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.words).flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        })
    }

    /// The CPUs of either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, |ours, theirs| ours | theirs)
    }

    /// The CPUs of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |ours, theirs| ours & theirs)
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, |ours, theirs| ours & !theirs)
    }

    /// Whether all CPUs of this set are in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    fn combine(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let len = self.words.len().max(other.words.len());
        let mut set =
            Self { words: (0..len).map(|at| with(word(self, at), word(other, at))).collect() };
        set.trim();
        set
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// A list such as `0-3,8,10-20:1/2`, as a kernel with room for `cpus` CPUs reads it: blanks and
    /// commas separate, `N` is the last CPU, `all` every one, `:used/group` takes the first `used`
    /// of every `group`. A line break right behind CPUs, but not behind a group, ends the list;
    /// elsewhere it separates like a blank (`bitmap_parse_region`).
    ///
    /// # Errors
    /// The kernel's: see [`CpuError`].
    pub fn parse_list(text: &str, cpus: u32) -> Result<Self, CpuError> {
        let mut set = Self::new();
        let mut rest = text.split('\0').next().unwrap_or("").as_bytes();
        loop {
            while rest.first().is_some_and(|&byte| ends(byte)) {
                rest = &rest[1..];
            }
            if rest.is_empty() {
                return Ok(set);
            }
            let (region, after) = Region::read(rest, cpus)?;
            region.add_to(&mut set, cpus)?;
            let Some(after) = after else { return Ok(set) };
            rest = after;
        }
    }

    /// A mask such as `ff` or `1,00000000`, groups of up to 32 bits in hexadecimal with the highest
    /// first, as a kernel with room for `cpus` CPUs reads it.
    ///
    /// The kernel's: see [`CpuError`].
    /// What the kernel says: see [`CpuError`].
    pub fn parse_mask(text: &str, cpus: u32) -> Result<Self, CpuError> {
        let mut rest = first_line(text).as_bytes();
        let mut chunks: Vec<u32> = Vec::new();
        let most = cpus.div_ceil(32) as usize;
        loop {
            while rest.last().is_some_and(|&byte| separates(byte)) {
                rest = &rest[..rest.len() - 1];
            }
            if rest.is_empty() {
                break;
            }
            if chunks.len() == most {
                return Err(CpuError::TooLarge);
            }
            let (chunk, before) = chunk_before(rest)?;
            chunks.push(chunk);
            rest = before;
        }
        let mut set = Self::new();
        for (at, chunk) in (0_u32..).zip(chunks) {
            for bit in (0..32).filter(|bit| chunk >> bit & 1 == 1) {
                set.insert(at * 32 + bit);
            }
        }
        if set.iter().any(|cpu| cpu >= cpus) { Err(CpuError::TooLarge) } else { Ok(set) }
    }

    /// The set as a list: `0-3,8`, and nothing if it is empty (the kernel's `%*pbl`).
    #[must_use]
    pub fn to_list(&self) -> String {
        let mut text = String::new();
        let mut cpus = self.iter().peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if(|&next| next == last + 1).is_some() {
                last += 1;
            }
            let comma = if text.is_empty() { "" } else { "," };
            let _ = if first == last {
                write!(text, "{comma}{first}")
            } else {
                write!(text, "{comma}{first}-{last}")
            };
        }
        text
    }

    /// The set as a mask of as many digits as `cpus` CPUs need, in groups of 32 bits (the kernel's
    /// `%*pb`).
    #[must_use]
    pub fn to_mask(&self, cpus: u32) -> String {
        let mut text = String::new();
        for chunk in (0..cpus.div_ceil(32)).rev() {
            let bits = (cpus - chunk * 32).min(32);
            let value = (0..bits)
                .filter(|bit| self.contains(chunk * 32 + bit))
                .fold(0_u32, |value, bit| value | 1 << bit);
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{value:0width$x}", width = bits.div_ceil(4) as usize);
        }
        text
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

fn first_line(text: &str) -> &str {
    text.split(['\n', '\0']).next().unwrap_or("")
}

/// The kernel's `isspace`, and the comma. It counts the no-break space of Latin-1 among the blanks.
const fn separates(byte: u8) -> bool {
    matches!(byte, b',' | b' ' | b'\t' | 0x0b | 0x0c | b'\r' | 0xa0)
}

/// What may follow CPUs in a list.
const fn ends(byte: u8) -> bool {
    byte == b'\n' || separates(byte)
}

/// `first-last:used/group`.
struct Region {
    first: u32,
    last: u32,
    used: u32,
    group: u32,
}

impl Region {
    /// Reads the first region of a list, and returns the rest, if the list goes on.
    fn read(text: &[u8], cpus: u32) -> Result<(Self, Option<&[u8]>), CpuError> {
        let (first, last, rest) = if text.len() >= 3 && text[..3].eq_ignore_ascii_case(b"all") {
            (0, cpus.wrapping_sub(1), &text[3..])
        } else {
            let (first, rest) = number(text, cpus)?;
            if is_end(rest) {
                (first, first, rest)
            } else {
                let rest = rest.strip_prefix(b"-").ok_or(CpuError::Malformed)?;
                let (last, rest) = number(rest, cpus)?;
                (first, last, rest)
            }
        };
        if is_end(rest) {
            let whole = last.wrapping_add(1);
            let rest = Some(rest).filter(|rest| !rest.starts_with(b"\n"));
            return Ok((Self { first, last, used: whole, group: whole }, rest));
        }
        let rest = rest.strip_prefix(b":").ok_or(CpuError::Malformed)?;
        let (used, rest) = number(rest, cpus)?;
        let rest = rest.strip_prefix(b"/").ok_or(CpuError::Malformed)?;
        let (group, rest) = number(rest, cpus)?;
        Ok((Self { first, last, used, group }, Some(rest)))
    }

    fn add_to(&self, set: &mut CpuSet, cpus: u32) -> Result<(), CpuError> {
        if self.first > self.last || self.group == 0 || self.used > self.group {
            return Err(CpuError::Malformed);
        }
        if self.last >= cpus {
            return Err(CpuError::OutOfRange);
        }
        for cpu in self.first..=self.last {
            if (cpu - self.first) % self.group < self.used {
                set.insert(cpu);
            }
        }
        Ok(())
    }
}

/// A decimal number, or `N` for the last CPU.
fn number(text: &[u8], cpus: u32) -> Result<(u32, &[u8]), CpuError> {
    if let Some(rest) = text.strip_prefix(b"N") {
        return Ok((cpus.wrapping_sub(1), rest));
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return Err(CpuError::Malformed);
    }
    let value = text[..digits]
        .iter()
        .try_fold(0_u32, |value, byte| value.checked_mul(10)?.checked_add(u32::from(byte - b'0')))
        .ok_or(CpuError::TooLarge)?;
    Ok((value, &text[digits..]))
}

/// The last group of hexadecimal digits of `text`, and the text before it.
///
/// As the kernel's `bitmap_get_x32_reverse`, which after eight digits swallows one character that
/// is no digit.
fn chunk_before(text: &[u8]) -> Result<(u32, &[u8]), CpuError> {
    let mut value = 0;
    let mut rest = text;
    for shift in (0..32).step_by(4) {
        let Some((&byte, before)) = rest.split_last() else { break };
        value |= char::from(byte).to_digit(16).ok_or(CpuError::Malformed)? << shift;
        rest = before;
        if rest.last().is_none_or(|&byte| separates(byte)) {
            return Ok((value, rest));
        }
    }
    match rest.split_last() {
        Some((&byte, _)) if byte.is_ascii_hexdigit() => Err(CpuError::TooLarge),
        Some((_, before)) => Ok((value, before)),
        None => Ok((value, rest)),
    }
}
