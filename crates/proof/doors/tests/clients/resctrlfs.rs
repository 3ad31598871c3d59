//! The crate resctrlfs, the reader of the monitor `below`: a parser that we did not write.

use fairways_testing::needs::Need;
use resctrlfs::{GroupMode, ResctrlReader, RmidBytes};

use crate::emulated::Emulated;

#[test]
fn an_independent_reader_sees_what_was_made() {
    if !fairways_testing::needs::has("resctrlfs", &[Need::Fuse, Need::Root]) {
        return;
    }
    let emulated = Emulated::start("mlr:8M,mload:60M");
    std::fs::create_dir(emulated.root().join("quiet")).unwrap();
    std::fs::create_dir(emulated.root().join("quiet/mon_groups/one")).unwrap();
    emulated.write("quiet/cpus_list", "2-3,5\n");
    emulated.write("quiet/tasks", &format!("{}\n", emulated.pid("mload:60M")));
    emulated.write("schemata", "L3:0=3ff00\n");
    emulated.write("quiet/schemata", "L3:0=ff\n");
    emulated.write("quiet/mode", "exclusive\n");
    emulated.control(&["advance", "20ms"]);
    emulated.control(&[
        "fault",
        "read:quiet/mon_groups/one/mon_data/mon_L3_00/mbm_total_bytes=Unavailable",
    ]);

    let sample = ResctrlReader::new(emulated.root(), false).unwrap().read_all().unwrap();
    assert_eq!(sample.mode, Some(GroupMode::Shareable));
    assert_eq!(sample.cpuset.unwrap().to_string(), "0-1,4,6-17");
    let groups = sample.ctrl_mon_groups.unwrap();
    assert_eq!(groups.keys().collect::<Vec<_>>(), ["quiet"]);
    let quiet = &groups["quiet"];
    assert_eq!(quiet.mode, Some(GroupMode::Exclusive));
    assert_eq!(quiet.cpuset.as_ref().unwrap().to_string(), "2-3,5");
    let l3 = &quiet.mon_stat.as_ref().unwrap().l3_mon_stat.as_ref().unwrap()[&0];
    let Some(RmidBytes::Bytes(held)) = l3.llc_occupancy_bytes else { panic!("{l3:?}") };
    assert_eq!(format!("{held}\n"), emulated.read("quiet/mon_data/mon_L3_00/llc_occupancy"));
    assert!(held > 0, "mload fills what it may");
    let one = &quiet.mon_groups.as_ref().unwrap()["one"];
    let l3 = &one.mon_stat.as_ref().unwrap().l3_mon_stat.as_ref().unwrap()[&0];
    assert_eq!(l3.mbm_total_bytes, Some(RmidBytes::Unavailable), "no zero");
}
