//! `mpfec demo`: a file crosses three bad links at once, one of which is cut half way.

mod kept;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use blake3::{Hash, Hasher};
use mpfec_core::net::{Connection, Endpoint, LocalAddress, Paths};
use mpfec_core::{ClientConfig, ClientTls};
use mpfec_sim::{Setup, UdpRelay};
use tokio::task::JoinSet;

use self::kept::Kept;
use crate::args::DemoArgs;
use crate::clock;
use crate::close::CloseCode;
use crate::context::Context;
use crate::engine;
use crate::error::CliError;
use crate::exit::Exit;
use crate::frame::{self, Hello};
use crate::linked;
use crate::monitor::{Monitor, Watched};
use crate::names::Names;
use crate::output::{Event, LinkReport, Output};
use crate::report;
use crate::service::Service;
use crate::transfer::{Counters, Destination, Received, Sent, receive, scan, send_all};
use crate::units;

/// Runs it; an error unless the file arrives as it was.
pub(crate) async fn run(context: Context, args: DemoArgs) -> Result<(), CliError> {
    if args.size == 0 {
        return Err(CliError::usage(
            "a file of 0 bytes shows nothing",
            "choose a --size, such as 64MiB",
        ));
    }
    let kept = args.keep.as_deref().map(Kept::reserve).transpose()?;
    let setup = links(args.size)?;
    introduce(&context.output, &setup, args.size);
    let seed = context.expert.seed.unwrap_or(1);
    let dir = tempfile::tempdir().map_err(|error| temporary(&std::env::temp_dir(), &error))?;
    let source = dir.path().join(NAME);
    let original = {
        let (source, size) = (source.clone(), args.size);
        blocking(move || {
            write_noise(&source, size, seed).map_err(|error| temporary(&source, &error))
        })
        .await?
    };
    let scene = Scene::start(&context, &setup, seed, dir.path()).await?;
    let stored = scene.destination.root().join(NAME);
    let finished = scene.play(&context, &source, &setup, args.size).await?;
    verify(&stored, original, &finished.finished).await?;
    if let Some(kept) = kept {
        kept.keep(&stored)?;
    }
    report::done(
        &context.output,
        &finished.finished,
        Some(&finished.stats.streams),
        finished.paths,
    );
    Ok(())
}

fn temporary(path: &Path, error: &std::io::Error) -> CliError {
    let CliError { what, .. } = CliError::destination(path, error);
    let hint = "choose a smaller --size, or set TMPDIR to a directory with room";
    CliError::new(Exit::Destination, what, hint)
}

/// The demo's links, slower or faster so that the transfer takes about twenty seconds. Very
/// slow links would hold too little in their queues, so that small files are done sooner.
fn links(size: u64) -> Result<Setup, CliError> {
    let setup = Setup::named("demo")
        .ok_or_else(|| CliError::other("no links", "the demo's set-up is missing"))?;
    let factor = size as f64 / DESIGN_SIZE as f64;
    Ok(setup.with_rates_times(factor.clamp(SLOWEST, FASTEST)))
}

fn introduce(output: &Output, setup: &Setup, size: u64) {
    output.say(&title(setup, size));
    for path in &setup.paths {
        let rate = path.forward.rate.map_or(0.0, |rate| rate as f64 / 1e6);
        output.say(&format!(
            "  {:10} {:>12}  RTT {:>3} ms  loss {:.0} %",
            path.name,
            units::rate(rate),
            path.rtt().as_millis(),
            100.0 * path.forward.mean_loss()
        ));
    }
}

fn title(setup: &Setup, size: u64) -> String {
    format!(
        "{} over three emulated links at once, encrypted and coded, in about {}:",
        units::size(size),
        units::time(expected(setup, size).max(SHORTEST))
    )
}

/// How long the links take, the outage of the first of them included.
fn expected(setup: &Setup, size: u64) -> Duration {
    let first = setup
        .paths
        .first()
        .and_then(mpfec_sim::PathSetup::limit_mbps);
    let missing = outage(setup, size).mul_f64(first.unwrap_or_default() / carried_mbps(setup));
    undisturbed(setup, size).saturating_add(missing)
}

/// How long they would take without it.
fn undisturbed(setup: &Setup, size: u64) -> Duration {
    Duration::try_from_secs_f64(size as f64 * 8e-6 / carried_mbps(setup)).unwrap_or(Duration::MAX)
}

fn carried_mbps(setup: &Setup) -> f64 {
    setup.limit_mbps().unwrap_or(f64::INFINITY)
}

/// Two ends with links between them.
struct Scene {
    service: Service,
    client: Endpoint,
    relay: Arc<UdpRelay>,
    sender: Connection,
    receiver: Connection,
    destination: Destination,
}

struct Finished {
    finished: report::Finished,
    stats: mpfec_core::ConnectionStats,
    paths: Vec<crate::output::PathReport>,
}

