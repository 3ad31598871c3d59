//! Lays spans of ways side by side, with given widths.
//!
//! A program that loses a way loses its lines there. A free way keeps the lines of the program that
//! had it last, which still hits them. So masks move as little as possible, free ways lie between
//! the spans that may grow, and the spans of programs with the fewest ways make room for the
//! others.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{AppId, WayMask};

/// The occupant of a span: a program, by its id, or all programs that have no ways of their own.
pub(crate) type Occupant = Option<AppId>;

/// A span that an occupant is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedSpan {
    pub(crate) occupant: Occupant,
    pub(crate) ways: u32,
    /// Whether it can be moved at no cost.
    pub(crate) is_light: bool,
}

/// Spans of ways side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout(Vec<Span>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    occupant: Occupant,
    from: u32,
    ways: u32,
}

impl Span {
    fn mask(&self) -> WayMask {
        WayMask::span(self.from, self.ways)
    }

    /// Whether it lies within the first `ways` ways and overlaps none of these spans.
    fn fits(&self, ways: u32, laid: &[Self]) -> bool {
        self.from + self.ways <= ways
            && !laid.iter().any(|other| other.mask().overlaps(self.mask()))
    }

    /// The ways between it and the nearest of these spans; 0 if there is none.
    fn gap_to_nearest(&self, others: &[Self]) -> u32 {
        let gaps = others.iter().map(|other| {
            let (end, other_end) = (self.from + self.ways, other.from + other.ways);
            other.from.saturating_sub(end).max(self.from.saturating_sub(other_end))
        });
        gaps.min().unwrap_or(0)
    }
}

impl Layout {
    /// Lays spans of these widths, which fit into `ways` ways together.
    pub(crate) fn arrange(&mut self, ways: u32, wanted: &[WantedSpan]) {
        let heavy = wanted.iter().filter(|one| !one.is_light).map(|one| SpanToLay {
            occupant: one.occupant,
            ways: one.ways,
            old: self.find(one.occupant),
        });
        let (mut order, new): (Vec<SpanToLay>, Vec<SpanToLay>) =
            heavy.partition(|span| span.old.is_some());
        order.sort_by_key(|span| span.old.map(|old| old.from));
        for span in new {
            // Insert it where the most ways of the others stay and there is room for it.
            let best = (0..=order.len())
                .max_by_key(|&index| (score_with(&order, index, span, ways), Reverse(index)));
            order.insert(best.unwrap_or(order.len()), span);
        }
        let light: Vec<Span> = wanted
            .iter()
            .filter(|one| one.is_light)
            .map(|one| Span {
                from: self.find(one.occupant).map_or(ways, |span| span.from),
                occupant: one.occupant,
                ways: one.ways,
            })
            .collect();
        let scattered = spans(&order, ways).and_then(|spans| scatter(spans, ways, &light));
        self.0 = scattered.unwrap_or_else(|| {
            // The light spans are too wide for the gaps: all of them go to the top.
            let room: u32 = ways - light.iter().map(|span| span.ways).sum::<u32>().min(ways);
            let mut all = spans(&order, room).unwrap_or_default();
            let mut from = room;
            for span in light {
                all.push(Span { from, ..span });
                from += span.ways;
            }
            all
        });
    }

    /// The mask of an occupant whose span was laid.
    pub(crate) fn mask(&self, occupant: Occupant) -> WayMask {
        self.find(occupant).map_or_else(WayMask::default, |span| span.mask())
    }

    fn find(&self, occupant: Occupant) -> Option<Span> {
        self.0.iter().find(|span| span.occupant == occupant).copied()
    }
}

/// The score of this order with another span inserted at `index`; `None` if the spans do not fit.
fn score_with(order: &[SpanToLay], index: usize, span: SpanToLay, ways: u32) -> Option<Score> {
    let mut order = order.to_vec();
    order.insert(index, span);
    lay(&order, ways).map(|(score, _)| score)
}

