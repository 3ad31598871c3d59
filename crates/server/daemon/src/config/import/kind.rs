//! What a source is.

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// goresctrl's YAML.
    Goresctrl,
    /// koordlet's levels.
    Koordinator,
    /// rubik's levels.
    Rubik,
    /// A domain of libvirt.
    Libvirt,
    /// A resctrl file system, with the groups of pqos or any other manager.
    Resctrl,
}

impl SourceKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Goresctrl => "goresctrl",
            Self::Koordinator => "koordinator",
            Self::Rubik => "rubik",
            Self::Libvirt => "libvirt",
            Self::Resctrl => "resctrl",
        }
    }

    /// What a source of this kind has.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Goresctrl => "goresctrl's YAML with `partitions`",
            Self::Koordinator => "koordlet's levels: a NodeSLO, or `clusterStrategy`",
            Self::Rubik => "rubik's config.json with `dynCache`",
            Self::Libvirt => "a libvirt <domain>",
            Self::Resctrl => "a folder where resctrl is mounted",
        }
    }
}

/// What was expected of a source that is not known.
pub(super) fn unknown(from: Option<SourceKind>) -> String {
    match from {
        Some(from) => format!("expected {}", from.expected()),
        None => {
            let kinds = [
                SourceKind::Goresctrl,
                SourceKind::Koordinator,
                SourceKind::Rubik,
                SourceKind::Libvirt,
                SourceKind::Resctrl,
            ];
            let kinds: Vec<&str> = kinds.into_iter().map(SourceKind::expected).collect();
            format!("expected one of these: {}; or pods of Kubernetes", kinds.join("; "))
        }
    }
}
