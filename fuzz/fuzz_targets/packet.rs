//! Any datagram at the header parser: no panic, positions within bounds, and what it read
//! writes and reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| {
    mpfec_core::fuzzing::packet(datagram);
});
