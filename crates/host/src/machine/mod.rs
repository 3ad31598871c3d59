//! The host as what policies know.
