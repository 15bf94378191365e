//! Any bytes as the text of a ticket, and as what such text stands for: no panic, and what is
//! a ticket writes and reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    mpfec_core::fuzzing::ticket(bytes);
});
