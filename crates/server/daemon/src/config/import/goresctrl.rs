//! goresctrl's configuration, which containerd, CRI-O and the resource managers of Kubernetes read.
//!
//! Partitions share the cache between them; the ways of a class are a part of its partition's.
//! Source: goresctrl's doc/rdt.md, and how its pkg/rdt/config.go resolves shares of a cache.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::{CacheMasks, ClassWays, ImportedClass, low_ways};
use super::yaml::{WrongLine, YamlNode, YamlValue};
use super::{ImportedSources, SourceKind};

/// The number of a cache, or every cache that is not named.
type CacheId = Option<u32>;

/// The largest number of a cache.
const LARGEST_ID: u32 = 127;

/// A part of a cache, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheShare {
    Percent(u32),
    /// From a percentage to another.
    PercentRange(u32, u32),
    Mask(u32),
}

/// The partitions of a document.
pub(super) fn read(import: &mut ImportedSources, document: &YamlNode) -> Result<(), WrongLine> {
    let Some(partitions) = document.get("partitions") else {
        return Err(document.wrong("partitions", "goresctrl's partitions with classes"));
    };
    let partitions = partitions.map("partitions")?;
    other_keys(import, document, "", &["options", "partitions"])?;
    for resource in ["l2", "l3", "mb"] {
        let optional = document.at(&["options", resource, "optional"]);
        if let Some(optional) = optional.filter(|of| of.text() == Some("false")) {
            let why = "Fairways starts wherever the last-level cache can be divided";
            import.leave_out(optional.line, &format!("options.{resource}.optional"), why);
        }
    }
    let mut shares = BTreeMap::new();
    for (name, partition) in partitions {
        let key = format!("partitions.{name}");
        partition.map(&key)?;
        other_keys(
            import,
            partition,
            &key,
            &["l3Allocation", "l2Allocation", "mbAllocation", "classes"],
        )?;
        if let Some(shared) = cache_shares(import, partition, &key)? {
            shares.insert(name.as_str(), (partition.line, shared));
        }
    }
    let masks = resolved(import, &shares)?;
    for (name, partition) in partitions {
        let key = format!("partitions.{name}");
        let most = bandwidth(import, partition, &key)?.unwrap_or(100);
        let Some(classes) = partition.get("classes") else { continue };
        for (class, node) in classes.map(&format!("{key}.classes"))? {
            let key = format!("{key}.classes.{class}");
            read_class(import, class, node, &key, masks.get(name.as_str()), most)?;
        }
    }
    Ok(())
}

fn read_class(
    import: &mut ImportedSources,
    name: &str,
    node: &YamlNode,
    key: &str,
    partition: Option<&CacheMasks>,
    most: u32,
) -> Result<(), WrongLine> {
    node.map(key)?;
    let known = [
        "l3Allocation",
        "l3Schema",
        "l2Allocation",
        "l2Schema",
        "mbAllocation",
        "mbSchema",
        "kubernetes",
    ];
    other_keys(import, node, key, &known)?;
    let mut class =
        ImportedClass::new(name.to_owned(), SourceKind::Goresctrl, import.place(node.line));
    let shares = cache_shares(import, node, key)?;
    class.is_exact = shares.iter().flatten().all(|(_, share)| matches!(share, CacheShare::Mask(_)));
    if let Some(partition) = partition {
        class.ways = ClassWays::Masks(within(partition, shares.as_ref(), node, key)?);
    }
    let percent = bandwidth(import, node, key)?.unwrap_or(100);
    class.bandwidth = Some(most * percent / 100).filter(|percent| *percent < 100);
    class.is_background = name.eq_ignore_ascii_case("besteffort");
    for denied in ["denyPodAnnotation", "denyContainerAnnotation"] {
        let denies = node.get("kubernetes").and_then(|of| of.get(denied));
        if let Some(denies) = denies.filter(|denies| denies.text() == Some("true")) {
            let why = "Fairways has no classes that pods choose; `kubernetes.annotations` lists the namespaces whose pods may ask for ways";
            import.leave_out(denies.line, &format!("{key}.kubernetes.{denied}"), why);
        }
    }
    match name {
        // The group of everything else.
        "" | "DEFAULT" => {
            import.confine_others(&class);
            Ok(())
        }
        _ => import.add_class(class, node.line),
    }
}

