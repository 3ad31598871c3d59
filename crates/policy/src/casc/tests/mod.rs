//! Tests that quote the section or the decision that they hold.
