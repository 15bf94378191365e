//! Any bytes as the transport parameters of either end: no panic, and what they say writes
//! and reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    mpfec_core::fuzzing::parameters(bytes);
});
