//! Application data over real sockets on loopback, both ends in this process on a runtime of
//! two threads: one path, and three. Every iteration is a stream of its own that is over when
//! the receiving application has read it all.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mpfec_core::net::{Connection, Endpoint, LocalAddress, Paths};
use mpfec_core::{ClientConfig, ClientTls, Rng, ServerConfig, ServerTls};
use tokio::runtime::{Builder, Runtime};

criterion_main!(benches);
criterion_group!(benches, transfer);

fn transfer(criterion: &mut Criterion) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut group = criterion.benchmark_group("transfer loopback");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5))
        .throughput(Throughput::Bytes(BYTES as u64));
    let data: Arc<[u8]> = (0..CHUNK).map(|at| (at * 31) as u8).collect();
    for paths in [1, 3] {
        let ends = runtime.block_on(connect(paths));
        group.bench_function(BenchmarkId::new("paths", paths), |bencher| {
            bencher.iter(|| carry(&runtime, &ends, &data));
        });
        runtime.block_on(async {
            ends.connection.close(0, "measured");
            ends.client.wait_idle().await;
        });
    }
    group.finish();
}

struct Ends {
    client: Endpoint,
    connection: Connection,
    _server: Endpoint,
    accepted: Connection,
}

async fn connect(paths: usize) -> Ends {
    let mut rng = Rng::system();
    let tls = ServerTls::self_signed(&mut rng);
    let config = ClientConfig::new(ClientTls::pinned(tls.fingerprint()));
    let any = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); paths];
    let server = Endpoint::server(ServerConfig::new(tls), &any).expect("free ports on loopback");
    let client = Endpoint::client().expect("a client");
    let addresses = server.local_addrs().to_vec();
    let wanted = Paths::Exactly(
        addresses
            .iter()
            .map(|address| (LocalAddress::Any, *address))
            .collect(),
    );
    let connecting = client.connect_over(config, wanted, &addresses);
    let accept = async { server.accept().await.expect("a client comes").await };
    let (connection, accepted) = tokio::join!(connecting, accept);
    let connection = connection.expect("loopback connects");
    let accepted = accepted.expect("loopback connects");
    while connection.paths().len() < paths {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ends {
        client,
        connection,
        _server: server,
        accepted,
    }
}

/// Sends [`BYTES`] bytes on a new stream and waits until they are read.
fn carry(runtime: &Runtime, ends: &Ends, data: &Arc<[u8]>) {
    let (connection, data) = (ends.connection.clone(), Arc::clone(data));
    let sender = runtime.spawn(async move {
        let mut stream = connection.open_uni().await.expect("an open connection");
        for _ in 0..BYTES / CHUNK {
            stream.write_all(&data).await.expect("an open stream");
        }
        stream.finish().expect("an open stream");
        stream.delivered().await.expect("an open connection");
    });
    let accepted = ends.accepted.clone();
    let receiver = runtime.spawn(async move {
        let mut stream = accepted.accept_uni().await.expect("an open connection");
        let mut bytes = 0;
        while let Some(chunk) = stream.read_chunk(CHUNK).await.expect("an open stream") {
            bytes += chunk.len();
        }
        bytes
    });
    let bytes = runtime.block_on(async {
        sender.await.expect("the sender ends well");
        receiver.await.expect("the receiver ends well")
    });
    assert_eq!(bytes, BYTES);
}

const BYTES: usize = 32 << 20;
const CHUNK: usize = 64 << 10;