/// Lays spans in this order within `ways` ways with the best score; `None` if they do not fit.
fn spans(order: &[SpanToLay], ways: u32) -> Option<Vec<Span>> {
    let (_, starts) = lay(order, ways)?;
    let spans = order.iter().zip(starts).map(|(span, from)| Span {
        occupant: span.occupant,
        from,
        ways: span.ways,
    });
    Some(spans.collect())
}

/// Adds light spans where there is room: at their old places, or as far from the heavy ones as
/// possible. `None` if there is no room.
fn scatter(heavy: Vec<Span>, ways: u32, light: &[Span]) -> Option<Vec<Span>> {
    let mut laid = heavy.clone();
    let (stay, go): (Vec<Span>, Vec<Span>) = light.iter().partition(|span| span.fits(ways, &laid));
    laid.extend(stay);
    for span in go {
        let places = (0..ways).map(|from| Span { from, ..span });
        let places = places.filter(|place| place.fits(ways, &laid));
        let place = places.max_by_key(|place| (place.gap_to_nearest(&heavy), place.from))?;
        laid.push(place);
    }
    Some(laid)
}

/// A span to be laid, and its old place.
#[derive(Clone, Copy, Debug)]
struct SpanToLay {
    occupant: Occupant,
    ways: u32,
    old: Option<Span>,
}

impl SpanToLay {
    /// How many of its ways stay if it begins at `from`.
    fn stays(&self, from: u32) -> u32 {
        let Some(old) = self.old else { return 0 };
        let end = (from + self.ways).min(old.from + old.ways);
        end.saturating_sub(from.max(old.from))
    }
}

/// How good an arrangement is: first the ways that stay, then how even the gaps are (the sum of
/// their squares).
type Score = (u32, Reverse<u32>);

