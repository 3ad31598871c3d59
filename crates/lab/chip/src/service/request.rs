//! The sizes of requests.

use rand_distr::weighted::WeightedIndex;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

/// The requests of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// Mean instructions of a request, on the policy's scale; on the chip's scale at least 10.
    pub instructions: f64,
    /// The distribution of sizes.
    pub sizes: RequestSizes,
}

/// The distribution of requests' sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestSizes {
    /// All equal.
    Equal,
    /// Log-normal, with this coefficient of variation, 0 to 100.
    LogNormal(f64),
    /// A set of kinds, at least one.
    Kinds(Vec<RequestKind>),
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestKind {
    /// Its share of the requests, relative to the other kinds; above 0.
    pub share: f64,
    /// The size of its requests, relative to the other kinds; above 0.
    pub size: f64,
}

impl Requests {
    /// The coefficient of variation of the sizes: the standard deviation over the mean.
    #[must_use]
    pub fn variation(&self) -> f64 {
        match &self.sizes {
            RequestSizes::Equal => 0.0,
            RequestSizes::LogNormal(variation) => *variation,
            RequestSizes::Kinds(kinds) => {
                let mean = mean(kinds, |size| size);
                (mean_square(kinds) / (mean * mean) - 1.0).max(0.0).sqrt()
            }
        }
    }

    /// Checks that the requests are possible. The error names the expected value.
    pub(crate) fn check(&self, time_scale: u32) -> Result<(), &'static str> {
        if self.instructions / f64::from(time_scale) < LEAST_INSTRUCTIONS {
            return Err("at least 10 instructions of a request on the chip's scale of time");
        }
        if !(LEAST_INSTRUCTIONS..=MOST_INSTRUCTIONS).contains(&self.instructions) {
            return Err("10 to 1e15 instructions of a request");
        }
        match &self.sizes {
            RequestSizes::LogNormal(variation) if !(0.0..=100.0).contains(variation) => {
                Err("a coefficient of variation from 0 to 100")
            }
            RequestSizes::Kinds(kinds)
                if kinds.is_empty()
                    || !kinds
                        .iter()
                        .all(|kind| is_positive(kind.share) && is_positive(kind.size)) =>
            {
                Err("kinds of requests with shares and sizes above 0")
            }
            _ => Ok(()),
        }
    }

    /// A generator of sizes in instructions of the chip, which are `time_scale` times fewer. The
    /// requests were checked.
    pub(super) fn sizes(&self, time_scale: u32) -> SizeDraw {
        let mean = self.instructions / f64::from(time_scale);
        match &self.sizes {
            RequestSizes::Equal => SizeDraw::Equal(mean),
            RequestSizes::LogNormal(variation) => LogNormal::from_mean_cv(mean, *variation)
                .map_or(SizeDraw::Equal(mean), SizeDraw::LogNormal),
            RequestSizes::Kinds(kinds) => {
                let unit = mean / self::mean(kinds, |size| size);
                let sizes = kinds.iter().map(|kind| kind.size * unit).collect();
                let shares = WeightedIndex::new(kinds.iter().map(|kind| kind.share));
                shares.map_or(SizeDraw::Equal(mean), |shares| SizeDraw::Kinds(shares, sizes))
            }
        }
    }
}

/// With fewer instructions, rounding would matter.
const LEAST_INSTRUCTIONS: f64 = 10.0;

/// A request of more instructions takes weeks.
const MOST_INSTRUCTIONS: f64 = 1e15;

fn is_positive(number: f64) -> bool {
    number > 0.0 && number <= 1e9
}

fn mean(kinds: &[RequestKind], value: impl Fn(f64) -> f64) -> f64 {
    let all: f64 = kinds.iter().map(|kind| kind.share).sum();
    kinds.iter().map(|kind| kind.share * value(kind.size)).sum::<f64>() / all
}

fn mean_square(kinds: &[RequestKind]) -> f64 {
    mean(kinds, |size| size * size)
}

/// A generator of sizes.
#[derive(Clone, Debug)]
pub(super) enum SizeDraw {
    Equal(f64),
    LogNormal(LogNormal<f64>),
    Kinds(WeightedIndex<f64>, Vec<f64>),
}

impl SizeDraw {
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
        let kinds = kinds.map(|(share, size)| RequestKind { share, size }).to_vec();
        for sizes in [RequestSizes::Equal, RequestSizes::LogNormal(0.7), RequestSizes::Kinds(kinds)]
        {
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

    fn kind(share: f64, size: f64) -> RequestSizes {
        RequestSizes::Kinds(vec![RequestKind { share, size }])
    }

    #[test]
    fn requests_that_can_not_be_are_refused() {
        for (instructions, sizes) in [
            (0.0, RequestSizes::Equal),
            (f64::NAN, RequestSizes::Equal),
            (1e6, RequestSizes::LogNormal(-1.0)),
            (1e6, RequestSizes::Kinds(Vec::new())),
            (1e6, kind(0.0, 1.0)),
            (1e6, kind(1.0, f64::INFINITY)),
        ] {
            let requests = Requests { instructions, sizes };
            assert!(requests.check(1).is_err(), "{requests:?}");
        }
    }
}
