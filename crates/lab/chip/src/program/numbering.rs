//! Numbers for a program's lines, from addresses.

use std::collections::HashMap;

use super::access::MOST_LINES;

/// Gives the lines of a program's address spaces the numbers that the chip knows them by.
#[derive(Clone, Debug)]
pub(super) enum Numbering {
    /// Pages are numbered in the order in which they are first touched.
    ByFirstTouch(Box<FirstTouch>),
    /// Lines that are adjacent in the address space are adjacent here.
    ByAddress,
}

#[derive(Clone, Debug)]
pub(super) struct FirstTouch {
    pages: HashMap<u64, u32>,
    /// Pages used of late, and their numbers.
    recent: Vec<(u64, u32)>,
    /// The address spaces, in the order of their first use.
    spaces: Vec<u32>,
    /// The one used last.
    space: usize,
}

/// Lines of a page, as a power of two.
const PAGE: u32 = 6;

/// Bits of a page's number in its address space, of 48-bit addresses.
const BITS: u32 = 36;

const RECENT: usize = 4096;

impl Numbering {
    pub(super) fn by_first_touch() -> Self {
        let recent = vec![(u64::MAX, 0); RECENT];
        Self::ByFirstTouch(Box::new(FirstTouch {
            pages: HashMap::new(),
            recent,
            spaces: vec![],
            space: 0,
        }))
    }

    /// The number of a line, of the address space of a process.
    #[inline]
    pub(super) fn line(&mut self, process: u32, line: u64) -> u32 {
        let number = match self {
            Self::ByFirstTouch(numbering) => {
                let page = numbering.page(process, line >> PAGE);
                u64::from(page) << PAGE | (line & ((1 << PAGE) - 1))
            }
            Self::ByAddress => line,
        };
        u32::try_from(number % MOST_LINES).unwrap_or(0)
    }
}

impl FirstTouch {
    #[inline]
    fn page(&mut self, process: u32, page: u64) -> u32 {
        if self.spaces.get(self.space) != Some(&process) {
            self.change_space(process);
        }
        let key = (self.space as u64) << BITS | page;
        let place = usize::try_from(key % RECENT as u64).unwrap_or(0);
        let (recent, number) = self.recent[place];
        if recent == key { number } else { self.look_up(key, place) }
    }

    #[cold]
    fn change_space(&mut self, process: u32) {
        let known = self.spaces.iter().position(|&other| other == process);
        self.space = known.unwrap_or(self.spaces.len());
        if known.is_none() {
            self.spaces.push(process);
        }
    }

    fn look_up(&mut self, key: u64, place: usize) -> u32 {
        let next = u32::try_from(self.pages.len()).unwrap_or(u32::MAX);
        let number = *self.pages.entry(key).or_insert(next);
        self.recent[place] = (key, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_numbered_as_they_are_touched() {
        let mut numbering = Numbering::by_first_touch();
        let far = 0x7fff_ffff_f000 >> 6;
        let lines = [(7, far + 3), (7, 64), (7, far), (8, far), (7, 65)];
        let numbers = lines.map(|(process, line)| numbering.line(process, line));
        assert_eq!(numbers, [3, 64, 0, 128, 65]);
    }

    #[test]
    fn neighbours_by_address_stay_neighbours() {
        let mut numbering = Numbering::ByAddress;
        let first = numbering.line(1, 0x1234_5678);
        assert_eq!(
            [1, 2].map(|step| numbering.line(1, 0x1234_5678 + step)),
            [first + 1, first + 2]
        );
    }
}
