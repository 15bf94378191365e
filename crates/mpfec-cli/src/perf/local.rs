//! `mpfec perf local`: both ends in this process, each with a thread of its own.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use mpfec_core::net::{Endpoint, LocalAddress, Paths};
use mpfec_core::{ClientConfig, ClientTls, Ticket};
use mpfec_sim::UdpRelay;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::PerfHello;
use super::client::{self, measure, show};
use super::links::{self, Links};
use super::server::serve;
use crate::args::PerfLocalArgs;
use crate::context::Context;
use crate::engine;
use crate::error::CliError;
use crate::linked;
use crate::names::Names;
use crate::output::PerfResult;
use crate::service::Service;

/// Measures between two endpoints of this process.
pub(super) async fn run(context: Context, args: PerfLocalArgs) -> Result<(), CliError> {
    if args.links == "list" {
        links::list(&context.output);
        return Ok(());
    }
    let links = Links::find(&args.links)?;
    let wanted = PerfHello::new(&args.load, true);
    let sockets = match &links {
        Links::Direct { paths, .. } => *paths,
        Links::Emulated(_) => 1,
    };
    let (ready, served) = serve_apart(&context, sockets)?;
    let (ticket, addresses) = match ready.await {
        Ok(ready) => ready,
        // The server could not even start: it says why.
        Err(_) => return served.await.unwrap_or_else(|_| Err(gone())),
    };
    let (facts, relay, routes) = match &links {
        Links::Direct { name, .. } => {
            let routes = addresses
                .iter()
                .map(|address| (name_of(*address), *address))
                .collect();
            (
                client::Links {
                    name: Some(name.clone()),
                    limit_mbps: None,
                },
                None,
                routes,
            )
        }
        Links::Emulated(setup) => {
            let seed = context.expert.seed.unwrap_or(1);
            let server = addresses.first().copied().ok_or_else(gone)?;
            let relay = UdpRelay::start(setup, server, seed)
                .map_err(|error| CliError::other("cannot emulate the links", error))?;
            let routes = relay.paths().to_vec();
            (
                client::Links {
                    name: Some(setup.name.clone()),
                    limit_mbps: match wanted.reverse {
                        true => setup.limit_mbps_back(),
                        false => setup.limit_mbps(),
                    },
                },
                Some(relay),
                routes,
            )
        }
    };
    let result = apart(
        "mpfec-client",
        ask(context.clone(), ticket, routes, wanted, facts),
    )?;
    let result = result.await.unwrap_or_else(|_| Err(gone()))?;
    drop(relay);
    show(&context.output, result);
    Ok(())
}

async fn ask(
    context: Context,
    ticket: Ticket,
    routes: Vec<(String, SocketAddr)>,
    wanted: PerfHello,
    links: client::Links,
) -> Result<PerfResult, CliError> {
    let endpoint =
        Endpoint::client().map_err(|error| CliError::other("cannot open an endpoint", error))?;
    context.note(&endpoint);
    let config = ClientConfig::new(ClientTls::pinned(ticket.fingerprint()))
        .with_secret(ticket.secret())
        .with_transport(engine::local_transport(&context.expert));
    let paths = routes
        .iter()
        .map(|(_, address)| (LocalAddress::Any, *address))
        .collect();
    let remotes: Vec<SocketAddr> = routes.iter().map(|(_, address)| *address).collect();
    let connecting = endpoint.connect_over(config, Paths::Exactly(paths), &remotes);
    let connection = linked::connect(connecting, &routes, client::LABEL, &context.output).await?;
    let result = measure(
        &context,
        &connection,
        &wanted,
        Names::of_links(&routes),
        &links,
    )
    .await
    .map_err(|error| linked::lost(&connection, &routes, error));
    drop(connection);
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
    result
}

type Ready = oneshot::Receiver<(Ticket, Vec<SocketAddr>)>;
type Served<T> = oneshot::Receiver<Result<T, CliError>>;

/// Starts the server on a thread of its own; its addresses are told when it listens.
fn serve_apart(context: &Context, sockets: usize) -> Result<(Ready, Served<()>), CliError> {
    let (tell, ready) = oneshot::channel();
    let context = context.clone();
    let served = apart("mpfec-server", async move {
        let any = vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0); sockets];
        let service = Service::listen(&any, engine::local_transport(&context.expert), None)?;
        context.note(&service.endpoint);
        // Nobody waits only if the program is being stopped.
        let _ = tell.send((
            service.ticket.clone(),
            service.endpoint.local_addrs().to_vec(),
        ));
        let mut handshakes = JoinSet::new();
        let Some(connection) = service.accept(&mut handshakes).await else {
            return Ok(());
        };
        // Over slow links the client takes its time to say what it wants; that it does is known.
        let result = serve(&connection, Duration::MAX).await;
        drop(connection);
        let _ = tokio::time::timeout(FAREWELL, service.endpoint.wait_idle()).await;
        result
    })?;
    Ok((ready, served))
}

/// Runs on a thread and a runtime of its own, so that two ends do not wait for each other.
fn apart<T, F>(name: &str, future: F) -> Result<Served<T>, CliError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, CliError>> + Send + 'static,
{
    let (tell, result) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::other("cannot start a runtime", error))?;
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // Nobody waits only if the program is being stopped.
            let _ = tell.send(runtime.block_on(future));
        })
        .map_err(|error| CliError::other("cannot start a thread", error))?;
    Ok(result)
}

fn name_of(address: SocketAddr) -> String {
    format!("loopback:{}", address.port())
}

fn gone() -> CliError {
    CliError::other("the measurement failed", "one of its threads is gone")
}

const FAREWELL: Duration = Duration::from_secs(1);
