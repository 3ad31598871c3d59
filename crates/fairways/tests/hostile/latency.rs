//! Latency sources whose answers are built to hurt.
