//! The number of partitions (LFOC §2.2).

/// The number of ways to divide `ways` ways among `programs` programs, at least one each: C(ways -
/// 1, programs - 1).
#[must_use]
pub fn partitionings(programs: u32, ways: u32) -> u128 {
    if programs == 0 || programs > ways { 0 } else { binomial(ways - 1, programs - 1) }
}

/// Ways to cluster `programs` programs and to give each cluster its own of `ways` ways: the sum
/// over m of S(programs, m) C(ways - 1, m - 1), S being Stirling's numbers of the second kind.
#[must_use]
pub fn clusterings(programs: u32, ways: u32) -> u128 {
    (1..=programs.min(ways)).map(|m| stirling(programs, m) * binomial(ways - 1, m - 1)).sum()
}

fn binomial(n: u32, k: u32) -> u128 {
    (0..u128::from(k)).fold(1, |product, i| product * (u128::from(n) - i) / (i + 1))
}

fn stirling(n: u32, m: u32) -> u128 {
    let mut row = vec![0; m as usize + 1];
    row[0] = 1;
    for _ in 0..n {
        for k in (1..row.len()).rev() {
            row[k] = k as u128 * row[k] + row[k - 1];
        }
        row[0] = 0;
    }
    row[m as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LFOC §2.2: 120, "more than 50K", "roughly 9M", "more than 5500M".
    #[test]
    fn the_search_space_of_the_paper() {
        assert_eq!(partitionings(8, 11), 120);
        assert_eq!(partitionings(8, 20), 50_388);
        assert_eq!(clusterings(8, 20), 9_788_801);
        assert_eq!(clusterings(11, 20), 5_616_700_277);
        assert_eq!((partitionings(5, 4), clusterings(5, 1)), (0, 1));
    }
}
