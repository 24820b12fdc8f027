//! The two hosts: a thread for all clients and one for all servers, each with a runtime of tokio.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::time;

use emulator::prefer_thread;
use quic_stacks::{DATAGRAM, RealClient};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, WriteError,
};
use scenario::{Application, Flow};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout_at};
use units::{Bytes, Duration};

use crate::error::RealError;
use crate::shared::Shared;
use crate::socket::Counted;
use crate::tls;

/// The ports of the first flow, of the clients and of the servers.
const CLIENT_PORT: u16 = 20_000;
const SERVER_PORT: u16 = 30_000;

/// The application writes pieces of this.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// The addresses of the client and of the server of a flow, at the hosts with these addresses.
pub(crate) fn addresses(hosts: [Ipv4Addr; 2], flow: u16) -> [SocketAddrV4; 2] {
    let [client, server] = hosts;
    [
        SocketAddrV4::new(client, CLIENT_PORT + flow),
        SocketAddrV4::new(server, SERVER_PORT + flow),
    ]
}

/// The flow whose client has this port.
pub(crate) fn flow_of(port: u16) -> Option<u16> {
    port.checked_sub(CLIENT_PORT)
}

/// A flow on one side.
pub(crate) struct End<C> {
    pub(crate) flow: usize,
    pub(crate) settings: Flow,
    pub(crate) socket: UdpSocket,
    pub(crate) config: C,
}

/// The clients, until the run is over.
pub(crate) fn send(shared: &Arc<Shared>, ends: Vec<(End<ClientConfig>, SocketAddrV4)>) {
    host(shared, || {
        let clients = ends.into_iter().map(|(end, to)| {
            let (socket, endpoint) = endpoint(&end, None)?;
            shared.update(end.flow, |progress| progress.socket = Some(socket));
            Ok(client(Arc::clone(shared), end, endpoint, to))
        });
        clients.collect()
    });
}

/// The servers, until the run is over.
pub(crate) fn receive(shared: &Arc<Shared>, ends: Vec<(End<ServerConfig>, RealClient)>) {
    host(shared, || {
        let servers = ends.into_iter().map(|(end, observed)| {
            let (_, endpoint) = endpoint(&end, Some(end.config.clone()))?;
            Ok(server(Arc::clone(shared), end.flow, endpoint, observed))
        });
        servers.collect()
    });
}

/// Runs tasks on a runtime in the calling thread, until the run is over.
fn host<F: Future<Output = ()> + Send + 'static>(
    shared: &Shared,
    tasks: impl FnOnce() -> Result<Vec<F>, RealError>,
) {
    prefer_thread();
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return shared.fail(RealError::System("starting tokio".into(), error)),
    };
    runtime.block_on(async {
        match tasks() {
            Ok(tasks) => {
                let _running: JoinSet<()> = tasks.into_iter().collect();
                shared.ended().await;
            }
            Err(error) => shared.fail(error),
        }
    });
}

/// quinn's endpoint of one side of a flow, and its socket.
fn endpoint<C>(
    end: &End<C>,
    server: Option<ServerConfig>,
) -> Result<(Arc<Counted>, Endpoint), RealError> {
    let failed = |error| RealError::System("opening an endpoint".to_owned(), error);
    let socket = end.socket.try_clone().map_err(failed)?;
    let socket = Counted::new(socket, end.settings.ecn).map_err(failed)?;
    let mut config = EndpointConfig::default();
    config
        .max_udp_payload_size(DATAGRAM)
        .expect("a datagram has at least 1200 bytes");
    let runtime = Arc::new(TokioRuntime);
    let endpoint = Endpoint::new_with_abstract_socket(config, server, socket.clone(), runtime);
    Ok((socket, endpoint.map_err(failed)?))
}

async fn client(shared: Arc<Shared>, end: End<ClientConfig>, endpoint: Endpoint, to: SocketAddrV4) {
    let flow = end.flow;
    sleep_until(shared.at(end.settings.start).into()).await;
    let start = shared.now();
    shared.update(flow, |progress| progress.start = Some(start));
    let connecting = match endpoint.connect_with(end.config, to.into(), tls::NAME) {
        Ok(connecting) => connecting,
        Err(error) => return shared.close(flow, error),
    };
    let connection = match connecting.await {
        Ok(connection) => connection,
        Err(error) => return shared.close(flow, error),
    };
    let now = shared.now();
    shared.update(flow, |progress| {
        progress.established = Some(now);
        progress.connection = Some(connection.clone());
    });
    // It fails where the connection is lost, which has the reason.
    let writing = write(&connection, &end.settings, shared.at(start));
    let is_stopped = match end.settings.duration {
        None => {
            let _ = writing.await;
            false
        }
        Some(span) => {
            let stop = shared.at(start + span);
            timeout_at(stop.into(), writing).await.is_err()
        }
    };
    // The flow is over, whatever quinn has buffered.
    if is_stopped {
        let now = shared.now();
        shared.update(flow, |progress| progress.finished = Some(now));
        connection.close(0u32.into(), b"");
    }
    let reason = connection.closed().await;
    shared.close(flow, reason);
}

/// The application of a flow that began at `start`: it writes what it has, and ends the stream.
async fn write(
    connection: &Connection,
    flow: &Flow,
    start: time::Instant,
) -> Result<(), WriteError> {
    let mut stream = connection.open_uni().await?;
    let mut left = flow.size.map_or(u64::MAX, Bytes::get);
    let mut next = start;
    while left > 0 {
        let (mut amount, every) = match flow.application {
            Application::Periodic { write, every } => (write.get().min(left), every),
            Application::Bulk | Application::Pausing { .. } => (left, Duration::ZERO),
        };
        sleep_until(next.into()).await;
        next += duration(every);
        if left != u64::MAX {
            left -= amount;
        }
        while amount > 0 {
            let piece = amount.min(ZEROS.len() as u64);
            stream.write_all(&ZEROS[..piece as usize]).await?;
            amount -= piece;
        }
    }
    // It fails where the connection is lost.
    let _ = stream.finish();
    Ok(())
}

const fn duration(span: Duration) -> time::Duration {
    time::Duration::from_nanos(span.as_nanos())
}

async fn server(shared: Arc<Shared>, flow: usize, endpoint: Endpoint, observed: RealClient) {
    if let Err(reason) = read(&shared, flow, &endpoint, &observed).await {
        shared.close(flow, reason);
    }
    // The endpoint answers until the run is over.
    shared.ended().await;
}

async fn read(
    shared: &Shared,
    flow: usize,
    endpoint: &Endpoint,
    observed: &RealClient,
) -> Result<(), String> {
    let incoming = endpoint.accept().await.ok_or("the endpoint is closed")?;
    let connection = incoming.await.map_err(|error| error.to_string())?;
    let stream = connection.accept_uni().await;
    let mut stream = stream.map_err(|error| error.to_string())?;
    let mut received = 0;
    loop {
        let chunk = stream.read_chunk(usize::MAX, true).await;
        let chunk = chunk.map_err(|error| error.to_string())?;
        let now = shared.now();
        let Some(chunk) = chunk else {
            shared.update(flow, |progress| progress.finished = Some(now));
            break;
        };
        received += chunk.bytes.len() as u64;
        observed.on_delivered(received);
        shared.update(flow, |progress| {
            if progress.finished.is_none() {
                progress.received = received;
            }
        });
    }
    shared.ended().await;
    Ok(())
}
