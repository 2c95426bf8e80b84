//! A TCP proxy that fails as a test wants it, and counts what passes to Redis.

mod commands;
mod frames;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use frames::Frames;

/// What becomes of what comes to a [`Proxy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// It passes.
    Open,
    /// It passes that much later, in either direction.
    Slow(Duration),
    /// Connections are accepted and stay; nothing passes, and what came meanwhile is lost. No
    /// network does that to a connection that goes on: close those that there are before they do.
    Silent,
    /// Connections are accepted and stay; nothing passes as long as this lasts, and then all that
    /// came meanwhile, as in a network that is cut for a while. What its sender has given up by
    /// then arrives too.
    Held,
    /// Connections are closed at once.
    Closed,
}

/// A way to a server that a test can cut. It ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<SocketAddr>,
    way: watch::Sender<Way>,
    /// How often all connections were closed.
    closings: watch::Sender<u64>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many of the next replies are lost, with their connections.
    cut: usize,
    commands: Vec<String>,
}

impl Proxy {
    /// A proxy to the server at `target`.
    ///
    /// # Panics
    ///
    /// When it gets no port to listen on.
    pub async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            way: watch::Sender::new(Way::Open),
            closings: watch::Sender::new(0),
            state: Mutex::default(),
        });
        let accepting = spawn(accept(listener, shared.clone()));
        Self { address, shared, accepting }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address, for clients of etcd.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address, for clients of Redis.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Connections that come from now on go to another server; those that are open stay.
    pub fn lead_next_to(&self, target: SocketAddr) {
        *lock(&self.shared.target) = target;
    }

    /// Changes the way; connections that are open stay, unless it is [`Way::Closed`].
    pub fn set(&self, way: Way) {
        self.shared.way.send_replace(way);
        if way == Way::Closed {
            self.close();
        }
    }

    /// Closes all connections; new ones are as the way says.
    pub fn close(&self) {
        self.shared.closings.send_modify(|closings| *closings += 1);
    }

    /// The next `count` replies do not arrive, and their connections are closed: what was asked
    /// has been executed. (In HTTP/2 what only keeps a connection alive is no reply.)
    pub fn cut_replies(&self, count: usize) {
        lock(&self.shared.state).cut = count;
    }

    /// How many of them have not been cut yet.
    pub fn still_to_cut(&self) -> usize {
        lock(&self.shared.state).cut
    }

    /// The names of the commands that clients of Redis sent, in order, since they were last taken; what a
    /// connection begins with is left out.
    pub fn take_commands(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.state).commands)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.set(Way::Closed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "the network is no part of a node")]
fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(task)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            return;
        };
        if *shared.way.borrow() == Way::Closed {
            continue;
        }
        let target = *lock(&shared.target);
        let Ok(server) = TcpStream::connect(target).await else {
            continue;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        drop(spawn(serve(client, server, shared.clone())));
    }
}

async fn serve(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let mut closings = shared.closings.subscribe();
    let http2 = AtomicBool::new(false);
    tokio::select! {
        biased;
        _ = closings.changed() => {}
        () = requests(client_read, server_write, &shared, &http2) => {}
        () = replies(server_read, client_write, &shared, &http2) => {}
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    http2: &AtomicBool,
) {
    let (mut buffer, mut pending) = (vec![0; 64 * 1024], Vec::new());
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let Some(part) = buffer.get(..read) else {
            return;
        };
        if frames::is_preface(part) {
            http2.store(true, Ordering::Relaxed);
        }
        if !http2.load(Ordering::Relaxed) {
            pending.extend_from_slice(part);
            lock(&shared.state).commands.extend(commands::take(&mut pending));
        }
        if !pass(shared).await {
            continue;
        }
        if to.write_all(part).await.is_err() {
            return;
        }
    }
}

async fn replies(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    http2: &AtomicBool,
) {
    let (mut buffer, mut frames) = (vec![0; 64 * 1024], Frames::default());
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let Some(part) = buffer.get(..read) else {
            return;
        };
        if !http2.load(Ordering::Relaxed) || frames.begin_an_answer(part) {
            let mut state = lock(&shared.state);
            if state.cut > 0 {
                state.cut -= 1;
                return;
            }
        }
        if !pass(shared).await {
            continue;
        }
        if to.write_all(part).await.is_err() {
            return;
        }
    }
}

/// Whether what was read goes on, after the wait that the way asks for.
async fn pass(shared: &Shared) -> bool {
    let way = *shared.way.borrow();
    match way {
        Way::Slow(by) => tokio::time::sleep(by).await,
        Way::Silent => return false,
        Way::Held => {
            let mut ways = shared.way.subscribe();
            // There is a sender as long as this is: it is shared.
            let _ = ways.wait_for(|way| *way != Way::Held).await;
        }
        Way::Open | Way::Closed => {}
    }
    true
}
