//! The language of resctrl's files, held to what it promises.

mod corpus;
mod properties;
