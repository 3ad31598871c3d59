//! The configuration that is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fairways_command_kit::plain::plain;

use super::classes::{ClassMember, ExclusiveWays, ImportedClass, own_ways};
use super::{ImportedSources, NO_BANDWIDTH, NO_FIXED_LIMIT, SourceKind};
use crate::config::names::{easy_name, unique_name};
use crate::config::{ProgramConfig, group_name};

/// The promise to the programs of a class.
struct ClassPromise {
    /// To each program.
    baseline_ways: Option<u32>,
    best_effort: bool,
    importance: Option<u32>,
    /// In words.
    about: String,
}

/// The whole text.
pub(super) fn text(import: &mut ImportedSources) -> String {
    let classes = std::mem::take(&mut import.classes);
    let (confine_others, confined) = import.confined.take().unzip();
    let own: Vec<Option<ExclusiveWays>> =
        (0..classes.len()).map(|index| own_ways(&classes, index, confined.as_ref())).collect();
    let is_static = is_static(import, &classes, &own);
    let least = classes.iter().filter_map(|class| class.bandwidth).min().unwrap_or(100).max(1);
    let (mut rules, mut programs, mut examples) = (Vec::new(), String::new(), String::new());
    let mut chosen = BTreeSet::new();
    let mut names = BTreeMap::new();
    for (class, own) in classes.iter().zip(&own) {
        let promise = promise(import, class, *own, is_static, least);
        if class.members.is_empty() {
            example(import, &mut examples, class, &promise);
        }
        for member in &class.members {
            match member {
                ClassMember::Pods { namespace, labels } => {
                    if chosen.insert((namespace, labels)) {
                        let text = rule(class, namespace, labels, &promise);
                        rules.push((labels.split(',').count(), text));
                    } else {
                        let what = format!("pods {labels} of namespace {namespace}");
                        let why = "another class has pods with the same labels: they are in that";
                        import.leave_out_at(&class.place, &what, why);
                    }
                }
                ClassMember::Selected { name, select } => {
                    // Groups of resctrl are mostly numbered.
                    let is_class = class.members.len() == 1 && class.by != SourceKind::Resctrl;
                    let name = if is_class { &class.name } else { name };
                    let name = unique_name(&easy_name(name), &mut names);
                    program(import, &mut programs, class, &name, select, &promise);
                }
            }
        }
    }
    let mut text = head(import);
    let (policy, why) = match is_static {
        true => ("static", "Each program has exactly the ways of its class, as before."),
        false => (
            "fairways",
            "Ways that a class had for itself are promised; the policy divides the others.",
        ),
    };
    // Writing to memory does not fail.
    let _ = write!(text, "# {why}\npolicy = \"{policy}\"\n");
    if let Some(ways) = confine_others {
        let _ = write!(
            text,
            "\n[resctrl]\n# What is not managed was limited to these ways.\nconfine_others = {ways}\n"
        );
    }
    if !rules.is_empty() {
        text += "\n[kubernetes]\n# The container runtime announces pods with their labels (docs/kubernetes.md).\nnri = true\n";
    }
    // The first rule that fits counts: those that ask for most labels come first.
    rules.sort_by_key(|(labels, _)| std::cmp::Reverse(*labels));
    text.extend(rules.into_iter().map(|(_, rule)| rule));
    text + &programs + &examples
}

/// The origin of the text, and what it leaves out.
fn head(import: &ImportedSources) -> String {
    let sources: Vec<&str> = import.sources.iter().map(String::as_str).collect();
    let mut text = format!(
        "# From {}, by `fairways config import`.\n# Read it before you use it: docs/config.md has the keys.\n#\n",
        plain(&sources.join(", "))
    );
    let notes: BTreeSet<String> = import.comments.iter().map(|note| plain(note)).collect();
    for note in notes.iter().take(super::MOST_LEFT_OUT) {
        let _ = writeln!(text, "# {note}");
    }
    if !notes.is_empty() {
        text += "#\n";
    }
    let left_out = import.shown_left_out();
    if left_out.is_empty() {
        text += "# Everything about the cache and memory bandwidth is carried over.\n\n";
        return text;
    }
    text += "# Not carried over:\n";
    for line in left_out {
        let _ = writeln!(text, "# - {line}");
    }
    text + "\n"
}

/// Whether every class is one program with ways that no other class has, in masks or sizes.
fn is_static(
    import: &mut ImportedSources,
    classes: &[ImportedClass],
    own: &[Option<ExclusiveWays>],
) -> bool {
    let sum: u32 = own.iter().flatten().fold(0, |sum, own| sum.saturating_add(own.least));
    let all_fit = import.cache.ways.is_none_or(|ways| sum <= ways);
    if !all_fit && let Some(class) = classes.first() {
        let what = format!("{sum} ways are promised together");
        import.leave_out_at(
            &class.place,
            &what,
            "the cache has fewer: the first promises are kept",
        );
    }
    let is_whole = classes.iter().zip(own).all(|(class, own)| {
        class.is_exact
            && class.programs() == 1
            && own.is_some_and(|own| own.is_all && own.least > 0)
    });
    !classes.is_empty() && all_fit && is_whole
}

