//! A client and a server, and whatever can happen to them: applications, a network that loses,
//! changes and repeats datagrams, attackers with and without keys. No panic, no endless loop,
//! no wrong byte, and at the end everything is delivered or the connection is over.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|operations: &[u8]| {
    mpfec_core::fuzzing::connection(operations);
});
