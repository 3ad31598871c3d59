//! Health is answered while the metrics port is held by others.
