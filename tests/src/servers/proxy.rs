//! A TCP proxy for Redis that fails as a test wants it, and counts what passes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What becomes of what comes to a [`Proxy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// It passes.
    Open,
    /// It passes that much later, in either direction.
    Slow(Duration),
    /// Connections are accepted and stay; nothing passes, and what came meanwhile is lost.
    Silent,
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

    /// Its address, for clients.
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
    /// has been executed.
    pub fn cut_replies(&self, count: usize) {
        lock(&self.shared.state).cut = count;
    }

    /// The names of the commands that clients sent, in order, since they were last taken; what a
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
    tokio::select! {
        biased;
        _ = closings.changed() => {}
        () = requests(client_read, server_write, &shared) => {}
        () = replies(server_read, client_write, &shared) => {}
    }
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) {
    let (mut buffer, mut pending) = (vec![0; 64 * 1024], Vec::new());
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let Some(part) = buffer.get(..read) else {
            return;
        };
        pending.extend_from_slice(part);
        lock(&shared.state).commands.extend(commands(&mut pending));
        if !pass(shared).await {
            continue;
        }
        if to.write_all(part).await.is_err() {
            return;
        }
    }
}

async fn replies(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        {
            let mut state = lock(&shared.state);
            if state.cut > 0 {
                state.cut -= 1;
                return;
            }
        }
        if !pass(shared).await {
            continue;
        }
        let Some(part) = buffer.get(..read) else {
            return;
        };
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
        Way::Open | Way::Closed => {}
    }
    true
}

/// Takes whole commands off the front of what a client sent, and gives their names.
fn commands(pending: &mut Vec<u8>) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((name, length)) = command(pending) {
        pending.drain(..length);
        if !matches!(name.as_str(), "HELLO" | "CLIENT" | "AUTH" | "SELECT") {
            names.push(name);
        }
    }
    names
}

/// The name of the first command, and its length in bytes.
fn command(bytes: &[u8]) -> Option<(String, usize)> {
    let (count, mut at) = number(bytes, 0, b'*')?;
    let mut name = None;
    for _ in 0..count {
        let (length, start) = number(bytes, at, b'$')?;
        let argument = bytes.get(start..start + length)?;
        bytes.get(start + length..start + length + 2)?;
        name.get_or_insert_with(|| String::from_utf8_lossy(argument).to_uppercase());
        at = start + length + 2;
    }
    Some((name.unwrap_or_default(), at))
}

/// A number behind a sign and before a line's end, and where the next line begins.
fn number(bytes: &[u8], at: usize, sign: u8) -> Option<(usize, usize)> {
    let rest = bytes.get(at..)?;
    let end = rest.windows(2).position(|two| two == b"\r\n")?;
    let line = rest.get(..end)?.strip_prefix(&[sign])?;
    let number = std::str::from_utf8(line).ok()?.parse().ok()?;
    Some((number, at + end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_counted_whole_and_handshakes_are_not() {
        let mut pending = Vec::new();
        let sent = b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*1\r\n$4\r\nping\r\n*2\r\n$3\r\nGET\r\n$2\r\n";
        pending.extend_from_slice(sent);
        assert_eq!(commands(&mut pending), ["PING"]);
        pending.extend_from_slice(b"\r\n\r\n");
        assert_eq!(commands(&mut pending), ["GET"]);
        assert!(pending.is_empty());
    }
}
