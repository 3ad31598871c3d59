//! A part of a sweep's points.

/// The points whose number leaves this remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// All points.
    pub(crate) const ALL: Self = Self { number: 0, of: 1 };

    /// Whether it has the point with this number.
    #[must_use]
    pub(crate) const fn has(self, point: usize) -> bool {
        point % self.of == self.number
    }
}

/// Reads a shard: `2/8` is the second of eight. For what counts from 0, `0/8` is the eighth.
///
/// # Errors
/// If it is no such fraction: what was expected.
pub(crate) fn shard(text: &str) -> Result<Shard, String> {
    match text.split_once('/').map(|(number, of)| (number.parse::<usize>(), of.parse())) {
        Some((Ok(number), Ok(of))) if of > 0 && number <= of => {
            Ok(Shard { number: (number + of - 1) % of, of })
        }
        _ => Err(format!("expected a part such as 1/8, the first of eight, found {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_out_every_point_once() {
        for first in [0, 1] {
            let shards: Vec<Shard> =
                (first..first + 3).map(|n| shard(&format!("{n}/3")).unwrap()).collect();
            for point in 0..10 {
                assert_eq!(shards.iter().filter(|shard| shard.has(point)).count(), 1);
            }
        }
        assert!(shard("1/3").unwrap().has(0) && Shard::ALL.has(7));
        for text in ["4/3", "1", "a/b", "-1/2", "1/0", "0/0"] {
            assert!(shard(text).unwrap_err().contains(text), "{text}");
        }
    }
}