/// Names keys that goresctrl does not have.
fn other_keys(
    import: &mut ImportedSources,
    node: &YamlNode,
    key: &str,
    known: &[&str],
) -> Result<(), WrongLine> {
    for (name, value) in node.map(key)? {
        if !known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let what = format!("{key}.{name}");
            import.leave_out(value.line, what.trim_start_matches('.'), "not a key of goresctrl");
        }
    }
    Ok(())
}

/// The shares of the L3 of a partition or a class, by cache.
fn cache_shares(
    import: &mut ImportedSources,
    node: &YamlNode,
    key: &str,
) -> Result<Option<BTreeMap<CacheId, CacheShare>>, WrongLine> {
    if let Some(second) = node.get("l2Allocation").or_else(|| node.get("l2Schema")) {
        let why = "Fairways divides the last-level cache alone";
        import.leave_out(second.line, &format!("{key}.l2Allocation"), why);
    }
    let Some(value) = node.get("l3Allocation").or_else(|| node.get("l3Schema")) else {
        return Ok(None);
    };
    let key = format!("{key}.l3Allocation");
    let mut shares = BTreeMap::new();
    match &value.value {
        YamlValue::Map(caches) => {
            for (ids, of) in caches {
                let Some(ids) = cache_ids(ids) else {
                    let why = "expected the numbers of caches, such as 0,2-3, or all";
                    import.leave_out(of.line, &format!("{key}.{ids}"), why);
                    continue;
                };
                let share = unified(import, of, &format!("{key}.{}", of_caches(&ids)))?;
                shares.extend(ids.into_iter().map(|id| (id, share)));
            }
        }
        _ => {
            shares.insert(None, share(value, &key)?);
        }
    }
    Ok(Some(shares))
}

fn of_caches(ids: &BTreeSet<CacheId>) -> String {
    match ids.first() {
        Some(Some(id)) => id.to_string(),
        _ => "all".to_owned(),
    }
}

/// The share for code and data together.
fn unified(
    import: &mut ImportedSources,
    node: &YamlNode,
    key: &str,
) -> Result<CacheShare, WrongLine> {
    if !matches!(node.value, YamlValue::Map(_)) {
        return share(node, key);
    }
    if let Some(apart) = node.get("code").or_else(|| node.get("data")) {
        let why = "Fairways gives code and data the same ways: `unified` counts";
        import.leave_out(apart.line, &format!("{key}.code, data"), why);
    }
    match node.get("unified") {
        Some(both) => share(both, &format!("{key}.unified")),
        None => Err(node.wrong(&format!("{key}.unified"), "a share of the cache")),
    }
}

/// `60%`, `10-60%`, `0xf0`, or the numbers of ways: `4-7`.
fn share(node: &YamlNode, key: &str) -> Result<CacheShare, WrongLine> {
    let text = node.text().map(str::trim).unwrap_or_default();
    let share = match (text.strip_suffix('%'), text.strip_prefix("0x")) {
        (Some(percent), _) => match percent.split_once('-') {
            Some((low, high)) => percentage(low).zip(percentage(high)).and_then(|(low, high)| {
                (low <= high).then_some(CacheShare::PercentRange(low, high))
            }),
            None => percentage(percent).map(CacheShare::Percent),
        },
        (None, Some(digits)) => mask(u32::from_str_radix(digits, 16).ok()),
        (None, None) => mask(way_numbers(text)),
    };
    let expected = "a share of the cache such as \"60%\", \"0xf0\" or \"4-7\": neighbours among 32 ways at most";
    share.ok_or_else(|| node.wrong(key, expected))
}

fn percentage(text: &str) -> Option<u32> {
    text.parse().ok().filter(|percent| *percent <= 100)
}

/// A mask whose ways are neighbours.
fn mask(bits: Option<u32>) -> Option<CacheShare> {
    let bits = bits.filter(|bits| *bits != 0)?;
    let width = bits >> bits.trailing_zeros();
    (width == low_ways(width.count_ones())).then_some(CacheShare::Mask(bits))
}

/// `0-3,5` as a mask.
fn way_numbers(text: &str) -> Option<u32> {
    let mut bits = 0;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > 31 {
            return None;
        }
        bits |= low_ways(last + 1) & !low_ways(first);
    }
    Some(bits)
}

