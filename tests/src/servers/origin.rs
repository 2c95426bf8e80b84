//! By which way a server comes that all tests of a process share.

/// `container` or `binary`: which way to take where there are both.
const FORCED: &str = "TIDELOCK_TEST_SERVERS";

/// Takes a container where an engine answers, else the program; or what is forced.
///
/// # Panics
///
/// When there is no way to get one; the message says how, in the words of `help`.
pub(super) fn either<T>(
    help: &str,
    container: impl FnOnce() -> Result<T, String>,
    has_binary: bool,
    binary: impl FnOnce() -> T,
) -> T {
    match std::env::var(FORCED).as_deref() {
        Ok("binary") => {
            assert!(has_binary, "{help}");
            binary()
        }
        Ok("container") => container().unwrap_or_else(|why| panic!("{help} ({why})")),
        Ok(other) if !other.is_empty() => panic!("{FORCED}={other}: expected container or binary"),
        _ => container().unwrap_or_else(|why| {
            assert!(has_binary, "{help} ({why})");
            binary()
        }),
    }
}

/// What a variable of the environment says, unless it is empty.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
