//! Servers in containers.

use testcontainers::core::IntoContainerPort;
use testcontainers::runners::SyncRunner;
use testcontainers::{Container, GenericImage, ImageExt};

use super::process::Guarded;
use super::redis::{free_port, is_ready};

/// Which image; default: the official one.
const IMAGE: &str = "TIDELOCK_TEST_REDIS_IMAGE";
const DEFAULT_IMAGE: &str = "docker.io/library/redis:7";

/// A container that is removed when this is dropped, and when this process ends.
#[derive(Debug)]
pub(super) struct Contained {
    pub(super) port: u16,
    // Statics are never dropped: for them there is the guard.
    _guard: Guarded,
    _container: Container<GenericImage>,
}

/// Starts a Redis in a container; the error says why there is none.
pub(super) fn redis() -> Result<Contained, String> {
    // The runner has a runtime of its own, which must not be entered from that of a test.
    let started = std::thread::spawn(start).join();
    started.unwrap_or_else(|_| Err("starting a container panicked".into()))
}

fn start() -> Result<Contained, String> {
    let image = std::env::var(IMAGE).unwrap_or_else(|_| DEFAULT_IMAGE.into());
    let (name, tag) = image.rsplit_once(':').unwrap_or((&image, "latest"));
    // A port chosen here: some engines tell of one of their choice in a way that is not understood.
    let port = free_port();
    let container = GenericImage::new(name, tag)
        .with_mapped_port(port, 6379.tcp())
        .with_cmd(["redis-server", "--save", "", "--protected-mode", "no"])
        .start()
        .map_err(|error| format!("no container of {image}: {error}"))?;
    let id = container.id().to_owned();
    let remove = r#"docker rm -f "$1" || podman rm -f "$1""#;
    let guard = Guarded::at_the_end(&["sh", "-c", remove, "sh", &id].map(String::from));
    for _ in 0..1_000 {
        if is_ready(port) {
            return Ok(Contained { port, _guard: guard, _container: container });
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err(format!("the container of {image} does not answer"))
}
