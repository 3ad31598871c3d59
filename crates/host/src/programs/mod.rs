//! Whom to manage, and their arrivals, threads and exits.
