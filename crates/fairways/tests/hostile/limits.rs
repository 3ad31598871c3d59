//! Limits of bandwidth and L2 that others set stay in force, also where classes of service are short.
