//! libvirt's domains: `<cachetune>` and `<memorytune>` of `virsh dumpxml`.
//!
//! libvirt gives each `<cachetune>` ways that no other has, as many as its size takes.
//! Source: libvirt's formatdomain ("CPU Tuning"), and how it names a machine for systemd
//! (`virDomainDriverGenerateMachineName`, `virSystemdMakeScopeName`).

use std::collections::BTreeMap;

use fairways_programs::Selector;
use roxmltree::{Document, Node, ParsingOptions};

use super::classes::{ClassMember, ClassWays, ImportedClass};
use super::yaml::WrongLine;
use super::{ImportedSources, SourceKind};

/// How many elements and texts there may be.
const MOST_NODES: u32 = 500_000;
/// How much of a machine's name is sure to be in the name of its unit.
const SURE: usize = 40;

/// Reads a domain, or a domain's state as libvirt keeps it in /run.
pub(super) fn read(import: &mut ImportedSources, text: &str) -> Result<(), WrongLine> {
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = usize::try_from(error.pos().row).unwrap_or_default();
        WrongLine::new(line, format!("expected XML: {error}"))
    })?;
    import.line_starts = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let root = document.root_element();
    match root.tag_name().name() {
        "domain" => domain(import, root),
        "domstatus" | "domains" => {
            let mut domains = root.children().filter(|child| child.has_tag_name("domain"));
            domains.try_for_each(|child| domain(import, child))
        }
        other => {
            let why = format!("expected a libvirt <domain>, found <{other}>");
            Err(WrongLine::new(line(root), why))
        }
    }
}

/// The line of an element that is wrong. It is counted from the beginning.
fn line(node: Node<'_, '_>) -> usize {
    let at = node.document().text_pos_at(node.range().start);
    usize::try_from(at.row).unwrap_or_default()
}

/// The child of a name.
fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.has_tag_name(name))
}

fn domain(import: &mut ImportedSources, node: Node<'_, '_>) -> Result<(), WrongLine> {
    let name = child(node, "name").and_then(|name| name.text()).map(str::trim).unwrap_or_default();
    if name.is_empty() {
        return Err(WrongLine::new(line(node), "domain: expected a <name>"));
    }
    let vcpus = child(node, "vcpu").and_then(|vcpu| vcpu.text()?.trim().parse::<usize>().ok());
    let Some(tune) = child(node, "cputune") else {
        import.leave_out(
            import.line_at(node.range().start),
            name,
            "it has no <cputune>, so no ways",
        );
        return Ok(());
    };
    let mut class = ImportedClass::new(
        name.to_owned(),
        SourceKind::Libvirt,
        import.place(import.line_at(node.range().start)),
    );
    class.is_exact = true;
    let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
    for part in tune.children().filter(|child| child.has_tag_name("cachetune")) {
        let caches = caches(import, part)?;
        if !caches.is_empty() {
            for_vcpus(import, part, vcpus);
        }
        for (id, size) in caches {
            let sum = bytes.entry(id).or_default();
            *sum = sum.saturating_add(size);
        }
    }
    bandwidth(import, tune)?;
    class.ways = ways(import, import.line_at(node.range().start), name, &bytes)?;
    if bytes.is_empty() {
        import.leave_out(import.line_at(tune.range().start), name, "it asks for no ways of the L3");
        return Ok(());
    }
    match member(node, name) {
        Some(member) => {
            class.members.insert(member);
        }
        None => {
            let why = "no unit of systemd is known for its type and name: select it by its cgroup";
            import.leave_out(import.line_at(node.range().start), name, why);
        }
    }
    import.add_class(class, import.line_at(node.range().start))
}

/// The sizes that a `<cachetune>` asks for, by cache.
fn caches(import: &mut ImportedSources, part: Node<'_, '_>) -> Result<Vec<(u32, u64)>, WrongLine> {
    let mut sizes = Vec::new();
    for cache in part.children().filter(|child| child.has_tag_name("cache")) {
        let id = number(cache, "id")?;
        let level = number(cache, "level")?;
        let kind = cache.attribute("type").unwrap_or_default();
        if level != 3 {
            let what = format!("cachetune: a cache of level {level}");
            import.leave_out(
                import.line_at(cache.range().start),
                &what,
                "Fairways divides the last-level cache alone",
            );
            continue;
        }
        if kind != "both" {
            let what = format!("cachetune: type {kind:?}");
            let why = "Fairways gives code and data the same ways, and has no priorities";
            import.leave_out(import.line_at(cache.range().start), &what, why);
            continue;
        }
        sizes.push((id, size(cache)?));
    }
    Ok(sizes)
}

