//! Where a server of a test's own runs: its folder and its process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::process::Guarded;

/// Removes a folder, more than once: the server in it is killed in the same moment.
const REMOVE: &str =
    r#"for i in 1 2 3 4 5; do rm -rf "$1"; [ -e "$1" ] || exit 0; sleep 0.1; done"#;

/// A folder that nothing else uses, and the process of a server in it. Both end with this value,
/// and with this process.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    process: Mutex<Option<Guarded>>,
    // Statics are never dropped: for them there is the guard.
    _removing: Guarded,
}

impl Place {
    /// An empty folder for a server of that kind.
    pub(super) fn new(kind: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidelock-{kind}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // One of an earlier process of this id.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the server");
        let path = folder.display().to_string();
        let removing = Guarded::at_the_end(&["sh", "-c", REMOVE, "sh", &path].map(String::from));
        Self { folder, process: Mutex::default(), _removing: removing }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the server; it need not answer yet.
    pub(super) fn launch(&self, command: &[String]) {
        *self.process() = Some(Guarded::start(command));
    }

    /// Kills it (SIGKILL).
    pub(super) fn kill(&self) {
        drop(self.process().take());
    }

    #[cfg(feature = "etcd")]
    pub(super) fn is_running(&self) -> bool {
        self.process().is_some()
    }

    /// Stops it without a word (SIGSTOP).
    pub(super) fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub(super) fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        self.process().as_ref().expect("a running server").signal(signal);
    }

    fn process(&self) -> MutexGuard<'_, Option<Guarded>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether that program is there and says its version.
pub(super) fn has_program(program: &str) -> bool {
    let version = Command::new(program).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Waits until it is ready; whether it was within `limit`.
pub(super) fn wait_until(limit: Duration, is_ready: impl Fn() -> bool) -> bool {
    const STEP: Duration = Duration::from_millis(10);
    for _ in 0..limit.as_millis() / STEP.as_millis() {
        if is_ready() {
            return true;
        }
        std::thread::sleep(STEP);
    }
    false
}