/// Where spans in this order begin, within `ways` ways, to get the best score; `None` if they do
/// not fit.
fn lay(order: &[SpanToLay], ways: u32) -> Option<(Score, Vec<u32>)> {
    // At [i][e]: the best score of the first i spans if they end at e.
    let stride = ways as usize + 1;
    let mut best: Vec<Option<Score>> = vec![None; stride * (order.len() + 1)];
    best[0] = Some((0, Reverse(0)));
    for (index, span) in order.iter().enumerate() {
        let (done, next) = best.split_at_mut((index + 1) * stride);
        let before = &done[index * stride..];
        for from in 0..=ways.checked_sub(span.ways)? {
            let here = (0..=from).filter_map(|end| {
                let (stay, Reverse(gaps)) = before[end as usize]?;
                let gap = from - end;
                Some((stay + span.stays(from), Reverse(gaps + gap * gap)))
            });
            next[(from + span.ways) as usize] = here.max();
        }
    }
    let last = &best[order.len() * stride..];
    let whole = (0..).zip(last).filter_map(|(end, &slot)| {
        let (stay, Reverse(gaps)) = slot?;
        let gap: u32 = ways - end;
        Some(((stay, Reverse(gaps + gap * gap)), end))
    });
    let (score, end) = whole.max_by_key(|&(score, end)| (score, Reverse(end)))?;
    // Walk back from the last span: each ends where the score of the rest is reached.
    let mut starts = vec![0; order.len()];
    let (mut end, mut rest) = (end, score);
    let gap = ways - end;
    rest.1 = Reverse(rest.1.0 - gap * gap);
    for (index, span) in order.iter().enumerate().rev() {
        let from = end - span.ways;
        starts[index] = from;
        let before = &best[index * stride..][..stride];
        end = (0..=from).find(|&end| {
            before[end as usize].is_some_and(|(stay, Reverse(gaps))| {
                let gap = from - end;
                (stay + span.stays(from), Reverse(gaps + gap * gap)) == rest
            })
        })?;
        rest = before[end as usize]?;
    }
    Some((score, starts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays spans of these programs and ways, where programs from 10 on are light; the programs'
    /// first and number of ways.
    fn arrange(layout: &mut Layout, ways: u32, wanted: &[(u32, u32)]) -> Vec<(u32, u32, u32)> {
        let wanted: Vec<WantedSpan> = wanted
            .iter()
            .map(|&(app, ways)| WantedSpan {
                occupant: Some(AppId(app % 10)),
                ways,
                is_light: app >= 10,
            })
            .collect();
        layout.arrange(ways, &wanted);
        let spans = layout.0.iter().map(|span| (span.occupant.unwrap().0, span.from, span.ways));
        let mut spans: Vec<_> = spans.collect();
        spans.sort_unstable();
        spans
    }

    #[test]
    fn what_may_grow_has_room_and_what_is_light_makes_way() {
        let mut layout = Layout::default();
        let mut lay = |wanted: &[(u32, u32)]| arrange(&mut layout, 12, wanted);
        let all_light = lay(&[(10, 1), (11, 1), (12, 1)]);
        assert_eq!(all_light, [(0, 11, 1), (1, 10, 1), (2, 9, 1)]);
        // Its new span contains its old one.
        assert_eq!(lay(&[(0, 3), (11, 1), (12, 1)]), [(0, 9, 3), (1, 0, 1), (2, 1, 1)]);
        assert_eq!(lay(&[(0, 3), (1, 3), (12, 1)]), [(0, 9, 3), (1, 0, 3), (2, 6, 1)]);
        assert_eq!(lay(&[(0, 1), (1, 3), (2, 3)]), [(0, 9, 1), (1, 0, 3), (2, 4, 3)]);
        assert_eq!(lay(&[(0, 3), (1, 5), (12, 1)]), [(0, 7, 3), (1, 0, 5), (2, 11, 1)]);
    }

    #[test]
    fn what_is_wide_and_light_finds_room_too() {
        let mut layout = Layout::default();
        // In the second mix, a gap of one way on either side is too narrow.
        let mixes: [(u32, &[(u32, u32)]); 3] = [
            (7, &[(0, 3), (11, 2), (12, 2)]),
            (6, &[(0, 2), (11, 2), (12, 2)]),
            (7, &[(0, 3), (11, 4)]),
        ];
        for (ways, wanted) in mixes {
            let laid = arrange(&mut layout, ways, wanted);
            let mut used = 0;
            for &(app, from, width) in &laid {
                let mask = WayMask::span(from, width).bits();
                assert!(used & mask == 0 && from + width <= ways, "{app}: {laid:?}");
                used |= mask;
            }
            assert_eq!(laid.len(), wanted.len());
        }
    }

    /// Compares with all arrangements of the spans in their order.
    #[test]
    fn no_other_arrangement_moves_fewer_ways() {
        let widths = [[2, 3, 1], [1, 5, 1], [3, 1, 3], [4, 2, 2], [1, 1, 6], [2, 2, 2]];
        for before in widths {
            for after in widths {
                let mut layout = Layout::default();
                let mut old =
                    arrange(&mut layout, 8, &[0, 1, 2].map(|app| (app, before[app as usize])));
                let mut new =
                    arrange(&mut layout, 8, &[0, 1, 2].map(|app| (app, after[app as usize])));
                old.sort_by_key(|span| span.1);
                new.sort_by_key(|span| span.1);
                let after = [0, 1, 2].map(|place| new[place].2);
                let stays = |starts: [u32; 3]| -> u32 {
                    let stay = |place: usize| {
                        let end = (starts[place] + after[place]).min(old[place].1 + old[place].2);
                        end.saturating_sub(starts[place].max(old[place].1))
                    };
                    (0..3).map(stay).sum()
                };
                let mut best = 0;
                for a in 0..8 {
                    for b in a + after[0]..8 {
                        for c in b + after[1]..=8u32.saturating_sub(after[2]) {
                            best = best.max(stays([a, b, c]));
                        }
                    }
                }
                assert_eq!(stays([new[0].1, new[1].1, new[2].1]), best, "{before:?} {after:?}");
            }
        }
    }
}