impl Scene {
    async fn start(
        context: &Context,
        setup: &Setup,
        seed: u64,
        dir: &Path,
    ) -> Result<Self, CliError> {
        let inbox = dir.join("received");
        let destination = std::fs::create_dir(&inbox)
            .and_then(|()| Destination::new(&inbox, false))
            .map_err(|error| temporary(&inbox, &error))?;
        let transport = engine::local_transport(&context.expert);
        let service = Service::listen(
            &[SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)],
            transport.clone(),
            None,
        )?;
        let server = service.endpoint.local_addrs().first().copied();
        let server = server.ok_or_else(|| CliError::other("cannot listen", "no address"))?;
        let relay = UdpRelay::start(setup, server, seed)
            .map_err(|error| CliError::other("cannot emulate the links", error))?;
        let client = Endpoint::client()
            .map_err(|error| CliError::other("cannot open an endpoint", error))?;
        context.note(&service.endpoint);
        context.note(&client);
        let config = ClientConfig::new(ClientTls::pinned(service.ticket.fingerprint()))
            .with_secret(service.ticket.secret())
            .with_transport(transport);
        let pairs = relay
            .paths()
            .iter()
            .map(|(_, address)| (LocalAddress::Any, *address))
            .collect();
        let connecting =
            client.connect_over(config, Paths::Exactly(pairs), service.ticket.addresses());
        let mut handshakes = JoinSet::new();
        let (sender, receiver) = tokio::join!(
            linked::connect(connecting, relay.paths(), LABEL, &context.output),
            service.accept(&mut handshakes)
        );
        let receiver =
            receiver.ok_or_else(|| CliError::other("the demo failed", "its receiver is gone"));
        Ok(Self {
            sender: sender?,
            receiver: receiver?,
            service,
            client,
            relay: Arc::new(relay),
            destination,
        })
    }

    /// The transfer, with Wi-Fi cut half way for a while.
    async fn play(
        self,
        context: &Context,
        source: &Path,
        setup: &Setup,
        size: u64,
    ) -> Result<Finished, CliError> {
        let output = context.output.clone();
        let items = scan(&[source.as_os_str().to_owned()], "", &output)?;
        let counters = Arc::new(Counters::default());
        let watched = Watched {
            names: Names::of_links(self.relay.paths()),
            label: LABEL.to_owned(),
            done: Arc::clone(&counters.bytes),
            total: Some(size),
            is_sender: true,
            patience: engine::LOCAL_PATIENCE,
            explain: false,
        };
        let started = clock::now();
        let monitor = Monitor::start(self.sender.clone(), output.clone(), watched);
        let accident = tokio::spawn(accident(
            Arc::clone(&self.relay),
            Arc::clone(&counters),
            output.clone(),
            Plan {
                started,
                size,
                outage: outage(setup, size),
            },
        ));
        let told = std::sync::atomic::AtomicU64::new(0);
        let result = tokio::try_join!(
            send_all(&self.sender, items, &told),
            take(&self.receiver, &self.destination, &counters),
        );
        let elapsed = clock::now() - started;
        accident.abort();
        let stats = self.sender.stats();
        let paths = monitor.finish().await;
        let (
            Sent {
                files,
                bytes,
                hash,
                longest_pause,
            },
            Received { hash: stored, .. },
        ) = result.map_err(|error| linked::lost(&self.sender, self.relay.paths(), error))?;
        self.sender.close(CloseCode::Done.to_wire(), "");
        // Both ends are ours: nobody is left in the dark.
        let _ = tokio::time::timeout(FAREWELL, async {
            self.client.wait_idle().await;
            self.service.endpoint.wait_idle().await;
        })
        .await;
        if stored != hash {
            return Err(corrupt(stored, hash));
        }
        let best_mbps = setup
            .paths
            .iter()
            .filter_map(mpfec_sim::PathSetup::limit_mbps)
            .reduce(f64::max);
        let finished = report::Finished {
            files,
            bytes,
            hash,
            elapsed,
            longest_pause,
            best_mbps,
        };
        Ok(Finished {
            finished,
            stats,
            paths,
        })
    }
}

async fn take(
    connection: &Connection,
    destination: &Destination,
    counters: &Arc<Counters>,
) -> Result<Received, CliError> {
    let (mut control, mut listen) = connection.accept_bi().await?;
    let Hello::Transfer(_) = frame::expect(&mut listen).await? else {
        return Err(CliError::protocol("not a transfer"));
    };
    let received = receive(connection, &mut control, destination, counters).await?;
    match received.failure {
        Some((name, failure)) => Err(failure.error(&name, received.failed)),
        None => Ok(received),
    }
}

/// When the accident happens.
struct Plan {
    started: Instant,
    size: u64,
    outage: Duration,
}

