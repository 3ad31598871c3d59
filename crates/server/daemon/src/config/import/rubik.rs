//! rubik's levels: `dynCache` of its `config.json` (`cacheConfig` in old ones).
//!
//! They limit background ("offline") pods. The annotation `volcano.sh/cache-limit` of a pod names
//! its level, and each level is a class. Nothing is promised to other pods.
//! Source: openEuler's documentation of rubik (modules.md, configuration.md).

use super::classes::ImportedClass;
use super::yaml::{WrongLine, YamlNode};
use super::{ImportedSources, SourceKind};

/// The levels that have limits: the key, and the annotation's word.
const LIMITED: [(&str, &str); 3] = [("low", "low"), ("mid", "middle"), ("high", "high")];

/// Every level.
pub(super) const LEVELS: [&str; 5] = ["low", "middle", "high", "max", "dynamic"];

/// The part of a document that is about the cache.
pub(super) fn part(document: &YamlNode) -> Option<&YamlNode> {
    let named = ["dynCache", "cacheConfig"].into_iter().find_map(|key| document.get(key));
    named.or_else(|| document.get("l3Percent").map(|_| document))
}

/// The levels of a document.
pub(super) fn read(import: &mut ImportedSources, document: &YamlNode) -> Result<(), WrongLine> {
    let Some(part) = part(document) else {
        return Err(document.wrong("dynCache", "rubik's dynCache with l3Percent"));
    };
    part.map("dynCache")?;
    if let Some(features) = document.at(&["agent", "enabledFeatures"]) {
        let features = features.list("agent.enabledFeatures")?;
        let mut names = features.iter().filter_map(YamlNode::text);
        if !names.any(|name| name.eq_ignore_ascii_case("dynCache")) {
            import.leave_out(
                part.line,
                "dynCache",
                "rubik does not enable it (agent.enabledFeatures)",
            );
            return Ok(());
        }
    }
    if part.text_of("enable") == Some("false") {
        import.leave_out(part.line, "cacheConfig", "it is not enabled");
        return Ok(());
    }
    for (key, level) in LIMITED {
        let ways = percent(part, "l3Percent", key)?;
        let bandwidth = percent(part, "memBandPercent", key)?;
        for (of, percent) in [("l3Percent", ways), ("memBandPercent", bandwidth)] {
            if let Some((line, percent)) = percent {
                let what = format!("dynCache.{of}.{key}: {percent} %");
                import.leave_out(line, &what, super::NO_FIXED_LIMIT);
            }
        }
        let line = ways.or(bandwidth).map_or(part.line, |(line, _)| line);
        add(import, level, line)?;
    }
    for level in ["max", "dynamic"] {
        add(import, level, part.line)?;
    }
    if let Some(mode) = part.get("defaultLimitMode") {
        match mode.text() {
            Some("static") => import.default_level = "max",
            Some("dynamic") => import.default_level = "dynamic",
            _ => return Err(mode.wrong("dynCache.defaultLimitMode", "static or dynamic")),
        }
    }
    for key in ["adjustInterval", "perfDuration"] {
        if let Some(value) = part.get(key) {
            value.number(&format!("dynCache.{key}"), u32::MAX)?;
            let why = "the policy decides how often it looks: its parameters are in docs/run.md";
            import.leave_out(value.line, &format!("dynCache.{key}"), why);
        }
    }
    Ok(())
}

fn add(import: &mut ImportedSources, level: &str, line: usize) -> Result<(), WrongLine> {
    let mut class = ImportedClass::new(level.to_owned(), SourceKind::Rubik, import.place(line));
    class.is_background = true;
    import.add_class(class, line)
}

fn percent(part: &YamlNode, key: &str, level: &str) -> Result<Option<(usize, u32)>, WrongLine> {
    let Some(levels) = part.get(key) else { return Ok(None) };
    levels.map(&format!("dynCache.{key}"))?;
    let Some(value) = levels.get(level) else { return Ok(None) };
    Ok(Some((value.line, value.number(&format!("dynCache.{key}.{level}"), 100)?)))
}
