//! Integers of a thousand bits, with the operations that the linear solver needs.

/// The words of the product of the solver's primes, and one more to shift into.
const WORDS: usize = 17;

/// A number that is not negative, its lowest word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide([u64; WORDS]);

impl Wide {
    pub(crate) const ZERO: Self = Self([0; WORDS]);
    pub(crate) const ONE: Self = {
        let mut words = [0; WORDS];
        words[0] = 1;
        Self(words)
    };

    /// The remainder of a division by `modulus`.
    #[expect(clippy::cast_possible_truncation, reason = "less than the modulus")]
    pub(crate) fn modulo(&self, modulus: u64) -> u64 {
        let modulus = u128::from(modulus);
        let rest =
            self.0.iter().rev().fold(0, |rest, &word| ((rest << 64) | u128::from(word)) % modulus);
        rest as u64
    }

    /// Adds `other` times `factor`.
    #[expect(clippy::cast_possible_truncation, reason = "the rest is carried")]
    pub(crate) fn add_times(&mut self, other: &Self, factor: u64) {
        let mut carry = 0;
        for (word, own) in self.0.iter_mut().zip(other.0) {
            let sum = u128::from(own) * u128::from(factor) + u128::from(*word) + carry;
            *word = sum as u64;
            carry = sum >> 64;
        }
    }

    pub(crate) fn multiply(&mut self, factor: u64) {
        let own = *self;
        *self = Self::ZERO;
        self.add_times(&own, factor);
    }

    /// Twice the number.
    fn doubled(mut self) -> Self {
        self.multiply(2);
        self
    }

    /// The number less `other`; `None` if `other` is larger.
    fn less(&self, other: &Self) -> Option<Self> {
        let (mut words, mut borrow) = (self.0, false);
        for (word, own) in words.iter_mut().zip(other.0) {
            let (once, first) = word.overflowing_sub(own);
            let (twice, second) = once.overflowing_sub(u64::from(borrow));
            (*word, borrow) = (twice, first || second);
        }
        (!borrow).then_some(Self(words))
    }

    /// The number over `divisor`, rounded to the nearest (half up); the largest `u64` if it is
    /// more. The divisor has less than 1024 bits.
    fn over(self, divisor: &Self) -> u64 {
        // The divisor times powers of two, up to 2^63.
        let mut multiples = [*divisor; 64];
        for at in 1..64 {
            multiples[at] = multiples[at - 1].doubled();
        }
        let (mut quotient, mut rest) = (0u64, self);
        for (at, multiple) in multiples.iter().enumerate().rev() {
            if let Some(left) = rest.less(multiple) {
                rest = left;
                quotient |= 1 << at;
            }
        }
        if rest.less(divisor).is_some() {
            return u64::MAX;
        }
        if rest.doubled().less(divisor).is_some() { quotient.saturating_add(1) } else { quotient }
    }
}

/// A number with a sign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed {
    negative: bool,
    size: Wide,
}

impl Signed {
    /// The representative nearest to 0 of a number modulo `modulus`, which is odd.
    pub(crate) fn around_zero(value: Wide, modulus: &Wide) -> Self {
        let negative = modulus.less(&value.doubled()).is_none();
        let size = if negative { modulus.less(&value).unwrap_or(value) } else { value };
        Self { negative, size }
    }

    /// The number over `divisor`, rounded to the nearest and saturated to an `i64`.
    pub(crate) fn over(&self, divisor: &Self) -> i64 {
        let size = self.size.over(&divisor.size);
        if self.negative == divisor.negative {
            i64::try_from(size).unwrap_or(i64::MAX)
        } else {
            0i64.checked_sub_unsigned(size).unwrap_or(i64::MIN)
        }
    }
}
