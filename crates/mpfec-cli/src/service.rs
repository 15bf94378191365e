//! Listening for peers, and the ticket that lets them in.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use mpfec_core::net::{Connection, Endpoint, usable_interfaces};
use mpfec_core::{Rng, Secret, ServerConfig, ServerTls, Ticket, TransportConfig};

use tokio::task::{JoinError, JoinSet};

use crate::args::ListenArgs;
use crate::client::looks_like_ticket;
use crate::clock;
use crate::close::CloseCode;
use crate::context::Context;
use crate::engine;
use crate::error::{CliError, plain};
use crate::exit::Exit;
use crate::output::{Event, Output, TicketReport};

/// An endpoint that takes the holders of its ticket.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) endpoint: Endpoint,
    pub(crate) ticket: Ticket,
}

impl Service {
    /// Listens where the arguments say, and writes the ticket where they say.
    pub(crate) fn start(context: &Context, args: &ListenArgs) -> Result<Self, CliError> {
        if let Some(file) = &args.ticket_file {
            check_ticket_file(file)?;
        }
        let expires = args
            .expires
            .map(|time| whole_seconds(clock::since_1970() + time))
            .filter(|seconds| *seconds < u64::MAX);
        let service = Self::listen(
            &args.listen,
            engine::remote_transport(&context.expert),
            expires,
        )?;
        context.note(&service.endpoint);
        if let Some(file) = &args.ticket_file {
            write_ticket(file, &service.ticket)?;
        }
        context.output.event(&Event::Ticket(TicketReport {
            ticket: service.ticket.to_string(),
            addresses: service
                .ticket
                .addresses()
                .iter()
                .map(ToString::to_string)
                .collect(),
            fingerprint: service.ticket.fingerprint().to_string(),
            expires: service.ticket.expires(),
        }));
        Ok(service)
    }

    /// Listens on `addresses`, or on all of port 47800 if there are none.
    pub(crate) fn listen(
        addresses: &[SocketAddr],
        transport: TransportConfig,
        expires: Option<u64>,
    ) -> Result<Self, CliError> {
        let mut rng = Rng::system();
        let tls = ServerTls::self_signed(&mut rng);
        let fingerprint = tls.fingerprint();
        let secret = Secret::generate(&mut rng);
        let config = ServerConfig::new(tls)
            .with_secret(secret)
            .with_transport(transport);
        let endpoint = bind(&config, addresses)?;
        let reachable = reachable(endpoint.local_addrs());
        let ticket = Ticket::new(reachable, fingerprint, secret, expires)
            .map_err(|error| CliError::other("cannot make a ticket", error))?;
        Ok(Self { endpoint, ticket })
    }

    /// Waits for the next peer that proves to hold the ticket. `None` when the endpoint is closed.
    /// Handshakes that fail are told to nobody: whoever made them is not known.
    pub(crate) async fn accept(
        &self,
        handshakes: &mut JoinSet<Option<Connection>>,
    ) -> Option<Connection> {
        loop {
            tokio::select! {
                incoming = self.endpoint.accept() => {
                    let incoming = incoming?;
                    handshakes.spawn(async move {
                        incoming.await.inspect_err(|error| tracing::info!(%error, "handshake failed")).ok()
                    });
                }
                Some(done) = handshakes.join_next() => {
                    let Ok(Some(connection)) = done else { continue };
                    if self.ticket.is_expired(clock::since_1970().as_secs()) {
                        connection.close(CloseCode::Expired.to_wire(), "");
                        continue;
                    }
                    return Some(connection);
                }
            }
        }
    }

    /// Waits until the ticket expires, which may be never. By the wall clock, which may be
    /// set in between.
    pub(crate) async fn expired(&self) {
        let Some(expires) = self.ticket.expires() else {
            return std::future::pending().await;
        };
        while !self.ticket.is_expired(clock::since_1970().as_secs()) {
            // Whole seconds: never a moment too early.
            let left = expires.saturating_sub(clock::since_1970().as_secs());
            tokio::time::sleep(Duration::from_secs(left).clamp(BLINK, GLANCE)).await;
        }
    }

    /// How a service ends whose ticket has expired: well if somebody came in time.
    pub(crate) fn conclude(&self, output: &Output, served: u64) -> Result<(), CliError> {
        self.endpoint.refuse_new();
        if served == 0 {
            return Err(CliError::new(
                Exit::Authentication,
                "the ticket has expired, and nothing came in time",
                "run the command again for a new ticket, with a longer --expires",
            ));
        }
        output.say("the ticket has expired: that was all");
        output.event(&Event::Complete {
            ok: true,
            from: None,
        });
        Ok(())
    }

    /// How a service for one peer ends, whose first one ended with `result`: others that are under way
    /// are waited for, and the first failure is what counts.
    pub(crate) async fn finish<T: 'static>(
        &self,
        mut result: Result<(), CliError>,
        under_way: &mut JoinSet<T>,
        outcome: impl Fn(Result<T, JoinError>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        self.endpoint.refuse_new();
        while let Some(ended) = under_way.join_next().await {
            result = result.and(outcome(ended));
        }
        // The peers know; this is only so that they can forget.
        let _ = tokio::time::timeout(FAREWELL, self.endpoint.wait_idle()).await;
        result
    }

    /// Says so if nobody on another host can use the ticket.
    pub(crate) fn warn_if_local(&self, output: &Output) {
        let mut addresses = self.ticket.addresses().iter();
        if addresses.all(|address| address.ip().is_loopback()) {
            output.say("the ticket works on this host only (see mpfec paths)");
        }
    }

