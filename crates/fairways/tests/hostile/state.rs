//! The state directory and the ledger in it, tampered with.
