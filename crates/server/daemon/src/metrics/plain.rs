//! The text format that came before OpenMetrics, for clients that know no other, such as
//! `promtool check metrics`.

/// The format's media type.
pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Converts a page of OpenMetrics: counters and infos get the names of their samples, infos become
/// gauges, and units and the end mark are left out.
pub(super) fn plain(page: &str) -> String {
    let mut plain = String::with_capacity(page.len());
    let mut lines = page.lines().peekable();
    let mut end = "";
    while let Some(line) = lines.next() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), Some(text)) => {
                let kind = lines.peek().and_then(|line| line.rsplit(' ').next());
                end = match kind {
                    Some("counter") => "_total",
                    Some("info") => "_info",
                    _ => "",
                };
                plain.extend(["# HELP ", name, end, " ", text, "\n"]);
            }
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let kind = if kind == "info" { "gauge" } else { kind };
                plain.extend(["# TYPE ", name, end, " ", kind, "\n"]);
            }
            (Some("#"), ..) => {}
            _ => plain.extend([line, "\n"]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_samples() {
        let page = "# HELP a_bytes What a counts.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\n\
                    a_bytes_total{x=\"# EOF\"} 3\n# HELP b Its b.\n# TYPE b info\nb_info{c=\"d e\"} 1\n\
                    # HELP c_ratio A c.\n# TYPE c_ratio gauge\nc_ratio 0.5\n# EOF\n";
        assert_eq!(
            plain(page),
            "# HELP a_bytes_total What a counts.\n# TYPE a_bytes_total counter\na_bytes_total{x=\"# EOF\"} 3\n\
             # HELP b_info Its b.\n# TYPE b_info gauge\nb_info{c=\"d e\"} 1\n\
             # HELP c_ratio A c.\n# TYPE c_ratio gauge\nc_ratio 0.5\n"
        );
    }
}
