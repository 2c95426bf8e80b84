//! Servers in containers.

use std::time::Duration;

use testcontainers::core::IntoContainerPort;
use testcontainers::runners::SyncRunner;
use testcontainers::{Container, GenericImage, ImageExt};

use super::origin::variable;
use super::place::wait_until;
use super::ports::free_port;
use super::process::Guarded;

/// What is to run in a container.
pub(super) struct Containable {
    /// The variable that names an image, and the one to take where it does not.
    pub(super) image: (&'static str, &'static str),
    /// Where the server listens inside.
    pub(super) port: u16,
    /// Its command, for the port by which it is reached from here.
    pub(super) command: fn(u16) -> Vec<String>,
    /// Whether it answers there.
    pub(super) is_ready: fn(u16) -> bool,
}

/// A container that is removed when this is dropped, and when this process ends.
#[derive(Debug)]
pub(super) struct Contained {
    pub(super) port: u16,
    // Statics are never dropped: for them there is the guard.
    _guard: Guarded,
    _container: Box<Container<GenericImage>>,
}

impl Contained {
    /// Starts it; the error says why there is none.
    pub(super) fn start(what: Containable) -> Result<Self, String> {
        // The runner has a runtime of its own, which must not be entered from that of a test.
        let started = std::thread::spawn(move || start(&what)).join();
        started.unwrap_or_else(|_| Err("starting a container panicked".into()))
    }
}

fn start(what: &Containable) -> Result<Contained, String> {
    let (chosen, default) = what.image;
    let image = variable(chosen).unwrap_or_else(|| default.into());
    let (name, tag) = image.rsplit_once(':').unwrap_or((&image, "latest"));
    // A port chosen here: some engines tell of one of their choice in a way that is not understood.
    let port = free_port();
    let container = GenericImage::new(name, tag)
        .with_mapped_port(port, what.port.tcp())
        .with_cmd((what.command)(port))
        .start()
        .map_err(|error| format!("no container of {image}: {error}"))?;
    let id = container.id().to_owned();
    let remove = r#"docker rm -f "$1" || podman rm -f "$1""#;
    let guard = Guarded::at_the_end(&["sh", "-c", remove, "sh", &id].map(String::from));
    if wait_until(Duration::from_secs(10), || (what.is_ready)(port)) {
        return Ok(Contained { port, _guard: guard, _container: Box::new(container) });
    }
    Err(format!("the container of {image} does not answer"))
}
