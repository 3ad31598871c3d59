//! What requests take.

use rand_distr::weighted::WeightedIndex;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

/// What the requests of a service take.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// Instructions in the mean, on the policy's clock; on the chip's, at least 10.
    pub instructions: f64,
    /// How they differ.
    pub sizes: Sizes,
}

/// How requests differ in size.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// They do not.
    Equal,
    /// Log-normally, by this coefficient of variation, 0 to 100.
    LogNormal(f64),
    /// There are some kinds of them, at least one.
    Kinds(Vec<Kind>),
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// How many are of it, relative to the other kinds; above 0.
    pub share: f64,
    /// How large they are, relative to the other kinds; above 0.
    pub size: f64,
}

impl Requests {
    /// The coefficient of variation of their sizes: the standard deviation over the mean.
    #[must_use]
    pub fn variation(&self) -> f64 {
        match &self.sizes {
            Sizes::Equal => 0.0,
            Sizes::LogNormal(variation) => *variation,
            Sizes::Kinds(kinds) => {
                let mean = mean(kinds, |size| size);
                (mean_square(kinds) / (mean * mean) - 1.0).max(0.0).sqrt()
            }
        }
    }

    /// Whether there can be such requests; if not, what must be.
    pub(crate) fn check(&self, time_scale: u32) -> Result<(), &'static str> {
        if self.instructions / f64::from(time_scale) < LEAST_INSTRUCTIONS {
            return Err("at least 10 instructions of a request on the chip's scale of time");
        }
        if !(LEAST_INSTRUCTIONS..=MOST_INSTRUCTIONS).contains(&self.instructions) {
            return Err("10 to 1e15 instructions of a request");
        }
        let is_some = |number: f64| number > 0.0 && number <= 1e9;
        match &self.sizes {
            Sizes::LogNormal(variation) if !(0.0..=100.0).contains(variation) => {
                Err("a coefficient of variation from 0 to 100")
            }
            Sizes::Kinds(kinds)
                if kinds.is_empty()
                    || !kinds.iter().all(|kind| is_some(kind.share) && is_some(kind.size)) =>
            {
                Err("kinds of requests with shares and sizes above 0")
            }
            _ => Ok(()),
        }
    }

    /// Draws sizes in instructions of the chip, on which everything takes so many times less. The requests are
    /// checked.
    pub(super) fn sizes(&self, time_scale: u32) -> Draw {
        let mean = self.instructions / f64::from(time_scale);
        match &self.sizes {
            Sizes::Equal => Draw::Equal(mean),
            Sizes::LogNormal(variation) => {
                LogNormal::from_mean_cv(mean, *variation).map_or(Draw::Equal(mean), Draw::LogNormal)
            }
            Sizes::Kinds(kinds) => {
                let unit = mean / self::mean(kinds, |size| size);
                let sizes = kinds.iter().map(|kind| kind.size * unit).collect();
                let shares = WeightedIndex::new(kinds.iter().map(|kind| kind.share));
                shares.map_or(Draw::Equal(mean), |shares| Draw::Kinds(shares, sizes))
            }
        }
    }
}

/// Of fewer, whole instructions would not do.
const LEAST_INSTRUCTIONS: f64 = 10.0;

/// A request of more instructions takes weeks.
const MOST_INSTRUCTIONS: f64 = 1e15;

fn mean(kinds: &[Kind], of: impl Fn(f64) -> f64) -> f64 {
    let all: f64 = kinds.iter().map(|kind| kind.share).sum();
    kinds.iter().map(|kind| kind.share * of(kind.size)).sum::<f64>() / all
}

fn mean_square(kinds: &[Kind]) -> f64 {
    mean(kinds, |size| size * size)
}

/// Draws sizes.
#[derive(Clone, Debug)]
pub(super) enum Draw {
    Equal(f64),
    LogNormal(LogNormal<f64>),
    Kinds(WeightedIndex<f64>, Vec<f64>),
}

impl Draw {
    /// Instructions of the next request, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are not negative; the cast saturates"
    )]
    pub(super) fn next(&self, random: &mut Pcg64Mcg) -> u64 {
        let size = match self {
            Self::Equal(mean) => *mean,
            Self::LogNormal(sizes) => sizes.sample(random),
            Self::Kinds(shares, sizes) => sizes[shares.sample(random)],
        };
        (size.round() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn sizes_have_the_mean_and_the_variation_that_they_should() {
        let kinds = [(45.0, 1.3), (43.0, 0.5), (4.0, 0.4), (4.0, 3.0), (4.0, 3.0)];
        let kinds = kinds.map(|(share, size)| Kind { share, size }).to_vec();
        for sizes in [Sizes::Equal, Sizes::LogNormal(0.7), Sizes::Kinds(kinds)] {
            let requests = Requests { instructions: 3e6, sizes };
            let (draw, mut random) = (requests.sizes(3), Pcg64Mcg::seed_from_u64(1));
            let drawn: Vec<f64> = (0..200_000).map(|_| draw.next(&mut random) as f64).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let squares: f64 = drawn.iter().map(|size| (size - mean).powi(2)).sum();
            let variation = (squares / drawn.len() as f64).sqrt() / mean;
            assert!((mean / 1e6 - 1.0).abs() < 0.01, "{requests:?}: {mean}");
            assert!((variation - requests.variation()).abs() < 0.01, "{requests:?}: {variation}");
        }
    }

    #[test]
    fn requests_that_can_not_be_are_refused() {
        let kind = |share, size| Sizes::Kinds(vec![Kind { share, size }]);
        for (instructions, sizes) in [
            (0.0, Sizes::Equal),
            (f64::NAN, Sizes::Equal),
            (1e6, Sizes::LogNormal(-1.0)),
            (1e6, Sizes::Kinds(Vec::new())),
            (1e6, kind(0.0, 1.0)),
            (1e6, kind(1.0, f64::INFINITY)),
        ] {
            let requests = Requests { instructions, sizes };
            assert!(requests.check(1).is_err(), "{requests:?}");
        }
    }
}
