//! Containers on a network of their own, from which any of them can be cut off.

use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use crate::servers::namespace;

/// Containers that share a network; all end with this value. Made and worked by the program
/// `docker`.
#[derive(Debug)]
pub struct Containers {
    network: String,
}

impl Containers {
    /// A network without anything on it.
    ///
    /// # Panics
    ///
    /// When no container engine answers.
    #[expect(clippy::new_without_default, reason = "it is work, and takes an engine")]
    pub fn new() -> Self {
        let network = namespace();
        docker(&["network", "create", &network]);
        Self { network }
    }

    /// An image of a program that is installed here, by its name or path: no registry is needed.
    ///
    /// # Panics
    ///
    /// When there is no such program.
    pub fn image(&self, program: &Path) -> String {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let image = format!("tidelock-{}:{}", name.to_lowercase(), self.network);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("image");
        let made = Command::new(script).arg(program).arg(&image).output().expect("tests/image");
        assert!(made.status.success(), "an image of {}: {made:?}", program.display());
        image
    }

    /// Starts a server, whose name is where others on the network find it.
    ///
    /// # Panics
    ///
    /// When it does not start.
    pub fn serve(&self, image: &str, name: &str, command: &[&str]) {
        let full = self.full(name);
        let mut arguments = vec!["run", "--detach", "--name", &full, "--network", &self.network];
        arguments.extend(["--network-alias", name, image]);
        arguments.extend(command);
        docker(&arguments);
    }

    /// The words that start a node in the foreground; it is removed when it ends.
    pub(super) fn foreground(&self, image: &str, name: &str) -> Command {
        let mut command = Command::new("docker");
        command.args([
            "run",
            "--rm",
            "--name",
            &self.full(name),
            "--network",
            &self.network,
            image,
        ]);
        command
    }

    /// Where it is reached from here.
    ///
    /// # Panics
    ///
    /// When it is cut off, or does not run.
    pub fn address(&self, name: &str) -> IpAddr {
        let format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
        let told = docker(&["inspect", "--format", format, &self.full(name)]);
        told.trim().parse().unwrap_or_else(|_| panic!("{name} has no address: {told}"))
    }

    /// Takes it off the network: connections stay, and nothing arrives. Whether it ran: this one
    /// and those below do nothing to one that has ended.
    pub fn cut(&self, name: &str) -> bool {
        ran(&["network", "disconnect", "--force", &self.network, &self.full(name)])
    }

    /// Puts it back on.
    pub fn heal(&self, name: &str) -> bool {
        ran(&["network", "connect", "--alias", name, &self.network, &self.full(name)])
    }

    /// Freezes all that runs in it.
    pub fn pause(&self, name: &str) -> bool {
        ran(&["pause", &self.full(name)])
    }

    /// Lets it go on.
    pub fn unpause(&self, name: &str) -> bool {
        ran(&["unpause", &self.full(name)])
    }

    /// Sends it a signal, such as `KILL`.
    pub fn signal(&self, name: &str, signal: &str) -> bool {
        ran(&["kill", "--signal", signal, &self.full(name)])
    }

    /// Starts a server again that was killed, with what it had stored.
    pub fn start(&self, name: &str) {
        docker(&["start", &self.full(name)]);
    }

    fn full(&self, name: &str) -> String {
        format!("{}-{name}", self.network)
    }
}

impl Drop for Containers {
    fn drop(&mut self) {
        let ours = format!("name=^/?{}-", self.network);
        let clean = format!(
            "docker ps --all --quiet --filter '{ours}' | xargs -r docker rm --force; \
             docker network rm {0}; \
             docker images --quiet --filter 'reference=*:{0}' | xargs -r docker rmi --force",
            self.network
        );
        let _ = Command::new("sh").args(["-c", &clean]).output();
    }
}

/// Does something to a container, named by the last argument; whether it had not ended.
fn ran(arguments: &[&str]) -> bool {
    // The engine has many words for one that has ended, is ending or is being removed, so it is
    // asked whether that is why. One that starts or ends may need a moment until it can be told.
    let name = arguments[arguments.len() - 1];
    let mut words = Vec::new();
    for _ in 0..100 {
        let done = said(arguments);
        if done.status.success() {
            return true;
        }
        words = done.stderr;
        let runs = said(&["inspect", "--format", "{{.State.Running}}", name]);
        let gone = String::from_utf8_lossy(&runs.stderr).to_lowercase().contains("no such");
        if gone || runs.stdout.starts_with(b"false") {
            return false;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("docker {arguments:?}: {}", String::from_utf8_lossy(&words))
}

/// What it says.
fn docker(arguments: &[&str]) -> String {
    let said = said(arguments);
    assert!(said.status.success(), "docker {arguments:?}: {said:?}");
    String::from_utf8_lossy(&said.stdout).into_owned()
}

fn said(arguments: &[&str]) -> Output {
    let said = Command::new("docker").args(arguments).output();
    said.expect("a container engine, and its program docker")
}
