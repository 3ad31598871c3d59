//! A group of another manager that replaced one of ours is left alone.
