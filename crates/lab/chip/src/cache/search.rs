//! Searches of a set, which compare with all of its ways at once: that costs less than an early
//! exit.

use wide::{CmpEq, i8x16, i32x8};

use super::{DIRTY, Tag};

/// The ways that have a line, a bit each; at most 32 ways.
#[inline]
pub(super) fn ways_with(line: Tag, lines: &[Tag]) -> u32 {
    let (eights, rest) = lines.as_chunks::<8>();
    let [wanted, dirty] = [line | DIRTY, DIRTY].map(|tag| i32x8::splat(tag.cast_signed()));
    let mut found = 0;
    let mut first = 0;
    for eight in eights {
        let here = vector(eight);
        found |= (here | dirty).cmp_eq(wanted).move_mask().cast_unsigned() << first;
        first += 8;
    }
    for &here in rest {
        found |= u32::from(here | DIRTY == line | DIRTY) << first;
        first += 1;
    }
    found
}

/// Tags as they lie in memory: written out, since `map` becomes a call in builds that optimise
/// nothing across crates.
#[inline]
fn vector(&[a, b, c, d, e, f, g, h]: &[Tag; 8]) -> i32x8 {
    i32x8::new([
        a.cast_signed(),
        b.cast_signed(),
        c.cast_signed(),
        d.cast_signed(),
        e.cast_signed(),
        f.cast_signed(),
        g.cast_signed(),
        h.cast_signed(),
    ])
}

/// The ways of an age, a bit each; `N` is 16 to 32.
#[inline]
pub(super) fn ways_of_age<const N: usize>(age: u8, ages: &[u8; N]) -> u32 {
    let (Some(first), Some(last)) = (ages.first_chunk(), ages.last_chunk()) else { return 0 };
    sixteen_of_age(age, first) | sixteen_of_age(age, last) << (N - 16)
}

fn sixteen_of_age(age: u8, ages: &[u8; 16]) -> u32 {
    let ages = i8x16::new(ages.map(u8::cast_signed));
    ages.cmp_eq(i8x16::splat(age.cast_signed())).move_mask().cast_unsigned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_way_that_is_sought_is_found(
            lines in prop::collection::vec(0u32..8, 1..=32),
            ages in prop::array::uniform24(0u8..30),
            sought in 0u32..8,
        ) {
            let found = ways_with(sought, &lines);
            for (way, line) in lines.iter().enumerate() {
                prop_assert_eq!(found >> way & 1 == 1, line | DIRTY == sought | DIRTY);
            }
            prop_assert_eq!(u64::from(found) >> lines.len(), 0);
            let old = ways_of_age(ages[3], &ages);
            for (way, age) in ages.iter().enumerate() {
                prop_assert_eq!(old >> way & 1 == 1, *age == ages[3]);
            }
        }
    }
}
