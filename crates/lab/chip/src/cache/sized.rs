//! What sets of shared caches have in common: room for 16, 24 or 32 ways, so that loops over them
//! have a length that is known, and the ages of their lines.

/// The sets of a cache, by the number of ways that they have room for.
#[derive(Clone, Debug)]
pub(super) enum SetsBySize<Small, Medium, Large> {
    UpTo16(Vec<Small>),
    UpTo24(Vec<Medium>),
    UpTo32(Vec<Large>),
}

/// Makes the sets of a cache with this number of ways, at most 32, by an expression for any size.
macro_rules! sets_for {
    ($ways:expr, $all:expr) => {
        match $ways {
            0..=16 => SetsBySize::UpTo16($all),
            17..=24 => SetsBySize::UpTo24($all),
            _ => SetsBySize::UpTo32($all),
        }
    };
}
pub(super) use sets_for;

/// Evaluates an expression for sets of any size.
macro_rules! with_sets {
    ($sets:expr, $all:ident => $body:expr) => {
        match $sets {
            SetsBySize::UpTo16($all) => $body,
            SetsBySize::UpTo24($all) => $body,
            SetsBySize::UpTo32($all) => $body,
        }
    };
}
pub(super) use with_sets;

/// The ages of a set without lines: for each way, how many were used since.
pub(super) fn first_ages<const N: usize>(ways: usize) -> [u8; N] {
    // Ways beyond the cache's have an age that no line reaches: they are never shifted.
    core::array::from_fn(|way| match u8::try_from(way) {
        Ok(age) if way < ways => age,
        _ => u8::MAX,
    })
}

/// Makes a way the one that was used last.
#[inline]
pub(super) fn make_youngest<const N: usize>(ages: &mut [u8; N], way: usize) {
    let age = ages[way];
    for other in &mut *ages {
        *other += u8::from(*other < age);
    }
    ages[way] = 0;
}
