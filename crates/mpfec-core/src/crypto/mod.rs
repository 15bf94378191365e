//! (see the module's files)
