//! The most important keys, at the bottom.

use super::Screen;
use super::table::sorted;
use crate::view::View;

/// Draws as many hints as fit.
pub(super) fn draw(view: &View, y: u16, screen: &mut Screen<'_>) {
    let hints: Vec<String> = if view.page.is_some() {
        ["q quit", "Esc back", "↑↓ scroll"].map(str::to_owned).to_vec()
    } else {
        let play = if view.is_journal { "←→ decision" } else { "d domain" };
        vec![
            "q quit".to_owned(),
            "? help".to_owned(),
            "↑↓ select".to_owned(),
            "Enter why".to_owned(),
            sorted(view),
            "c history".to_owned(),
            "p pause".to_owned(),
            "+- speed".to_owned(),
            play.to_owned(),
        ]
    };
    let mut x = 1;
    for hint in hints {
        let length = u16::try_from(hint.chars().count()).unwrap_or(u16::MAX);
        if x + length >= screen.area.width {
            return;
        }
        let (key, does) = hint.split_once(' ').unwrap_or((&hint, ""));
        let end = screen.put(x, y, key, screen.colours.strong());
        x = screen.put(end, y, &format!(" {does}"), screen.colours.quiet()) + 2;
    }
}
