//! Redis servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use super::origin::{either, variable};
use super::place::{Place, has_program, wait_until};
use super::ports::free_port;

/// Where a server for all tests of a process comes from.
const URL: &str = "TIDELOCK_TEST_REDIS_URL";

const HELP: &str = "no Redis for tests. One of these helps: a running container engine (Docker, \
    Podman) and the feature `containers`; the program redis-server on the PATH (Debian: apt-get \
    install redis-server); TIDELOCK_TEST_REDIS_URL=redis://host:port of a server that may be \
    written to";

/// A Redis server for tests. It ends with this process.
#[derive(Debug)]
pub struct RedisServer {
    port: u16,
    /// Of a server from outside, all that is known.
    url: Option<String>,
    settings: RedisSettings,
    place: Option<Place>,
    #[cfg(feature = "containers")]
    _contained: Option<super::container::Contained>,
}

/// How a server of one's own is set up.
#[derive(Clone, Debug, Default)]
pub struct RedisSettings {
    arguments: Vec<String>,
    durable: bool,
    sentinel: Option<String>,
}

impl RedisSettings {
    /// Nothing is kept over a restart.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was acknowledged is on the disk: for servers that are killed.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// A Sentinel, with these lines as its configuration.
    #[must_use]
    pub fn sentinel(mut self, configuration: &str) -> Self {
        self.sentinel = Some(configuration.to_owned());
        self
    }

    /// One more setting, such as `maxmemory 3mb`.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.arguments.push(format!("--{name}"));
        self.arguments.extend(value.split(' ').map(str::to_owned));
        self
    }
}

impl RedisServer {
    /// The server that all tests of this process share: tests keep apart by their namespaces, and
    /// none stops it or changes its settings.
    ///
    /// # Panics
    ///
    /// When there is no way to get one; the message says how.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<RedisServer> = OnceLock::new();
        SHARED.get_or_init(|| match variable(URL) {
            Some(url) => Self { url: Some(url), ..Self::at(0, RedisSettings::new(), None) },
            None => {
                either(HELP, Self::container, has_binary(), || Self::start(RedisSettings::new()))
            }
        })
    }

    /// A server that tests share and whose address is known, for a proxy: the
    /// [shared](Self::shared) one, or where that is a server from outside, one of this process's.
    pub fn shared_here() -> &'static Self {
        static OWN: OnceLock<RedisServer> = OnceLock::new();
        let shared = Self::shared();
        if shared.url.is_none() {
            return shared;
        }
        OWN.get_or_init(|| Self::start(RedisSettings::new()))
    }

    /// A server of the test's own, to be killed, stopped or set up differently.
    ///
    /// # Panics
    ///
    /// When there is no way to get one; the message says how.
    pub fn start(settings: RedisSettings) -> Self {
        assert!(has_binary(), "{HELP}");
        for _ in 0..10 {
            let (port, place) = (free_port(), Place::new("redis"));
            // Another process may have taken the port in between.
            if launch(port, &place, &settings) {
                return Self::at(port, settings, Some(place));
            }
        }
        panic!("redis-server does not start")
    }

    #[cfg(feature = "containers")]
    fn container() -> Result<Self, String> {
        let contained = super::container::Contained::start(super::container::Containable {
            image: ("TIDELOCK_TEST_REDIS_IMAGE", "docker.io/library/redis:7"),
            port: 6379,
            command: |_| {
                ["redis-server", "--save", "", "--protected-mode", "no"].map(Into::into).into()
            },
            is_ready,
        })?;
        let server = Self::at(contained.port, RedisSettings::new(), None);
        Ok(Self { _contained: Some(contained), ..server })
    }

    #[cfg(not(feature = "containers"))]
    fn container() -> Result<Self, String> {
        Err("built without the feature `containers`".into())
    }

    fn at(port: u16, settings: RedisSettings, place: Option<Place>) -> Self {
        Self {
            port,
            url: None,
            settings,
            place,
            #[cfg(feature = "containers")]
            _contained: None,
        }
    }

    /// Its address, for clients.
    pub fn url(&self) -> String {
        self.url.clone().unwrap_or_else(|| format!("redis://127.0.0.1:{}", self.port))
    }

    /// Its address, for a [`Proxy`](super::Proxy).
    ///
    /// # Panics
    ///
    /// When it is a server from outside.
    pub fn address(&self) -> SocketAddr {
        assert!(self.url.is_none(), "a server from outside has a URL alone");
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Kills it (SIGKILL); the port refuses connections then.
    pub fn kill(&self) {
        self.place().kill();
    }

    /// Starts it again where it was killed, with what it had stored, and waits until it answers.
    pub fn restart(&self) {
        assert!(launch(self.port, self.place(), &self.settings), "the server starts again");
    }

    /// How much stands in its append-only file by now.
    pub fn written(&self) -> u64 {
        std::fs::metadata(self.append_only()).map_or(0, |file| file.len())
    }

    /// Takes away what came into its append-only file after it had that length, as when the power
    /// fails before the disk has it. For a server that was killed.
    pub fn lose_after(&self, written: u64) {
        let file = std::fs::OpenOptions::new().write(true).open(self.append_only());
        let cut = file.and_then(|file| file.set_len(written));
        cut.expect("an append-only file");
    }

    fn append_only(&self) -> PathBuf {
        let folder = self.place().folder();
        // Redis 7 and later, and the one file of those before.
        let parts = folder.join("appendonlydir/appendonly.aof.1.incr.aof");
        if parts.exists() { parts } else { folder.join("appendonly.aof") }
    }

    /// Stops it without a word (SIGSTOP): connections stay, and nothing is answered.
    pub fn freeze(&self) {
        self.place().freeze();
    }

    /// Lets it go on after [`freeze`](Self::freeze).
    pub fn thaw(&self) {
        self.place().thaw();
    }

    fn place(&self) -> &Place {
        self.place.as_ref().expect("a server of the test's own")
    }
}