    /// Where it listens, for people.
    pub(crate) fn places(&self) -> String {
        let places: Vec<String> = self
            .endpoint
            .local_addrs()
            .iter()
            .map(ToString::to_string)
            .collect();
        places.join(", ")
    }
}

/// The end of a service whose endpoint is closed. Its connections are not dropped before
/// they know: their peers would not hear the reason.
pub(crate) async fn ended<T: 'static>(connections: &mut JoinSet<T>) -> Result<(), CliError> {
    while connections.join_next().await.is_some() {}
    Ok(())
}

fn bind(config: &ServerConfig, addresses: &[SocketAddr]) -> Result<Endpoint, CliError> {
    if !addresses.is_empty() {
        return Endpoint::server(config.clone(), addresses).map_err(|error| {
            // Which of them it was, the error does not say: try one by one.
            let culprit = addresses
                .iter()
                .find(|address| std::net::UdpSocket::bind(**address).is_err());
            CliError::listen(*culprit.unwrap_or(&addresses[0]), &error)
        });
    }
    let both = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT);
    let only_v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), PORT);
    Endpoint::server(config.clone(), &[both])
        // A host without IPv6.
        .or_else(|_| Endpoint::server(config.clone(), &[only_v4]))
        .map_err(|error| CliError::listen(only_v4, &error))
}

/// The addresses under which peers find sockets bound to `local`: the interfaces' own where
/// a socket is bound to none, IPv4 and IPv6 in the order of the interfaces.
fn reachable(local: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for address in local {
        if !address.ip().is_unspecified() {
            found.push(*address);
            continue;
        }
        let own = usable_interfaces()
            .into_iter()
            .flat_map(|interface| interface.addresses);
        let fits = |ip: &IpAddr| ip.is_ipv4() || address.is_ipv6();
        let before = found.len();
        found.extend(
            own.filter(fits)
                .map(|ip| SocketAddr::new(ip, address.port())),
        );
        if found.len() == before {
            found.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()));
        }
    }
    let mut once = Vec::new();
    for address in found {
        if !once.contains(&address) {
            once.push(address);
        }
    }
    once.truncate(Ticket::MAX_ADDRESSES);
    once
}

/// A file that is no ticket is not replaced: its name may be a mistake.
fn check_ticket_file(file: &Path) -> Result<(), CliError> {
    let refuse = |reason: &str| {
        Err(CliError::new(
            Exit::Destination,
            format!("cannot write a ticket to {}: {reason}", file.display()),
            "move it away, or choose another --ticket-file",
        ))
    };
    match file.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return refuse(&plain(&error)),
        Ok(metadata) if metadata.is_dir() => return refuse("it is a directory"),
        Ok(metadata) if !metadata.is_file() => return refuse("it is no ordinary file"),
        Ok(_) => {}
    }
    let mut beginning = Vec::new();
    let read = std::fs::File::open(file)
        .and_then(|file| file.take(TICKET_BEGINNING).read_to_end(&mut beginning));
    match read {
        Err(error) => refuse(&plain(&error)),
        Ok(_) if beginning.is_empty() => Ok(()),
        Ok(_) if looks_like_ticket(&String::from_utf8_lossy(&beginning)) => Ok(()),
        Ok(_) => refuse("it exists and holds no ticket"),
    }
}

/// Whoever reads a ticket can connect: the file is this user's only, and complete as soon
/// as it is there.
fn write_ticket(file: &Path, ticket: &Ticket) -> Result<(), CliError> {
    let dir = file
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let write = || {
        let mut temporary = tempfile::NamedTempFile::new_in(dir)?;
        writeln!(temporary, "{ticket}")?;
        temporary.persist(file).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| {
        CliError::new(
            Exit::Destination,
            format!(
                "cannot write a ticket to {}: {}",
                file.display(),
                plain(&error)
            ),
            "choose another --ticket-file, in a directory that exists and you may write to",
        )
    })
}

/// Where mpfec listens unless told otherwise.
pub(crate) const PORT: u16 = 47_800;
/// Enough to see that it is a ticket.
const TICKET_BEGINNING: u64 = 32;
/// How long to wait for peers at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// Between looks at the wall clock while a ticket is valid, at least and at most.
const BLINK: Duration = Duration::from_millis(100);
const GLANCE: Duration = Duration::from_secs(30);

/// A time in whole seconds, none of them cut off: what expires is of use until then.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs()
        .saturating_add(u64::from(time.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_lasts_no_shorter_than_it_is_to() {
        assert_eq!(whole_seconds(Duration::from_millis(7_500)), 8);
        assert_eq!(whole_seconds(Duration::from_secs(7)), 7);
        assert_eq!(whole_seconds(Duration::MAX), u64::MAX);
    }

    #[test]
    fn bound_addresses_are_told_as_they_are() {
        let local = [
            "127.0.0.1:7".parse().unwrap(),
            "10.0.0.1:8".parse().unwrap(),
        ];
        assert_eq!(reachable(&local), local);
    }

    #[test]
    fn a_socket_bound_to_no_address_is_found_somewhere() {
        let addresses = reachable(&["[::]:47800".parse().unwrap()]);
        assert!(!addresses.is_empty() && addresses.len() <= Ticket::MAX_ADDRESSES);
        assert!(
            addresses
                .iter()
                .all(|address| !address.ip().is_unspecified() && address.port() == 47_800)
        );
    }
}
