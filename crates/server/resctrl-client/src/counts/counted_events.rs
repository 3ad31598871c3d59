//! The events that a mounted resctrl counts, without a client.

use std::path::Path;

/// The names of the events that the resctrl mounted at `root` counts for the caches that can be
/// partitioned; none for L2s. `None` if none is mounted there, or it can't be read.
#[must_use]
pub fn counted_events(root: &Path) -> Option<Vec<String>> {
    let info = root.join("info");
    if !info.is_dir() {
        return None;
    }
    if !["L3", "L3CODE"].iter().any(|cache| info.join(cache).is_dir()) {
        return Some(Vec::new());
    }
    match std::fs::read_to_string(info.join("L3_MON/mon_features")) {
        Ok(text) => Some(text.lines().map(|line| line.trim().to_owned()).collect()),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Some(Vec::new()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_an_l3_has_events() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(counted_events(root), None);
        fs::create_dir_all(root.join("info/L2")).unwrap();
        assert_eq!(counted_events(root), Some(Vec::new()));
        fs::create_dir_all(root.join("info/L3_MON")).unwrap();
        fs::write(root.join("info/L3_MON/mon_features"), "llc_occupancy\nmbm_total_bytes\n")
            .unwrap();
        assert_eq!(counted_events(root), Some(Vec::new()), "ways of L2s are shared out");
        fs::create_dir(root.join("info/L3")).unwrap();
        let expected = ["llc_occupancy", "mbm_total_bytes"].map(str::to_owned).to_vec();
        assert_eq!(counted_events(root), Some(expected));
        fs::remove_dir_all(root.join("info/L3_MON")).unwrap();
        assert_eq!(counted_events(root), Some(Vec::new()));
    }
}
