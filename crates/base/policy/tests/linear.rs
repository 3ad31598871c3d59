//! The integer solver against exact rationals (CASC §4.2, footnote 1).

#![allow(clippy::unwrap_used)]

use fairways_policy::{least_change, solve};
use num_rational::BigRational;
use proptest::prelude::*;

fn rational(value: i64) -> BigRational {
    BigRational::from_integer(value.into())
}

/// Gauss's elimination; `None` if the matrix is singular.
fn exactly(rows: &[Vec<BigRational>], right: &[BigRational]) -> Option<Vec<BigRational>> {
    let zero = rational(0);
    let n = rows.len();
    let mut work: Vec<Vec<BigRational>> =
        rows.iter().zip(right).map(|(row, b)| row.iter().chain([b]).cloned().collect()).collect();
    for at in 0..n {
        let pivot = (at..n).find(|&row| work[row][at] != zero)?;
        work.swap(at, pivot);
        let scale = work[at][at].clone();
        work[at].iter_mut().for_each(|value| *value = &*value / &scale);
        let own = work[at].clone();
        for (_, row) in work.iter_mut().enumerate().filter(|(index, _)| *index != at) {
            let factor = row[at].clone();
            row.iter_mut().zip(&own).for_each(|(value, own)| *value = &*value - &factor * own);
        }
    }
    Some(work.into_iter().map(|mut row| row.remove(n)).collect())
}

fn rationals(rows: &[Vec<i64>]) -> Vec<Vec<BigRational>> {
    rows.iter().map(|row| row.iter().copied().map(rational).collect()).collect()
}

fn held(value: &BigRational) -> i64 {
    let [least, most] = [i64::MIN, i64::MAX].map(rational);
    // BigRational::round: half away from 0.
    value.round().clamp(least, most).to_integer().try_into().unwrap()
}

fn squares(
    values: impl Strategy<Value = i64> + Clone,
    most: usize,
) -> impl Strategy<Value = (Vec<Vec<i64>>, Vec<i64>)> {
    (0..=most).prop_flat_map(move |n| {
        let row = prop::collection::vec(values.clone(), n);
        (prop::collection::vec(row, n), prop::collection::vec(-(1i64 << 45)..1 << 45, n))
    })
}

/// What is left of the rows: each row of the first `n` + 1 threads leaves one out.
fn leaving_one_out(n: usize) -> Vec<Vec<i64>> {
    (0..=n).map(|out| (0..=n).map(|thread| i64::from(thread != out)).collect()).collect()
}

fn check(rows: &[Vec<i64>], right: &[i64]) {
    let right_exactly: Vec<BigRational> = right.iter().copied().map(rational).collect();
    let exact = exactly(&rationals(rows), &right_exactly);
    assert_eq!(solve(rows, right), exact.map(|all| all.iter().map(held).collect()));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 400, ..ProptestConfig::default()
    })]

    /// Of 0 and 1 many are singular.
    #[test]
    fn zeros_and_ones((rows, right) in squares(0i64..2, 9)) {
        check(&rows, &right);
    }

    #[test]
    fn small_coefficients((rows, right) in squares(-3i64..4, 7)) {
        check(&rows, &right);
    }

    #[test]
    fn large_coefficients((rows, right) in squares(any::<i64>(), 6)) {
        check(&rows, &right);
    }

    /// A solution has the least distance from the prior if its change is a combination of the rows:
    /// then it is at a right angle to everything that the rows do not determine.
    #[test]
    fn the_least_change(
        columns in 1usize..7,
        rows in prop::collection::vec(prop::array::uniform7(0i64..2), 0..7),
        truth in prop::array::uniform7(-(1i64 << 40)..1 << 40),
        prior in prop::array::uniform7(-(1i64 << 40)..1 << 40),
    ) {
        let rows: Vec<Vec<i64>> = rows.iter().map(|row| row[..columns].to_vec()).collect();
        let sum = |row: &[i64], of: &[i64]| row.iter().zip(of).map(|(a, b)| a * b).sum::<i64>();
        let right: Vec<i64> = rows.iter().map(|row| sum(row, &truth)).collect();
        let found = least_change(&rows, &right, &prior[..columns]).unwrap();
        for (row, right) in rows.iter().zip(&right) {
            prop_assert!((sum(row, &found) - right).abs() <= 49, "{rows:?} {found:?}");
        }
        // No nearer solution: from the found one towards the truth, the distance only grows.
        let change: Vec<i64> = found.iter().zip(&prior).map(|(a, b)| a - b).collect();
        let free: Vec<i64> = truth.iter().zip(&found).map(|(a, b)| a - b).collect();
        let angle: i128 = change.iter().zip(&free).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum();
        let largest = change.iter().chain(&free).map(|value| value.unsigned_abs()).max().unwrap();
        prop_assert!(angle.unsigned_abs() <= 400 * u128::from(largest), "{angle}");
    }
}

