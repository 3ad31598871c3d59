//! Other managers, too few classes, a daemon that is killed, and a resctrl that is mounted
//! otherwise or not at all.

use crate::guest::Story;
use crate::picture::{Group, Picture};

/// Ways that two groups may both fill, in any domain.
fn shared(picture: &Picture, theirs: &str) -> u64 {
    let masks = picture.groups[theirs].masks("L3");
    let ours = picture.ours().flat_map(|(_, of)| of.masks("L3"));
    ours.fold(0, |all, (domain, mask)| all | mask & masks[&domain])
}

/// What others have of a group: not the monitoring groups below it that are ours.
fn of_others(group: &Group) -> Group {
    let mut group = group.clone();
    group.monitors.retain(|name, _| !name.starts_with("fairways."));
    group
}

#[test]
fn others_are_left_alone_and_planned_around() {
    let Some(story) = Story::of("on_linux others", include_str!("others.sh")) else { return };
    let before = story.picture("before");

    // The lowest two free ways of each domain are the root's.
    let confined = story.picture("confined");
    confined.agrees(6, &["L3"]);
    let root = confined.groups["."].masks("L3");
    assert_eq!([root[&0], root[&1]], [0x30, 0x3]);
    assert_eq!(confined.groups["COS1"], before.groups["COS1"]);
    assert!(story.picture("killed").ours().count() > 0, "a daemon that is killed leaves all");
    assert_eq!(story.picture("after_restore").groups, before.groups);
    let again = story.picture("again");
    assert_eq!(again.theirs(), before.theirs(), "the next start restores too");
    assert!(story.text("again.log").contains("from before: restored L3:0 of the root's schemata"));
    again.agrees(6, &["L3"]);

    let changed = story.picture("theirs_changed");
    changed.agrees(6, &["L3"]);
    assert_eq!(changed.groups["COS1"].masks("L3"), [(0, 0x3), (1, 0x3c0)].into());
    assert_eq!(changed.groups["COS1"].tasks, before.programs["delta"]);
    let more = story.picture("theirs_more");
    let [one, two] = ["COS1", "COS2"].map(|name| (name, shared(more, name)));
    assert_eq!((one.1, two.1), (0, 0));
    assert_eq!(more.groups["COS2"].masks("L3"), [(0, 0x300), (1, 0xf)].into());
    assert_eq!(more.groups["COS2"].tasks.len(), 1, "a task of ours became theirs");
    let less = story.picture("theirs_less");
    assert_eq!(of_others(&less.groups["COS2"]), of_others(&more.groups["COS2"]));
    let below = less.groups["COS2"].monitors.values().collect::<Vec<_>>();
    assert_eq!(below, [&less.groups["COS2"].tasks], "it is counted below their class");
    less.group("delta");
    let mut after = story.picture("after_term").groups.clone();
    assert_eq!(after.remove("COS2"), Some(of_others(&more.groups["COS2"])));
    let mut without = before.groups.clone();
    without.remove("COS1");
    assert_eq!(after["."].schemata, without["."].schemata);
    assert_eq!(after["."].monitors, without["."].monitors);

    assert_eq!(story.lines("exhausted "), ["4"]);
    assert_eq!(story.text("exhausted").lines().count(), 1, "{}", story.text("exhausted"));
    let two = story.picture("two_classes");
    assert_eq!(two.ours().count(), 2);
    for program in ["alpha", "beta", "gamma", "delta"] {
        two.group(program);
    }

    assert_eq!(story.lines("unmounted "), ["1"]);
    let log = story.text("unmounted");
    assert!(log.contains("it was unmounted"), "{log}");

    let cdp = story.picture("cdp");
    cdp.agrees(4, &["L3DATA", "L3CODE"]);
    let lfoc = story.picture("lfoc");
    let [triad, hash_join] = ["triad", "hash-join"].map(|program| lfoc.group(program));
    assert_ne!(
        triad.class, hash_join.class,
        "who streams is confined, apart from who is sensitive"
    );
    assert!(lfoc.ours().all(|(_, of)| of.masks("L3DATA") == of.masks("L3CODE")));
    assert_eq!(story.picture("after_cdp").ours().count(), 0);
    assert_eq!(story.lines("ended "), ["137", "137", "0", "0", "0", "0"]);
}
