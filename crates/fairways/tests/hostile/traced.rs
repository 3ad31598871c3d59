//! Programs started to be traced end with the command that started them.