#[test]
fn sixty_five_unknowns_as_on_the_largest_machine() {
    for n in [1, 8, 64] {
        let rows = leaving_one_out(n);
        let truth: Vec<i64> =
            (0i64..).take(n + 1).map(|thread| ((thread * 7 % 50) << 32) | thread).collect();
        let total: i64 = truth.iter().sum();
        let right: Vec<i64> = truth.iter().map(|own| total - own).collect();
        assert_eq!(solve(&rows, &right).unwrap(), truth);
    }
}

/// A 0/1 matrix of 63 whose determinant is as large as Hadamard's bound, 2^131: it needs more than
/// 128 bits.
#[test]
fn a_determinant_as_large_as_it_can_be() {
    // Sylvester's 64 x 64 matrix without its first row and column, 1 where it is -1.
    let bit = |row: usize, column: usize| i64::from((row & column).count_ones() % 2 == 1);
    let rows: Vec<Vec<i64>> =
        (1..64).map(|row| (1..64).map(|column| bit(row, column)).collect()).collect();
    let truth: Vec<i64> = (0..63).map(|at| (at - 31) << 33).collect();
    let sum = |row: &Vec<i64>| row.iter().zip(&truth).map(|(a, b)| a * b).sum();
    let right: Vec<i64> = rows.iter().map(sum).collect();
    assert_eq!(solve(&rows, &right).unwrap(), truth);
    let off: Vec<i64> = right.iter().map(|right| right + 1).collect();
    check(&rows, &off);
}

#[test]
fn what_is_singular_or_not_square_is_not_solved() {
    assert_eq!(solve(&[vec![1, 1], vec![2, 2]], &[1, 2]), None);
    assert_eq!(solve(&[vec![1, 1]], &[1]), None);
    assert_eq!(solve(&[vec![1, 1], vec![1]], &[1, 1]), None);
    assert_eq!(solve(&[], &[]), Some(vec![]));
    // Not singular, but for the first prime.
    let prime = (1 << 61) - 1;
    assert_eq!(solve(&[vec![prime]], &[3 * prime]), Some(vec![3]));
    assert_eq!(solve(&[vec![2]], &[-3]), Some(vec![-2]));
}

#[test]
fn a_group_alone_is_shared_evenly_and_the_first_of_contradictions_counts() {
    let prior = [10, 20, 30];
    assert_eq!(least_change(&[vec![1, 1, 0]], &[40], &prior).unwrap(), [15, 25, 30]);
    assert_eq!(least_change(&[], &[], &prior).unwrap(), prior);
    let twice = [vec![1, 1, 0], vec![1, 1, 0], vec![0, 0, 1]];
    assert_eq!(least_change(&twice, &[40, 60, 3], &prior).unwrap(), [15, 25, 3]);
    assert_eq!(least_change(&[vec![1]], &[1], &prior), None);
}
