//! Linear systems solved in integers, exactly (CASC §4.2, footnote 1: a kernel has no floating
//! point).
//!
//! Elimination in integers overflows: determinants of 0/1 matrices of 65 unknowns take 134 bits,
//! and the intermediate values more. So the determinant and Cramer's numerators are computed modulo
//! several primes, where elimination can't overflow. Chinese remainders put them together once the
//! product of the primes exceeds twice Hadamard's bound; from there on, they are the values in the
//! integers. The only rounding is that of the quotient.

use alloc::vec;
use alloc::vec::Vec;

use crate::wide::{Signed, Wide};

/// The primes are 2^61 less these; each has more than 60 bits.
const BELOW_2_61: [u64; 16] =
    [1, 31, 45, 229, 259, 283, 339, 391, 403, 465, 531, 579, 675, 759, 799, 819];

/// Bits that each prime adds at least.
const BITS: u32 = 60;

fn primes() -> impl Iterator<Item = u64> {
    BELOW_2_61.iter().map(|less| (1 << 61) - less)
}

/// Solves as many equations as there are unknowns: for each row, the sum of its coefficients times
/// the unknowns is the number of `right`. The unknowns come out in the unit of `right`, rounded to
/// the nearest (half away from 0) and saturated to an `i64`.
///
/// `None` if the equations do not determine the unknowns, if the number of equations is not that of
/// the unknowns, or if the determinant may have more than some 900 bits; 65 unknowns with
/// coefficients 0 and 1 need at most 250.
///
/// Source: Hadamard's bound and Cramer's rule, for CASC §4.2.
#[must_use]
pub fn solve(rows: &[Vec<i64>], right: &[i64]) -> Option<Vec<i64>> {
    let n = rows.len();
    if right.len() != n || rows.iter().any(|row| row.len() != n) {
        return None;
    }
    let needed = bits(rows, right)?;
    let (mut product, mut known, mut zeros) = (Wide::ONE, 0, 0);
    // The determinant, and the numerator of each unknown by Cramer's rule.
    let mut wides = vec![Wide::ZERO; n + 1];
    for prime in primes() {
        let Some(residues) = cramer(rows, right, prime) else {
            // A number that is smaller than the product of primes that all divide it is 0.
            zeros += BITS;
            if zeros >= needed {
                return None;
            }
            continue;
        };
        let inverse = inverse(product.modulo(prime), prime);
        for (wide, residue) in wides.iter_mut().zip(residues) {
            let more = times(minus(residue, wide.modulo(prime), prime), inverse, prime);
            wide.add_times(&product, more);
        }
        product.multiply(prime);
        known += BITS;
        if known >= needed {
            let mut signed = wides.into_iter().map(|wide| Signed::around_zero(wide, &product));
            let determinant = signed.next()?;
            return Some(signed.map(|numerator| numerator.over(&determinant)).collect());
        }
    }
    None
}

/// Bits of twice the largest determinant that these columns can have, or with one of them replaced
/// by `right` (Hadamard: the product of the columns' lengths); `None` if the primes do not suffice.
fn bits(rows: &[Vec<i64>], right: &[i64]) -> Option<u32> {
    let columns = (0..rows.len()).map(|j| squared_length_bits(rows.iter().map(|row| row[j])));
    let right = squared_length_bits(right.iter().copied());
    let needed = columns.sum::<u32>().checked_add(right)?.div_ceil(2) + 2;
    (needed <= BITS * u32::try_from(BELOW_2_61.len()).unwrap_or(0)).then_some(needed)
}

/// Bits of the square of a vector's length.
fn squared_length_bits(vector: impl Iterator<Item = i64>) -> u32 {
    let sum = vector
        .fold(1u128, |sum, value| sum.saturating_add(u128::from(value.unsigned_abs()).pow(2)));
    u128::BITS - sum.leading_zeros()
}

/// The determinant and each unknown's numerator, modulo a prime; `None` if the determinant is 0
/// there.
fn cramer(rows: &[Vec<i64>], right: &[i64], prime: u64) -> Option<Vec<u64>> {
    let n = rows.len();
    let mut work: Vec<Vec<u64>> = rows
        .iter()
        .zip(right)
        .map(|(row, right)| row.iter().chain([right]).map(|&value| residue(value, prime)).collect())
        .collect();
    let mut determinant = 1;
    for at in 0..n {
        let pivot = (at..n).find(|&row| work[row][at] != 0)?;
        if pivot != at {
            work.swap(pivot, at);
            determinant = minus(0, determinant, prime);
        }
        determinant = times(determinant, work[at][at], prime);
        let inverse = inverse(work[at][at], prime);
        for value in &mut work[at][at..] {
            *value = times(*value, inverse, prime);
        }
        let row = work[at].clone();
        for (_, other) in work.iter_mut().enumerate().filter(|&(index, _)| index != at) {
            eliminate(other, &row, at, prime);
        }
    }
    let unknowns = work.iter().map(|row| times(row[n], determinant, prime));
    Some([determinant].into_iter().chain(unknowns).collect())
}