/// As long as it takes to send about a seventh of the file, three seconds at most.
fn outage(setup: &Setup, size: u64) -> Duration {
    let seventh = undisturbed(setup, size).mul_f64(0.15);
    seventh.clamp(SHORTEST_OUTAGE, LONGEST_OUTAGE)
}

/// Cuts the first link when half of the file is there, and restores it later.
async fn accident(relay: Arc<UdpRelay>, counters: Arc<Counters>, output: Output, plan: Plan) {
    let link = relay
        .paths()
        .first()
        .map(|(name, _)| name.clone())
        .unwrap_or_default();
    while counters.bytes.load(Ordering::Relaxed) < plan.size / 2 {
        tokio::time::sleep(GLANCE).await;
    }
    let report = || LinkReport {
        link: link.clone(),
        seconds: units::rounded((clock::now() - plan.started).as_secs_f64()),
    };
    relay.cut(0);
    output.say(&format!("--- {link} is cut ---"));
    output.event(&Event::LinkCut(report()));
    tokio::time::sleep(plan.outage).await;
    relay.restore(0);
    output.say(&format!("--- {link} is restored ---"));
    output.event(&Event::LinkRestored(report()));
}

/// The file on the disk against what was written at first.
async fn verify(
    stored: &Path,
    original: Hash,
    finished: &report::Finished,
) -> Result<(), CliError> {
    let hash = {
        let stored = stored.to_owned();
        blocking(move || hash_file(&stored).map_err(|error| CliError::source(&stored, &error)))
            .await?
    };
    if hash == original && finished.hash == original {
        Ok(())
    } else {
        Err(corrupt(hash, original))
    }
}

fn corrupt(got: Hash, want: Hash) -> CliError {
    CliError::new(
        Exit::Integrity,
        format!("the received file has BLAKE3 {got} and should have {want}"),
        "this is a bug: please report it with the output of mpfec demo -v",
    )
}

/// Fills a file with what cannot be compressed, the same for the same seed.
fn write_noise(file: &PathBuf, size: u64, seed: u64) -> std::io::Result<Hash> {
    let mut noise = Hasher::new()
        .update(b"mpfec demo")
        .update(&seed.to_be_bytes())
        .finalize_xof();
    let mut file = File::create(file)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; BUFFER];
    let mut left = size;
    while left > 0 {
        let length = left.min(BUFFER as u64) as usize;
        let Some(part) = buffer.get_mut(..length) else {
            break;
        };
        noise.fill(part);
        hasher.update(part);
        file.write_all(part)?;
        left -= length as u64;
    }
    Ok(hasher.finalize())
}

fn hash_file(file: &Path) -> std::io::Result<Hash> {
    let mut file = File::open(file)?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = file.read(&mut buffer)?;
        match buffer.get(..length).filter(|part| !part.is_empty()) {
            Some(part) => hasher.update(part),
            None => return Ok(hasher.finalize()),
        };
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CliError> + Send + 'static,
) -> Result<T, CliError> {
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| Err(CliError::other("the demo failed", error)))
}

const LABEL: &str = "demo";
const NAME: &str = "demo.bin";
/// What the links carry in about twenty seconds as they are.
const DESIGN_SIZE: u64 = 64 << 20;
const SLOWEST: f64 = 0.25;
const FASTEST: f64 = 16.0;
/// Files of next to nothing take round trips.
const SHORTEST: Duration = Duration::from_secs(1);
const SHORTEST_OUTAGE: Duration = Duration::from_millis(200);
const LONGEST_OUTAGE: Duration = Duration::from_secs(3);
const BUFFER: usize = 1 << 20;
const FAREWELL: Duration = Duration::from_secs(1);
/// Between two looks at how far it is.
const GLANCE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_scaled_with_the_file_within_bounds() {
        let rate = |size| links(size).unwrap().paths[0].forward.rate.unwrap();
        assert_eq!(rate(64 << 20), 20_000_000);
        assert_eq!(rate(128 << 20), 40_000_000);
        assert_eq!(rate(1), 5_000_000);
        assert_eq!(rate(1 << 40), 320_000_000);
    }

    #[test]
    fn the_time_that_is_told_is_what_the_links_take() {
        let told = |size| title(&links(size).unwrap(), size);
        let golden = [
            (1, "1 B", "1.0 s"),
            (64 << 20, "64.0 MiB", "19 s"),
            (1 << 30, "1.0 GiB", "19 s"),
            (4 << 30, "4.0 GiB", "1:13"),
        ];
        for (size, text, time) in golden {
            let told = told(size);
            assert!(told.starts_with(text), "{told}");
            assert!(told.ends_with(&format!(" in about {time}:")), "{told}");
        }
    }

    #[test]
    fn the_noise_repeats_from_its_seed() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, seed| write_noise(&dir.path().join(name), 100_000, seed).unwrap();
        let (a, b, c) = (write("a", 1), write("b", 1), write("c", 2));
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert_eq!(hash_file(&dir.path().join("a")).unwrap(), a);
    }
}