/// The one server, whatever its number.
impl super::Servers for RedisServer {
    fn addresses(&self) -> Vec<SocketAddr> {
        vec![self.address()]
    }

    fn freeze(&self, _member: usize) {
        self.freeze();
    }

    fn thaw(&self, _member: usize) {
        self.thaw();
    }

    fn kill(&self, _member: usize) {
        self.kill();
    }

    fn restart(&self, _member: usize) {
        self.restart();
    }
}

fn has_binary() -> bool {
    static ONCE: OnceLock<bool> = OnceLock::new();
    *ONCE.get_or_init(|| has_program("redis-server"))
}

/// Starts a server and waits until it answers; whether it does.
fn launch(port: u16, place: &Place, settings: &RedisSettings) -> bool {
    let command = match &settings.sentinel {
        None => server(port, place, settings),
        Some(lines) => {
            // A Sentinel writes into its configuration what it finds out.
            let folder = place.folder();
            let file = folder.join("sentinel.conf");
            let text = format!("port {port}\nbind 127.0.0.1\ndir {}\n{lines}", folder.display());
            std::fs::write(&file, text).expect("a file in the server's folder");
            vec!["redis-server".into(), file.display().to_string(), "--sentinel".into()]
        }
    };
    place.launch(&command);
    wait_until(Duration::from_secs(5), || is_ready(port))
}

fn server(port: u16, place: &Place, settings: &RedisSettings) -> Vec<String> {
    let mut command = vec!["redis-server".to_owned()];
    for (name, value) in [
        ("port", port.to_string()),
        ("bind", "127.0.0.1".into()),
        ("dir", place.folder().display().to_string()),
        ("save", String::new()),
    ] {
        command.extend([format!("--{name}"), value]);
    }
    if settings.durable {
        for part in ["--appendonly", "yes", "--appendfsync", "always"] {
            command.push(part.into());
        }
    }
    command.extend(settings.arguments.iter().cloned());
    command
}

/// Whether a server there answers a PING, if only by asking for a password or for patience.
fn is_ready(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        Ok::<_, std::io::Error>(answer)
    };
    let answers: [&[u8]; 3] = [b"+PONG", b"-NOAUTH", b"-LOADIN"];
    ask().is_ok_and(|answer| answers.iter().any(|known| answer.starts_with(known)))
}
