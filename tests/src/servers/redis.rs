//! Redis servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::process::Guarded;

/// Where a server for all tests of a process comes from.
const URL: &str = "TIDELOCK_TEST_REDIS_URL";
/// `container` or `binary`: which way to take where there are both.
const FORCED: &str = "TIDELOCK_TEST_SERVERS";

const HELP: &str = "no Redis for tests. One of these helps: a running container engine (Docker, \
    Podman) and the feature `containers`; the program redis-server on the PATH (Debian: apt-get \
    install redis-server); TIDELOCK_TEST_REDIS_URL=redis://host:port of a server that may be \
    written to";

/// A Redis server for tests. It ends with this process.
#[derive(Debug)]
pub struct RedisServer {
    host: String,
    port: u16,
    /// Whatever a URL from outside says more.
    url: Option<String>,
    settings: RedisSettings,
    place: Option<Place>,
    #[cfg(feature = "containers")]
    contained: Option<super::container::Contained>,
}

/// How a server of one's own is set up.
#[derive(Clone, Debug, Default)]
pub struct RedisSettings {
    arguments: Vec<String>,
    durable: bool,
    sentinel: Option<String>,
}

/// Where a server of one's own runs.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    process: Mutex<Option<Guarded>>,
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

/// A name that no other test uses.
pub fn namespace() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let started = std::process::id();
    // A server from outside may remember the last process of this id.
    format!("test-{started}-{:x}-{number}", entropy())
}

fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    static ONCE: OnceLock<u64> = OnceLock::new();
    *ONCE.get_or_init(|| RandomState::new().build_hasher().finish())
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
        SHARED.get_or_init(|| match std::env::var(URL) {
            Ok(url) if !url.is_empty() => Self::outside(url),
            _ => Self::any(RedisSettings::new()),
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
        Self::binary(settings)
    }

    fn any(settings: RedisSettings) -> Self {
        match std::env::var(FORCED).as_deref() {
            Ok("binary") => Self::binary(settings),
            Ok("container") => Self::container().expect("a Redis in a container"),
            Ok(other) if !other.is_empty() => {
                panic!("{FORCED}={other}: expected container or binary")
            }
            _ => match Self::container() {
                Ok(server) => server,
                Err(why) => {
                    assert!(has_binary(), "{HELP} ({why})");
                    Self::binary(settings)
                }
            },
        }
    }

    #[cfg(feature = "containers")]
    fn container() -> Result<Self, String> {
        super::container::redis().map(|contained| {
            let mut server = Self::at(contained.port, RedisSettings::new(), None);
            server.contained = Some(contained);
            server
        })
    }

    #[cfg(not(feature = "containers"))]
    fn container() -> Result<Self, String> {
        Err("built without the feature `containers`".into())
    }

    fn outside(url: String) -> Self {
        let mut server = Self::at(0, RedisSettings::new(), None);
        server.url = Some(url);
        server
    }

    fn at(port: u16, settings: RedisSettings, place: Option<Place>) -> Self {
        Self {
            host: "127.0.0.1".into(),
            port,
            url: None,
            settings,
            place,
            #[cfg(feature = "containers")]
            contained: None,
        }
    }

    fn binary(settings: RedisSettings) -> Self {
        assert!(has_binary(), "{HELP}");
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        for _ in 0..10 {
            let port = free_port();
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("tidelock-redis-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).expect("a folder for the server");
            let process = launch(port, &folder, &settings);
            // Another process may have taken the port in between.
            if let Some(process) = process {
                let process = Mutex::new(Some(process));
                return Self::at(port, settings, Some(Place { folder, process }));
            }
        }
        panic!("redis-server does not start")
    }

    /// Its address, for clients.
    pub fn url(&self) -> String {
        self.url.clone().unwrap_or_else(|| format!("redis://{}:{}", self.host, self.port))
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
        drop(self.process().take());
    }

    /// Starts it again where it was killed, with what it had stored, and waits until it answers.
    pub fn restart(&self) {
        let place = self.place();
        let process = launch(self.port, &place.folder, &self.settings);
        *self.process() = Some(process.expect("the server starts again"));
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
        let folder = &self.place().folder;
        // Redis 7 and later, and the one file of those before.
        let parts = folder.join("appendonlydir/appendonly.aof.1.incr.aof");
        if parts.exists() { parts } else { folder.join("appendonly.aof") }
    }

    /// Stops it without a word (SIGSTOP): connections stay, and nothing is answered.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on after [`freeze`](Self::freeze).
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let process = self.process();
        process.as_ref().expect("a running server").signal(signal);
    }

    fn place(&self) -> &Place {
        self.place.as_ref().expect("a server of the test's own")
    }

    fn process(&self) -> MutexGuard<'_, Option<Guarded>> {
        let process = self.place().process.lock();
        process.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            self.kill();
            let _ = std::fs::remove_dir_all(&place.folder);
        }
    }
}

fn has_binary() -> bool {
    static ONCE: OnceLock<bool> = OnceLock::new();
    *ONCE.get_or_init(|| {
        let version = Command::new("redis-server").arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    })
}

/// A port that nobody listens on, as far as one can tell.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// Starts a server and waits until it answers; `None` when it does not.
fn launch(port: u16, folder: &Path, settings: &RedisSettings) -> Option<Guarded> {
    let command = match &settings.sentinel {
        None => server(port, folder, settings),
        Some(lines) => {
            // A Sentinel writes into its configuration what it finds out.
            let file = folder.join("sentinel.conf");
            let text = format!("port {port}\nbind 127.0.0.1\ndir {}\n{lines}", folder.display());
            std::fs::write(&file, text).ok()?;
            let file = file.display().to_string();
            vec!["redis-server".into(), file, "--sentinel".into()]
        }
    };
    let process = Guarded::start(&command);
    for _ in 0..500 {
        if is_ready(port) {
            return Some(process);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

fn server(port: u16, folder: &Path, settings: &RedisSettings) -> Vec<String> {
    let mut command = vec!["redis-server".to_owned()];
    for (name, value) in [
        ("port", port.to_string()),
        ("bind", "127.0.0.1".into()),
        ("dir", folder.display().to_string()),
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
pub(super) fn is_ready(port: u16) -> bool {
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
