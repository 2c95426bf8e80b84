//! One etcd process of a test's own.

use std::sync::OnceLock;
use std::time::Duration;

use super::EtcdSettings;
use crate::servers::http;
use crate::servers::json::json_text;
use crate::servers::origin::variable;
use crate::servers::place::{Place, has_program, wait_until};
use crate::servers::ports::free_port;

/// Which program; default: the one on the PATH.
const BINARY: &str = "TIDELOCK_TEST_ETCD_BINARY";

/// A process, the ports where it listens, and how it is started.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) place: Place,
    pub(super) port: u16,
    pub(super) tls: bool,
    /// Where it answers plain HTTP.
    pub(super) plain: u16,
    peers: u16,
    name: String,
    command: Vec<String>,
}

impl Member {
    /// One of a cluster, by its number there; not yet started.
    pub(super) fn new(number: usize, settings: &EtcdSettings) -> Self {
        let (port, peers, name) = (free_port(), free_port(), format!("member-{number}"));
        let place = Place::new("etcd");
        let scheme = if settings.tls { "https" } else { "http" };
        let data = place.folder().join("data").display().to_string();
        let clients = format!("{scheme}://127.0.0.1:{port}");
        let others = format!("http://127.0.0.1:{peers}");
        let mut command = vec![program()];
        for (option, value) in [
            ("name", &name),
            ("data-dir", &data),
            ("listen-client-urls", &clients),
            ("advertise-client-urls", &clients),
            ("listen-peer-urls", &others),
            ("initial-advertise-peer-urls", &others),
        ] {
            command.push(format!("--{option}={value}"));
        }
        let mut plain = port;
        if settings.tls {
            plain = free_port();
            command.push(format!("--listen-metrics-urls=http://127.0.0.1:{plain}"));
        }
        command.extend(settings.arguments.iter().cloned());
        Self { place, port, tls: settings.tls, plain, peers, name, command }
    }

    /// How the others are told of it.
    pub(super) fn peer(&self) -> String {
        format!("{}=http://127.0.0.1:{}", self.name, self.peers)
    }

    /// Tells it of all members, itself included.
    pub(super) fn join(&mut self, peers: &str) {
        self.command.push(format!("--initial-cluster={peers}"));
    }

    /// Starts it, with what it had stored; it does not answer yet.
    pub(super) fn launch(&self) {
        self.place.launch(&self.command);
    }

    /// Waits until it answers and knows a leader; whether it does.
    pub(super) fn wait(&self) -> bool {
        wait_until(Duration::from_secs(15), || is_healthy(self.plain))
    }
}

fn program() -> String {
    variable(BINARY).unwrap_or_else(|| "etcd".into())
}

pub(super) fn has_binary() -> bool {
    static ONCE: OnceLock<bool> = OnceLock::new();
    *ONCE.get_or_init(|| has_program(&program()))
}

/// Whether a server there answers and knows a leader.
pub(super) fn is_healthy(port: u16) -> bool {
    let answer = http::read(port, "/health");
    answer.is_ok_and(|answer| json_text(&answer, "health") == Some("true"))
}
