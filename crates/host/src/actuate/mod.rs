//! The client of resctrl: groups, masks, tasks, and what is put back.
