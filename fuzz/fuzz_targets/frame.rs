//! Any bytes as the payload of a packet: no panic, and the frames in it write and read the
//! same.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    mpfec_core::fuzzing::frames(payload);
});
