//! The `mpfec` command.

fn main() {}
