//! The groups that Fairways makes in resctrl: a control group for each class of service, a
//! monitoring group for each program; and the threads in them.

pub(crate) mod adopted_groups;
pub(crate) mod class_change;
pub(crate) mod class_limits;
pub(crate) mod classes;
pub(crate) mod confine;
pub(crate) mod counted_groups;
pub(crate) mod monitoring_groups;
pub(crate) mod others_changes;
pub(crate) mod programs;
pub(crate) mod staying_threads;
pub(crate) mod traffic_counters;
