//! Histories, short and long.

use std::sync::Arc;
use std::time::Duration;

use tidelock::{Acquisition, RecordQuery, RecordStore};
use tidelock_etcd::EtcdBackend;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Etcd, backend};
use crate::bench::Bench;
use crate::goal::Goal;
use crate::load::{Jobs, runtime};
use crate::measure::{interleaved, median, us};
use crate::table::{Table, show};

pub(crate) const BENCH: Bench = Bench {
    name: "etcd-history",
    about: "a run's end and a list of 100 with 100 and with 20,000 runs behind them",
    run,
    child: None,
};

const LONG: usize = 20_000;
const ROUNDS: usize = 5;
const CALLS: usize = 40;

fn run() {
    let runtime = runtime();
    let etcd = Etcd::shared();
    // Of each: how many runs are behind, and how many are kept.
    let cases = [
        ("20,000, of 100 kept, compacted", LONG, 100),
        ("100, of 100 kept", 100, 100),
        ("20,000, of 100 kept", LONG, 100),
        ("20,000, all kept", LONG, LONG),
    ];
    let jobs = runtime.block_on(async {
        let mut jobs = Vec::new();
        for (_, behind, keep) in &cases {
            jobs.push(history(&etcd.endpoints, *behind, *keep).await);
            if jobs.len() == 1 {
                // As clusters do from time to time; the others are not there yet.
                etcd.compact().await;
            }
        }
        jobs
    });
    let found = interleaved(ROUNDS, &jobs, |jobs| runtime.block_on(figures(jobs)));
    let mut table = Table::new(&["runs behind", "`finish`, us", "`list(100)`, us", "records"]);
    for ((name, ..), figures) in cases.iter().zip(&found) {
        table.row(name, figures.iter().map(|figure| show(*figure)));
    }
    table.print();
    let [compacted, short, ..] = &found[..] else { return };
    for (at, call) in ["finish", "list(100)"].iter().enumerate() {
        let what = format!("`{call}` with 20,000 behind, compacted, of that with 100");
        Goal::at_most(what, compacted[at] / short[at], 1.15).tell();
    }
}

/// A job with so many runs behind it.
async fn history(endpoints: &str, behind: usize, keep: usize) -> Jobs<EtcdBackend> {
    let jobs = Arc::new(Jobs::new(backend(endpoints, keep).await, 1, "node-1"));
    let mut tasks = JoinSet::new();
    for part in 0..behind.min(100) {
        let jobs = jobs.clone();
        let each = (part..behind).step_by(100).count();
        tasks.spawn(async move {
            for _ in 0..each {
                jobs.save(0).await;
            }
        });
    }
    tasks.join_all().await;
    Arc::into_inner(jobs).expect("no task is left")
}

/// What a `finish` and a list take, medians in microseconds, and how many records were listed.
async fn figures(jobs: &Jobs<EtcdBackend>) -> Vec<f64> {
    let (mut finishing, mut listing, mut listed) = (Vec::new(), Vec::new(), 0);
    for _ in 0..CALLS {
        let (request, record) = jobs.ask(0);
        let Acquisition::Granted(grant) = jobs.begin(&request, &record).await else {
            panic!("a tick that nobody else asks for is granted");
        };
        let begun = Instant::now();
        jobs.finish(&grant.lease, record).await;
        finishing.push(us(begun.elapsed()));
        let (begun, query) = (Instant::now(), RecordQuery::newest(jobs.id(0), 100));
        listed = jobs.backend.list(&query).await.expect("a list").len();
        listing.push(us(begun.elapsed()));
        tokio::time::sleep(Duration::ZERO).await;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 100")]
    let listed = listed as f64;
    vec![median(finishing), median(listing), listed]
}
