//! `mpfec lab`: any program across emulated links, between two network namespaces.
//!
//! Each namespace belongs to a thread, which makes the devices in it and starts the command
//! there. It has no name, and is gone with the thread and the command. Between the devices
//! the links of a set-up are emulated in this process.

#[cfg(target_os = "linux")]
mod interfaces;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod tun;

#[cfg(target_os = "linux")]
pub(crate) use self::report::{CrossedReport, LabReport};
use crate::args::LabArgs;
use crate::context::Context;
use crate::error::CliError;
use crate::perf::links;

/// Runs a command across the links.
pub(crate) async fn run(context: Context, args: LabArgs) -> Result<(), CliError> {
    if args.links == "list" {
        links::list(&context.output);
        return Ok(());
    }
    let setup = links::setup(&args.links)?;
    start(context, args, setup).await
}

#[cfg(target_os = "linux")]
use self::run::start;

#[cfg(not(target_os = "linux"))]
async fn start(_: Context, _: LabArgs, _: mpfec_sim::Setup) -> Result<(), CliError> {
    Err(CliError::new(
        crate::exit::Exit::Other,
        "network namespaces are a thing of Linux",
        "use mpfec perf local, which emulates links anywhere, or a virtual machine with Linux",
    ))
}