/// `all`, or `0,2-3`.
fn cache_ids(text: &str) -> Option<BTreeSet<CacheId>> {
    if text.eq_ignore_ascii_case("all") {
        return Some(BTreeSet::from([None]));
    }
    let mut ids = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > LARGEST_ID {
            return None;
        }
        ids.extend((first..=last).map(Some));
    }
    Some(ids)
}

/// The limit of memory bandwidth in percent, where it is the same for all caches.
fn bandwidth(
    import: &mut ImportedSources,
    node: &YamlNode,
    key: &str,
) -> Result<Option<u32>, WrongLine> {
    let Some(value) = node.get("mbAllocation").or_else(|| node.get("mbSchema")) else {
        return Ok(None);
    };
    let key = format!("{key}.mbAllocation");
    let mut least: Option<u32> = None;
    let per_cache = match &value.value {
        YamlValue::Map(caches) => caches.values().collect(),
        _ => vec![value],
    };
    for limits in &per_cache {
        for limit in limits.list(&key)? {
            let text = limit.text().unwrap_or_default();
            if let Some(percent) = text.strip_suffix('%').and_then(percentage) {
                least = Some(least.map_or(percent, |least| least.min(percent)));
            } else if text.strip_suffix("MBps").is_some_and(|mbps| mbps.parse::<u32>().is_ok()) {
                let why = "Fairways has no limit in MB/s for a program";
                import.leave_out(limit.line, &format!("{key}: {text}"), why);
            } else {
                return Err(limit.wrong(&key, "limits such as [\"50%\", \"1000MBps\"]"));
            }
        }
    }
    if per_cache.len() > 1 {
        let why = "Fairways does not distinguish caches: the lowest counts";
        import.leave_out(value.line, &key, why);
    }
    Ok(least)
}

/// The masks of the partitions, by cache. Where they are shares, the smallest partition is rounded
/// first, and the largest gets the rest; they lie beside each other in the order of their names.
fn resolved<'p>(
    import: &mut ImportedSources,
    shares: &BTreeMap<&'p str, (usize, BTreeMap<CacheId, CacheShare>)>,
) -> Result<BTreeMap<&'p str, CacheMasks>, WrongLine> {
    let caches: BTreeSet<CacheId> =
        shares.values().flat_map(|(_, shares)| shares.keys().copied()).collect();
    let mut resolved: BTreeMap<&str, CacheMasks> = BTreeMap::new();
    for cache in caches {
        let mut percents = Vec::new();
        for (name, (line, shares)) in shares {
            match shares.get(&cache).or_else(|| shares.get(&None)) {
                Some(CacheShare::Mask(mask)) => {
                    if import.cache.ways.is_some_and(|ways| mask & !low_ways(ways) != 0) {
                        return Err(too_wide(import, *line, name, *mask));
                    }
                    resolved.entry(name).or_default().insert(cache, *mask);
                }
                Some(CacheShare::Percent(percent)) => percents.push((*name, *line, *percent)),
                Some(CacheShare::PercentRange(..)) => {
                    let why = format!(
                        "partitions.{name}.l3Allocation: expected one percentage or a mask for a partition"
                    );
                    return Err(WrongLine::new(*line, why));
                }
                None => {}
            }
        }
        for (name, mask) in in_ways(import, &percents)? {
            resolved.entry(name).or_default().insert(cache, mask);
        }
    }
    Ok(resolved)
}

fn too_wide(import: &ImportedSources, line: usize, name: &str, mask: u32) -> WrongLine {
    let ways = import.cache.ways.unwrap_or_default();
    let why = format!(
        "partitions.{name}.l3Allocation: expected at most {ways} ways, found {mask:#x}; `--ways` says how many the cache has"
    );
    WrongLine::new(line, why)
}

