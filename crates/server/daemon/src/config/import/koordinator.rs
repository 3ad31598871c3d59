//! koordlet's levels: `resource-qos-config` in the `ConfigMap` `slo-controller-config` (Alibaba's
//! is `ack-slo-config`), or a `NodeSLO`.
//!
//! Pods of one QoS class share a class of resctrl, `LSR`, `LS` or `BE`. Its ways are a range in
//! percent of the cache, whose ends are rounded up to whole ways.
//! Source: Koordinator's `ResctrlQOS` (apis/slo/v1alpha1), `DefaultResctrlQOS` and
//! `CalculateCatL3MaskValue`.

use std::collections::BTreeMap;

use super::classes::{ClassWays, ImportedClass, low_ways};
use super::yaml::{WrongLine, YamlNode};
use super::{ImportedSources, SourceKind};

/// The classes: the key, its old form, the class of resctrl, and the default end of its range.
const CLASSES: [(&str, &str, &str, u32); 3] =
    [("lsrClass", "LSR", "LSR", 100), ("lsClass", "LS", "LS", 100), ("beClass", "BE", "BE", 30)];

/// Whether a document has koordlet's levels.
pub(super) fn strategy(document: &YamlNode) -> Option<&YamlNode> {
    let spec = document.get("spec").unwrap_or(document);
    let named =
        ["clusterStrategy", "resourceQOSStrategy"].into_iter().find_map(|key| spec.get(key));
    named
        .or_else(|| CLASSES.iter().any(|(key, ..)| document.get(key).is_some()).then_some(document))
}

/// The levels of a document.
pub(super) fn read(import: &mut ImportedSources, document: &YamlNode) -> Result<(), WrongLine> {
    let Some(strategy) = strategy(document) else {
        return Err(
            document.wrong("clusterStrategy", "koordlet's classes lsrClass, lsClass, beClass")
        );
    };
    strategy.map("clusterStrategy")?;
    for (key, old, name, end) in CLASSES {
        if let Some(class) = strategy.get(key).or_else(|| strategy.get(old)) {
            read_class(import, class, key, name, end)?;
        }
    }
    if let Some(system) = strategy.at(&["systemClass", "resctrlQOS"]).filter(|of| is_enabled(of)) {
        let why = "Fairways limits what it does not manage by `resctrl.confine_others` alone";
        import.leave_out(system.line, "systemClass.resctrlQOS", why);
    }
    if let Some(nodes) = document.get("nodeStrategies") {
        for node in nodes.list("nodeStrategies")? {
            let name = node.text_of("name").unwrap_or_default();
            let why = "it is for some nodes: import its classes there, as a file of their own";
            import.leave_out(node.line, &format!("nodeStrategies: {name}"), why);
        }
    }
    Ok(())
}

fn is_enabled(resctrl: &YamlNode) -> bool {
    resctrl.text_of("enable") == Some("true")
}

fn read_class(
    import: &mut ImportedSources,
    class: &YamlNode,
    key: &str,
    name: &str,
    default_end: u32,
) -> Result<(), WrongLine> {
    class.map(key)?;
    let Some(resctrl) = class.get("resctrlQOS") else { return Ok(()) };
    let key = format!("{key}.resctrlQOS");
    resctrl.map(&key)?;
    if let Some(enable) =
        resctrl.get("enable").filter(|of| !matches!(of.text(), Some("true" | "false")))
    {
        return Err(enable.wrong(&format!("{key}.enable"), "true or false"));
    }
    let start = percent(resctrl, &key, "catRangeStartPercent", 0)?;
    let end = percent(resctrl, &key, "catRangeEndPercent", default_end)?;
    let bandwidth = percent(resctrl, &key, "mbaPercent", 100)?;
    if start >= end {
        let why = format!("{key}: expected a range that begins below {end} %, found {start} %");
        return Err(WrongLine::new(resctrl.line, why));
    }
    if !is_enabled(resctrl) {
        import.leave_out(resctrl.line, &key, "it is not enabled, so koordlet does not apply it");
        return Ok(());
    }
    let mut read =
        ImportedClass::new(name.to_owned(), SourceKind::Koordinator, import.place(resctrl.line));
    read.is_background = name == "BE";
    read.bandwidth = Some(bandwidth).filter(|percent| *percent < 100);
    match import.cache.ways {
        Some(ways) => {
            let [first, above] = [start, end].map(|percent| (percent * ways).div_ceil(100));
            let mask = low_ways(above) & !low_ways(first);
            read.ways = ClassWays::Masks(BTreeMap::from([(None, mask)]));
        }
        None if read.is_background => {}
        None => {
            let what = format!("{key}: {start} to {end} %");
            import.leave_out(resctrl.line, &what, super::UNKNOWN_WAYS);
        }
    }
    if read.is_background && end - start < 100 {
        let what = format!("{key}: {start} to {end} % of the cache");
        import.leave_out(resctrl.line, &what, super::NO_FIXED_LIMIT);
    }
    import.add_class(read, resctrl.line)
}

fn percent(node: &YamlNode, key: &str, name: &str, default: u32) -> Result<u32, WrongLine> {
    match node.get(name) {
        Some(value) => value.number(&format!("{key}.{name}"), 100),
        None => Ok(default),
    }
}
