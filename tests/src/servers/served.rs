//! Servers and routes to them, for plans that are played in real time.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::Backend;

use super::proxy::{Proxy, Way};
use crate::simulation::{Route, Venue};

/// Servers that can be stopped and killed, by their numbers.
pub trait Servers: fmt::Debug + Send + Sync + 'static {
    /// Where they listen.
    fn addresses(&self) -> Vec<SocketAddr>;
    /// Stops one (SIGSTOP).
    fn freeze(&self, member: usize);
    /// Lets it go on.
    fn thaw(&self, member: usize);
    /// Kills one (SIGKILL).
    fn kill(&self, member: usize);
    /// Starts it again with what it had stored, and waits until it answers.
    fn restart(&self, member: usize);
}

/// Makes a client of the servers at these addresses.
type Connect = Arc<dyn Fn(&[SocketAddr]) -> Arc<dyn Backend> + Send + Sync>;

/// A [`Venue`]: servers, and a [`Proxy`] to each of them for each node.
#[derive(Clone)]
pub struct Served {
    servers: Arc<dyn Servers>,
    connect: Connect,
}

impl Served {
    /// These servers, and how a client of servers at such addresses is made.
    pub fn new<B: Backend>(
        servers: impl Servers,
        connect: impl Fn(&[SocketAddr]) -> B + Send + Sync + 'static,
    ) -> Self {
        let connect: Connect = Arc::new(move |addresses| Arc::new(connect(addresses)));
        Self { servers: Arc::new(servers), connect }
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("servers", &self.servers).finish_non_exhaustive()
    }
}

#[async_trait]
impl Venue for Served {
    async fn route(&self) -> Arc<dyn Route> {
        let mut proxies = Vec::new();
        for address in self.servers.addresses() {
            proxies.push(Proxy::to(address).await);
        }
        Arc::new(Proxied { proxies, connect: self.connect.clone() })
    }

    fn reader(&self) -> Arc<dyn Backend> {
        (self.connect)(&self.servers.addresses())
    }

    fn stop(&self, member: usize, dies: bool) {
        if dies {
            self.servers.kill(member);
        } else {
            self.servers.freeze(member);
        }
    }

    fn go_on(&self, member: usize, died: bool) {
        if died {
            self.servers.restart(member);
        } else {
            self.servers.thaw(member);
        }
    }
}

/// One node's proxies.
struct Proxied {
    proxies: Vec<Proxy>,
    connect: Connect,
}

impl fmt::Debug for Proxied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxied").field("proxies", &self.proxies).finish_non_exhaustive()
    }
}

impl Proxied {
    fn set(&self, way: Way) {
        self.proxies.iter().for_each(|proxy| proxy.set(way));
    }
}

impl Route for Proxied {
    fn backend(&self) -> Arc<dyn Backend> {
        let addresses: Vec<_> = self.proxies.iter().map(Proxy::address).collect();
        (self.connect)(&addresses)
    }

    fn cut(&self, silent: bool) -> bool {
        self.set(if silent { Way::Held } else { Way::Closed });
        true
    }

    fn slow(&self, by: Duration) -> bool {
        self.set(Way::Slow(by / 2));
        true
    }

    fn lose_replies(&self, count: usize) {
        self.proxies.iter().for_each(|proxy| proxy.cut_replies(count));
    }

    fn open(&self) {
        self.lose_replies(0);
        self.set(Way::Open);
    }
}
