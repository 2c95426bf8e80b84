//! Waiting, and what a process has spent and holds.

use std::time::Duration;

use cpu_time::ProcessTime;

use super::fires::now_us;

/// Waits until the process has nothing to do any more, or for so long at most.
pub(super) async fn settled(most: Duration) {
    let turns = most.as_millis() / TURN.as_millis();
    let mut quiet = 0;
    for _ in 0..turns {
        let before = ProcessTime::now();
        tokio::time::sleep(TURN).await;
        quiet = if before.elapsed() < BUSY { quiet + 1 } else { 0 };
        if quiet == QUIET {
            return;
        }
    }
}

const TURN: Duration = Duration::from_millis(100);
/// In a turn: 2 % of a core.
const BUSY: Duration = Duration::from_millis(2);
const QUIET: u32 = 3;

/// Waits until the machine's clock shows that many microseconds since 1970; whether it was not past.
pub(super) async fn wait_until(us: i64) -> bool {
    let left = us - now_us();
    tokio::time::sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0))).await;
    left >= 0
}

/// The memory of this process that is resident, in bytes.
pub(super) fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok());
    // Pages have 4 KiB on the machines that this is run on.
    pages.unwrap_or(f64::NAN) * 4096.0
}

/// A runtime as all contenders get it.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("no runtime: {error}"),
    }
}
