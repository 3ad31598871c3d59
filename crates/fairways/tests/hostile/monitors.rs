//! Monitoring groups of others are named, and adopted only where the operator allows it.