/// A whole number in an attribute.
fn number(node: Node<'_, '_>, name: &str) -> Result<u32, WrongLine> {
    let value = node.attribute(name).unwrap_or_default();
    value.trim().parse().map_err(|_| {
        let tag = node.tag_name().name();
        let why = format!("<{tag}>: expected a whole number as {name}, found {value:?}");
        WrongLine::new(line(node), why)
    })
}

/// The size in bytes, from the attributes `size` and `unit`.
fn size(cache: Node<'_, '_>) -> Result<u64, WrongLine> {
    let unit = cache.attribute("unit").unwrap_or("bytes");
    let scale: Option<u64> = match unit.to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => Some(1),
        "k" | "kib" => Some(1 << 10),
        "m" | "mib" => Some(1 << 20),
        "g" | "gib" => Some(1 << 30),
        "kb" => Some(1000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        _ => None,
    };
    let value = cache.attribute("size").unwrap_or_default();
    let count = value.trim().parse::<u64>().ok().filter(|count| *count > 0);
    let bytes = count.zip(scale).and_then(|(count, scale)| count.checked_mul(scale));
    bytes.ok_or_else(|| {
        let why = format!("<cache>: expected a size such as size='3' unit='MiB', found size={value:?} unit={unit:?}");
        WrongLine::new(line(cache), why)
    })
}

/// Says that a part of a machine's threads can't be a program.
fn for_vcpus(import: &mut ImportedSources, part: Node<'_, '_>, all: Option<usize>) {
    let Some(vcpus) = part.attribute("vcpus") else { return };
    if all.is_some_and(|all| vcpus == format!("0-{}", all.saturating_sub(1)) || all == 1) {
        return;
    }
    let why = "Fairways manages the whole machine, with its other threads, as one program";
    import.leave_out(
        import.line_at(part.range().start),
        &format!("cachetune for the vCPUs {vcpus}"),
        why,
    );
}

fn bandwidth(import: &mut ImportedSources, tune: Node<'_, '_>) -> Result<(), WrongLine> {
    for part in tune.children().filter(|child| child.has_tag_name("memorytune")) {
        for node in part.children().filter(|child| child.has_tag_name("node")) {
            let [id, limit] = [number(node, "id")?, number(node, "bandwidth")?];
            let what = format!("memorytune: node {id}, bandwidth {limit}");
            import.leave_out(import.line_at(node.range().start), &what, super::NO_BANDWIDTH);
        }
    }
    Ok(())
}

/// The ways that the sizes are, in the cache where they are most.
fn ways(
    import: &mut ImportedSources,
    line: usize,
    name: &str,
    bytes: &BTreeMap<u32, u64>,
) -> Result<ClassWays, WrongLine> {
    let Some(most) = bytes.values().max() else { return Ok(ClassWays::Unknown) };
    if bytes.values().any(|of| of != most) {
        let why = "Fairways promises as many ways in each cache: the largest size counts";
        import.leave_out(line, &format!("{name}: sizes that differ by cache"), why);
    }
    let (Some(ways), Some(all)) = (import.cache.ways, import.cache.bytes) else {
        let what = format!("{name}: {most} bytes of the cache");
        let why =
            "the ways and the size of the cache are not known here: give --ways and --cache-size";
        import.leave_out(line, &what, why);
        return Ok(ClassWays::Unknown);
    };
    let count = (u128::from(*most) * u128::from(ways)).div_ceil(u128::from(all.max(1)));
    match u32::try_from(count).ok().filter(|count| *count <= ways) {
        Some(count) => Ok(ClassWays::Own(count)),
        None => {
            let why = format!(
                "{name}: expected at most the {all} bytes of the cache, found {most}; `--cache-size` says how many it has"
            );
            Err(WrongLine::new(line, why))
        }
    }
}

/// The unit in which systemd runs the machine: `machine-qemu\x2d3\x2dweb.scope`.
fn member(node: Node<'_, '_>, name: &str) -> Option<ClassMember> {
    let driver = match node.attribute("type")? {
        "kvm" | "qemu" | "hvf" => "qemu",
        "lxc" => "lxc",
        _ => return None,
    };
    let mut valid = String::new();
    for letter in name.chars() {
        let is_joint = matches!(letter, '.' | '-');
        let may_follow = !valid.is_empty() && !valid.ends_with(['.', '-']);
        if letter.is_ascii_alphanumeric() || is_joint && may_follow {
            valid.push(letter);
        }
    }
    let valid = valid.trim_end_matches(['.', '-']);
    if valid.is_empty() {
        return None;
    }
    let whole = valid.len() <= SURE;
    let sure = valid.get(..SURE).unwrap_or(valid).replace('-', "\\x2d");
    let rest = if whole { "" } else { "*" };
    let select = format!("unit:machine-{driver}\\x2d*\\x2d{sure}{rest}.scope");
    select.parse::<Selector>().ok()?;
    Some(ClassMember::Selected { name: name.to_owned(), select })
}
