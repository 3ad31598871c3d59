//! Colours, where they are wanted: all that they show is shown by letters as well.

use ratatui::style::{Color, Modifier, Style};

/// Whether there are colours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colours {
    pub(super) wanted: bool,
}

/// The clusters' colours, in order; they repeat.
const CLUSTERS: [Color; 6] =
    [Color::Cyan, Color::Green, Color::Yellow, Color::Magenta, Color::Blue, Color::LightRed];

impl Colours {
    fn with(self, style: Style, colour: Color) -> Style {
        if self.wanted { style.fg(colour) } else { style }
    }

    /// The style of a cluster, or of a program in none.
    pub(super) fn cluster(self, cluster: Option<usize>) -> Style {
        match cluster {
            Some(cluster) => self.with(Style::new(), CLUSTERS[cluster % CLUSTERS.len()]),
            None => self.quiet(),
        }
    }

    /// The style of frames and hints.
    pub(super) fn quiet(self) -> Style {
        self.with(Style::new(), Color::DarkGray)
    }

    /// The style of what matters most.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The style of a good value.
    pub(super) fn good(self) -> Style {
        self.with(Style::new(), Color::Green)
    }

    /// The style of a bad value.
    pub(super) fn bad(self) -> Style {
        self.with(self.strong(), Color::Red)
    }

    /// The style of the selected row.
    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