/// The masks of partitions whose shares are percentages.
fn in_ways<'p>(
    import: &mut ImportedSources,
    percents: &[(&'p str, usize, u32)],
) -> Result<Vec<(&'p str, u32)>, WrongLine> {
    let Some((_, line, _)) = percents.first() else { return Ok(Vec::new()) };
    let sum: u32 = percents.iter().map(|(.., percent)| percent).sum();
    if sum > 100 {
        let why =
            format!("partitions: expected at most 100 % of the cache together, found {sum} %");
        return Err(WrongLine::new(*line, why));
    }
    let Some(ways) = import.cache.ways else {
        for (name, line, percent) in percents {
            let what = format!("partitions.{name}.l3Allocation: {percent}%");
            import.leave_out(*line, &what, super::UNKNOWN_WAYS);
        }
        return Ok(Vec::new());
    };
    let mut granted: BTreeMap<&str, u32> = BTreeMap::new();
    let mut smallest_first: Vec<(u32, &str)> =
        percents.iter().map(|(name, _, percent)| (*percent, *name)).collect();
    smallest_first.sort_unstable();
    let mut free = ways;
    for (at, (percent, name)) in smallest_first.iter().enumerate() {
        if free == 0 {
            let why = format!("partitions: expected at most {ways}, one for each way");
            return Err(WrongLine::new(*line, why));
        }
        let free_percent = (free * 100 / ways).max(1);
        let share = (percent * free / free_percent).clamp(1, free);
        let share = if at + 1 == smallest_first.len() { free } else { share };
        granted.insert(name, share);
        free -= share;
    }
    let mut first = 0;
    let mut masks = Vec::new();
    for (name, ..) in percents {
        let count = granted.get(name).copied().unwrap_or_default();
        masks.push((*name, low_ways(first + count) & !low_ways(first)));
        first += count;
    }
    Ok(masks)
}

/// The masks of a class, whose shares are of its partition's ways.
fn within(
    partition: &CacheMasks,
    shares: Option<&BTreeMap<CacheId, CacheShare>>,
    node: &YamlNode,
    key: &str,
) -> Result<CacheMasks, WrongLine> {
    let mut masks = partition.clone();
    let Some(shares) = shares else { return Ok(masks) };
    let caches: BTreeSet<CacheId> = partition.keys().chain(shares.keys()).copied().collect();
    for cache in caches {
        let base = partition.get(&cache).or_else(|| partition.get(&None)).copied();
        let share = shares.get(&cache).or_else(|| shares.get(&None)).copied();
        let (Some(base), Some(share)) = (base, share) else { continue };
        let (first, width) = (base.trailing_zeros(), base.count_ones());
        let mask = match share {
            CacheShare::Percent(percent) => range(1, percent, width),
            CacheShare::PercentRange(low, high) => range(low.max(1), high, width),
            CacheShare::Mask(mask) => mask,
        };
        if mask & !low_ways(width) != 0 {
            let expected = format!("at most the {width} ways of its partition");
            return Err(node.wrong(&format!("{key}.l3Allocation ({mask:#x})"), &expected));
        }
        masks.insert(cache, mask << first);
    }
    Ok(masks)
}

/// The ways from a percentage to another of `width` ways; at least one.
const fn range(low: u32, high: u32, width: u32) -> u32 {
    let first = low.saturating_sub(1) * width / 100;
    let last = high.saturating_sub(1) * width / 100;
    low_ways(last + 1) & !low_ways(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages_masks_or_numbers_of_ways() {
        for (text, expected) in [
            ("60%", Some(CacheShare::Percent(60))),
            ("10-60%", Some(CacheShare::PercentRange(10, 60))),
            ("0xf0", Some(CacheShare::Mask(0xf0))),
            ("4-7", Some(CacheShare::Mask(0xf0))),
            ("3", Some(CacheShare::Mask(8))),
            ("0,1-2", Some(CacheShare::Mask(7))),
            ("0xffffffff", Some(CacheShare::Mask(u32::MAX))),
            ("0-31", Some(CacheShare::Mask(u32::MAX))),
            ("0x5", None),
            ("0x0", None),
            ("0x100000000", None),
            ("0-32", None),
            ("101%", None),
            ("60-10%", None),
            ("-1%", None),
            ("a lot", None),
            ("", None),
        ] {
            let node = &super::super::yaml::read(&format!("a: {text:?}")).unwrap()[0];
            assert_eq!(share(node.get("a").unwrap(), "a").ok(), expected, "{text}");
        }
    }

    #[test]
    fn shares_of_a_partition_begin_at_its_first_way() {
        assert_eq!(range(1, 100, 12), 0xfff);
        assert_eq!(range(1, 50, 8), 0xf);
        assert_eq!(range(51, 100, 8), 0xf0);
        assert_eq!(range(1, 0, 8), 1, "at least one");
    }
}
