//! The program as it is used: two processes, real sockets, files on a disk.

#![cfg(unix)]

mod support;

mod bad_usage;
mod demo;
mod directories;
mod files;
mod hostile_sender;
mod interruption;
mod killed_peer;
#[cfg(target_os = "linux")]
mod lab;
mod many_small_files;
mod netns;
mod occupied_destination;
mod perf;
mod profiles;
mod sim;
mod sources;
mod standard_input;
mod terminal;
mod tickets;
mod unreachable;