/// The promise to a class's programs; records what is not promised.
fn promise(
    import: &mut ImportedSources,
    class: &ImportedClass,
    own: Option<ExclusiveWays>,
    is_static: bool,
    least_bandwidth: u32,
) -> ClassPromise {
    let what = format!("class {}", class.name);
    if let Some(percent) = class.bandwidth {
        let what = format!("{what}, {percent} % of memory bandwidth");
        import.leave_out_at(&class.place, &what, NO_BANDWIDTH);
    }
    let best_effort = class.is_background && !is_static;
    let ratio = (class.bandwidth.unwrap_or(100) + least_bandwidth / 2) / least_bandwidth;
    let importance = Some(ratio).filter(|ratio| *ratio > 1 && !class.is_background && !is_static);
    let mut promise =
        ClassPromise { baseline_ways: None, best_effort, importance, about: what.clone() };
    let Some(own) = own else { return promise };
    let (place, width) = (class.place.clone(), own.width);
    let _ = write!(promise.about, ": {width} ways, {} of its own", own.most);
    if best_effort {
        import.leave_out_at(&place, &format!("{what}, at most {width} ways"), NO_FIXED_LIMIT);
        return promise;
    }
    if own.least < own.width {
        let why = match own.least {
            0 => "others may fill them, so none is promised".to_owned(),
            own => format!("others may fill the rest: {own} are promised"),
        };
        import.leave_out_at(&place, &format!("{what}, {width} ways"), &why);
    }
    let programs = class.programs().max(1);
    let each = own.least / programs;
    if programs > 1 && own.least > 0 {
        let why = match each {
            0 => "fewer than programs, so none is promised".to_owned(),
            each => format!("a promise is a program's own: each has {each}"),
        };
        let what = format!("{what}, {} ways for {programs} programs", own.least);
        import.leave_out_at(&place, &what, &why);
    }
    promise.baseline_ways = Some(each).filter(|each| *each > 0);
    promise
}

/// The keys of a promise.
fn keys(promise: &ClassPromise) -> String {
    let mut text = String::new();
    if let Some(ways) = promise.baseline_ways {
        let _ = writeln!(text, "baseline_ways = {ways}");
    }
    if promise.best_effort {
        text += "best_effort = true\n";
    }
    if let Some(importance) = promise.importance {
        let _ = writeln!(text, "importance = {importance}");
    }
    text
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The heading of a program: its class.
fn about(class: &ImportedClass, promise: &ClassPromise) -> String {
    plain(&format!("{} ({})", promise.about, class.place))
}

fn program(
    import: &mut ImportedSources,
    to: &mut String,
    class: &ImportedClass,
    name: &str,
    select: &str,
    promise: &ClassPromise,
) {
    if let Err(why) = format!("{name}={select}").parse::<ProgramConfig>() {
        import.leave_out_at(&class.place, select, &why);
        return;
    }
    let _ = write!(
        to,
        "\n# {}\n[[program]]\nname = {}\nselect = {}\n{}",
        about(class, promise),
        quoted(name),
        quoted(select),
        keys(promise)
    );
}

/// A rule for the pods of a namespace with some labels: all pods of a class are one program.
fn rule(class: &ImportedClass, namespace: &str, labels: &str, promise: &ClassPromise) -> String {
    let group = group_name(&class.name);
    let group = group.unwrap_or_else(|_| easy_name(&class.name).replace(':', "-"));
    format!(
        "\n# {}\n[[kubernetes.pods]]\nselect = {}\nnamespace = {}\npolicy_group = {}\n{}",
        about(class, promise),
        quoted(labels),
        quoted(namespace),
        quoted(&group),
        keys(promise)
    )
}

/// What to write for a class whose pods are not known.
fn example(
    import: &mut ImportedSources,
    to: &mut String,
    class: &ImportedClass,
    promise: &ClassPromise,
) {
    let chosen_by = match class.by {
        SourceKind::Goresctrl => "rdt.resources.beta.kubernetes.io/pod",
        SourceKind::Rubik => "volcano.sh/cache-limit",
        // Their programs are known, or are said not to be.
        SourceKind::Koordinator | SourceKind::Libvirt | SourceKind::Resctrl => return,
    };
    let what = format!("class {}, without programs", class.name);
    let why = format!(
        "pods choose it by the annotation {chosen_by}: give them as well, from `kubectl get pods -A -o yaml`"
    );
    import.leave_out_at(&class.place, &what, &why);
    let _ = write!(
        to,
        "\n# {}\n# [[program]]\n# name = {}\n# select = \"pod:NAMESPACE/NAME*\"\n",
        about(class, promise),
        quoted(&easy_name(&class.name)),
    );
    for key in keys(promise).lines() {
        let _ = writeln!(to, "# {key}");
    }
}