/// Subtracts from `row` the multiple of `pivot`, which is 1 at `at`, that makes `row` 0 there.
fn eliminate(row: &mut [u64], pivot: &[u64], at: usize, prime: u64) {
    let factor = row[at];
    if factor != 0 {
        for (value, own) in row[at..].iter_mut().zip(&pivot[at..]) {
            *value = minus(*value, times(factor, *own, prime), prime);
        }
    }
}

/// Solves fewer equations than unknowns, or ones that depend on each other: of all solutions, it
/// takes the one nearest to `prior` (least sum of squared changes). An equation that depends on
/// those before it is ignored, for measured numbers may contradict each other: so the more trusted
/// ones come first.
///
/// The unknowns come out in the unit of `right` and `prior`; each is off by less than one such
/// unit, times the largest coefficient, for each equation. Independence is decided modulo one
/// prime: chosen equations are independent; an ignored one depends on them, unless a determinant of
/// theirs is a multiple of 2^61 - 1. `None` if a row is not as long as `prior`, or the numbers are
/// too large ([`solve`]).
///
/// Source: the normal equations of the minimum-norm solution; CASC leaves it open (§4.2.2.1,
/// footnote 2).
#[must_use]
pub fn least_change(rows: &[Vec<i64>], right: &[i64], prior: &[i64]) -> Option<Vec<i64>> {
    if rows.len() != right.len() || rows.iter().any(|row| row.len() != prior.len()) {
        return None;
    }
    let chosen = independent(rows);
    let rows: Vec<&Vec<i64>> = chosen.iter().map(|&row| &rows[row]).collect();
    // The right sides less what the prior makes of them.
    let missing =
        rows.iter().zip(&chosen).map(|(row, &at)| right[at].checked_sub(dot(row, prior)?));
    let missing: Vec<i64> = missing.collect::<Option<_>>()?;
    let squares = rows.iter().map(|row| rows.iter().map(|other| dot(row, other)).collect());
    let squares: Vec<Vec<i64>> = squares.collect::<Option<_>>()?;
    if rows.len() == prior.len() {
        let square: Vec<Vec<i64>> = rows.into_iter().cloned().collect();
        let right: Vec<i64> = chosen.iter().map(|&at| right[at]).collect();
        return solve(&square, &right);
    }
    let shares = solve(&squares, &missing)?;
    let mut solution = Vec::with_capacity(prior.len());
    for (unknown, &value) in prior.iter().enumerate() {
        let each = rows
            .iter()
            .zip(&shares)
            .map(|(row, &share)| i128::from(row[unknown]) * i128::from(share));
        let change = each.fold(0i128, i128::saturating_add);
        solution.push(i64::try_from(change.saturating_add(i128::from(value))).ok()?);
    }
    Some(solution)
}

/// The scalar product; `None` if it does not fit.
fn dot(a: &[i64], b: &[i64]) -> Option<i64> {
    let products = a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b));
    i64::try_from(products.fold(0i128, i128::saturating_add)).ok()
}

/// The indices of the rows that do not depend on the rows before them.
fn independent(rows: &[Vec<i64>]) -> Vec<usize> {
    let prime = (1 << 61) - BELOW_2_61[0];
    let mut basis: Vec<(usize, Vec<u64>)> = Vec::new();
    let mut chosen = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let mut row: Vec<u64> = row.iter().map(|&value| residue(value, prime)).collect();
        for (at, own) in &basis {
            // A row may differ from 0 to the left of its pivot, but not at the pivots of the rows
            // before it.
            let factor = row[*at];
            if factor != 0 {
                for (value, own) in row.iter_mut().zip(own) {
                    *value = minus(*value, times(factor, *own, prime), prime);
                }
            }
        }
        if let Some(at) = row.iter().position(|&value| value != 0) {
            let inverse = inverse(row[at], prime);
            row.iter_mut().for_each(|value| *value = times(*value, inverse, prime));
            basis.push((at, row));
            chosen.push(index);
        }
    }
    chosen
}

fn residue(value: i64, prime: u64) -> u64 {
    let rest = value.unsigned_abs() % prime;
    if value < 0 { minus(0, rest, prime) } else { rest }
}

const fn minus(a: u64, b: u64, prime: u64) -> u64 {
    if a >= b { a - b } else { a + (prime - b) }
}

#[expect(clippy::cast_possible_truncation, reason = "less than a prime of 61 bits")]
const fn times(a: u64, b: u64, prime: u64) -> u64 {
    (a as u128 * b as u128 % prime as u128) as u64
}

/// The inverse of a number that is not 0, by Fermat's little theorem.
fn inverse(value: u64, prime: u64) -> u64 {
    let (mut power, mut square, mut exponent) = (1, value, prime - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = times(power, square, prime);
        }
        square = times(square, square, prime);
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Fermat's test to every base up to 40, and by division up to 2^16.
    #[test]
    fn the_primes_are_primes() {
        for prime in primes() {
            assert!(prime >> BITS == 1);
            assert!((2..1 << 16).all(|factor| prime % factor != 0), "{prime}");
            assert!((2..40).all(|base| times(base, inverse(base, prime), prime) == 1), "{prime}");
        }
        assert!(BELOW_2_61.is_sorted_by(|a, b| a < b));
    }
}
