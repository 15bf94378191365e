//! Criterion benchmarks of the mpfec crates; each bench is a file beside this one.
