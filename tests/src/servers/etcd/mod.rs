//! etcd servers.

mod cluster;
mod member;
mod settings;

use std::net::SocketAddr;
use std::sync::OnceLock;

use member::{Member, has_binary};

pub use cluster::EtcdCluster;
pub use settings::EtcdSettings;

use super::http;
use super::origin::{either, variable};

/// Where a server for all tests of a process comes from.
const ENDPOINTS: &str = "TIDELOCK_TEST_ETCD_ENDPOINTS";

const HELP: &str = "no etcd for tests. One of these helps: a running container engine (Docker, \
    Podman) and the feature `containers`; the program etcd on the PATH (Debian: apt-get install \
    etcd-server) or its path in TIDELOCK_TEST_ETCD_BINARY; \
    TIDELOCK_TEST_ETCD_ENDPOINTS=http://host:port,.. of a cluster that may be written to";

/// An etcd server for tests. It ends with this process.
#[derive(Debug)]
pub struct EtcdServer(Origin);

#[derive(Debug)]
enum Origin {
    Outside(Vec<String>),
    #[cfg(feature = "containers")]
    Contained(super::container::Contained),
    Own(Member),
}

impl EtcdServer {
    /// The server that all tests of this process share: tests keep apart by their namespaces, and
    /// none stops it or changes its settings.
    ///
    /// # Panics
    ///
    /// When there is no way to get one; the message says how.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<EtcdServer> = OnceLock::new();
        SHARED.get_or_init(|| match variable(ENDPOINTS) {
            Some(endpoints) => {
                Self(Origin::Outside(endpoints.split(',').map(|e| e.trim().to_owned()).collect()))
            }
            None => {
                either(HELP, Self::container, has_binary(), || Self::start(EtcdSettings::new()))
            }
        })
    }

    /// A server that tests share and whose address is known, for a proxy: the
    /// [shared](Self::shared) one, or where that is a server from outside, one of this process's.
    pub fn shared_here() -> &'static Self {
        static OWN: OnceLock<EtcdServer> = OnceLock::new();
        match Self::shared() {
            Self(Origin::Outside(_)) => OWN.get_or_init(|| Self::start(EtcdSettings::new())),
            known => known,
        }
    }

    /// A server of the test's own, to be killed, stopped or set up differently.
    ///
    /// # Panics
    ///
    /// When there is no way to get one; the message says how.
    #[expect(clippy::needless_pass_by_value, reason = "as all fixtures are started")]
    pub fn start(settings: EtcdSettings) -> Self {
        assert!(has_binary(), "{HELP}");
        for _ in 0..3 {
            let mut member = Member::new(0, &settings);
            member.join(&member.peer());
            member.launch();
            // Another process may have taken a port in between.
            if member.wait() {
                return Self(Origin::Own(member));
            }
        }
        panic!("etcd does not start")
    }

    #[cfg(feature = "containers")]
    fn container() -> Result<Self, String> {
        let contained = super::container::Contained::start(super::container::Containable {
            image: ("TIDELOCK_TEST_ETCD_IMAGE", "quay.io/coreos/etcd:v3.5.21"),
            port: 2379,
            command: |port| {
                let advertised = format!("--advertise-client-urls=http://127.0.0.1:{port}");
                let listen = "--listen-client-urls=http://0.0.0.0:2379".into();
                vec!["etcd".into(), "--data-dir=/etcd-data".into(), listen, advertised]
            },
            is_ready: member::is_healthy,
        })?;
        Ok(Self(Origin::Contained(contained)))
    }

    #[cfg(not(feature = "containers"))]
    fn container() -> Result<Self, String> {
        Err("built without the feature `containers`".into())
    }

    /// Its address, for clients; of a server from outside, those of its members.
    pub fn endpoints(&self) -> Vec<String> {
        match &self.0 {
            Origin::Outside(endpoints) => endpoints.clone(),
            #[cfg(feature = "containers")]
            Origin::Contained(contained) => vec![format!("http://127.0.0.1:{}", contained.port)],
            Origin::Own(member) => {
                let scheme = if member.tls { "https" } else { "http" };
                vec![format!("{scheme}://127.0.0.1:{}", member.port)]
            }
        }
    }

    /// Its address, for a [`Proxy`](super::Proxy).
    ///
    /// # Panics
    ///
    /// When it is a server from outside.
    pub fn address(&self) -> SocketAddr {
        let port = match &self.0 {
            Origin::Outside(_) => panic!("a server from outside has endpoints alone"),
            #[cfg(feature = "containers")]
            Origin::Contained(contained) => contained.port,
            Origin::Own(member) => member.port,
        };
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Kills it (SIGKILL); the port refuses connections then.
    pub fn kill(&self) {
        self.member().place.kill();
    }

    /// Starts it again where it was killed, with what it had stored, and waits until it answers.
    pub fn restart(&self) {
        self.member().launch();
        assert!(self.member().wait(), "the server starts again");
    }

    /// Stops it without a word (SIGSTOP): connections stay, and nothing is answered.
    pub fn freeze(&self) {
        self.member().place.freeze();
    }

    /// Lets it go on after [`freeze`](Self::freeze).
    pub fn thaw(&self) {
        self.member().place.thaw();
    }

    /// What etcd's JSON gateway answers, such as to `kv/compaction` and `{"revision":"5"}`: the
    /// test's own hand on the server.
    ///
    /// # Panics
    ///
    /// When the answer is an error, and where the server speaks TLS, whose gateway does not.
    pub fn post(&self, path: &str, json: &str) -> String {
        self.post_with("", path, json)
    }

    /// The same of a user, by a token of hers.
    pub fn post_as(&self, token: &str, path: &str, json: &str) -> String {
        self.post_with(&format!("Authorization: {token}\r\n"), path, json)
    }

    fn post_with(&self, head: &str, path: &str, json: &str) -> String {
        let answer = http::post(self.address().port(), &format!("/v3/{path}"), head, json);
        answer.unwrap_or_else(|error| panic!("{path} {json}: {error}"))
    }

    /// How many messages of a method, such as `Txn` or `LeaseKeepAlive`, it has received since its
    /// start, by its own count.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    pub fn received(&self, method: &str) -> u64 {
        let name = format!("grpc_server_msg_received_total{{grpc_method=\"{method}\",");
        self.metric(&name).unwrap_or(0)
    }

    /// The first of its metrics whose line begins with that, such as `process_cpu_seconds_total `.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    pub fn metric<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let port = match &self.0 {
            Origin::Own(member) => member.plain,
            _ => self.address().port(),
        };
        let metrics = http::read(port, "/metrics").expect("a server that answers");
        let line = metrics.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
    }

    /// Makes the user `root` with that password, and asks all for theirs from now on.
    pub fn enable_auth(&self, password: &str) {
        self.post("auth/user/add", &format!(r#"{{"name":"root","password":"{password}"}}"#));
        self.post("auth/user/grant", r#"{"user":"root","role":"root"}"#);
        self.post("auth/enable", "{}");
    }

    fn member(&self) -> &Member {
        match &self.0 {
            Origin::Own(member) => member,
            _ => panic!("not a server of the test's own"),
        }
    }
}
