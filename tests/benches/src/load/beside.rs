//! Ours beside a floor and a peer, at a server.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::{COLUMNS, Runs, Server, load};
use crate::goal::Goal;
use crate::measure::interleaved;
use crate::table::{Table, ratio, show};

/// As many runs at a time as there are jobs, at most.
pub(crate) const MOST: usize = 256;

/// What runs side by side at one server.
pub(crate) struct Beside<'a, S, F, O, P> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) server: &'a S,
    pub(crate) floor: Arc<F>,
    pub(crate) ours: Arc<O>,
    pub(crate) peer: Arc<P>,
    /// What the peer is called.
    pub(crate) peer_name: &'static str,
    pub(crate) rounds: usize,
    /// How long each round is.
    pub(crate) round: Duration,
}

/// The figures of [`load`] with that many runs at a time.
pub(crate) struct Found {
    pub(crate) at_a_time: usize,
    pub(crate) floor: Vec<f64>,
    pub(crate) ours: Vec<f64>,
    pub(crate) peer: Vec<f64>,
}

impl<S: Server, F: Runs, O: Runs, P: Runs> Beside<'_, S, F, O, P> {
    /// Measures all of them with 1, 16 and 256 runs at a time, and prints the table.
    pub(crate) fn measure(&self) -> Vec<Found> {
        let mut table = Table::new(&["at a time", COLUMNS[0], COLUMNS[1], COLUMNS[2]]);
        let mut all = Vec::new();
        for jobs in [1, 16, MOST] {
            let names = ["floor", "tidelock", self.peer_name];
            let mut found = interleaved(self.rounds, &names, |name| {
                self.runtime.block_on(async {
                    match *name {
                        "floor" => load(&self.floor, self.server, jobs, self.round).await,
                        "tidelock" => load(&self.ours, self.server, jobs, self.round).await,
                        _ => load(&self.peer, self.server, jobs, self.round).await,
                    }
                })
            });
            for (name, figures) in names.iter().zip(&found) {
                table.row(&format!("{jobs}: {name}"), figures.iter().map(|figure| show(*figure)));
            }
            let against = found[1].iter().zip(&found[0]).map(|(ours, floor)| ratio(*ours, *floor));
            table.row(&format!("{jobs}: tidelock / floor"), against);
            let [floor, ours, peer] = [0, 1, 2].map(|at| std::mem::take(&mut found[at]));
            all.push(Found { at_a_time: jobs, floor, ours, peer });
        }
        table.print();
        all
    }
}

impl Found {
    /// At least that part of the floor's runs a second, and that many times the peer's.
    pub(crate) fn tell_rates(&self, of_floor: f64, peer: &str, of_peer: f64) {
        let what = |whose: &str| format!("runs a second, {} at a time, of {whose}", self.at_a_time);
        Goal::at_least(what("the floor's"), self.ours[0] / self.floor[0], of_floor).tell();
        let ours = Goal::at_least(what(peer), self.ours[0] / self.peer[0], of_peer);
        ours.floor(self.floor[0] / self.peer[0]).tell();
    }

    /// At most that many times the floor's CPU time, of the server and of the client.
    pub(crate) fn tell_cpu(&self, server: f64, client: f64) {
        for (at, whose, limit) in [(1, "server", server), (2, "client", client)] {
            let what = format!("{whose} CPU a run, {} at a time, of the floor's", self.at_a_time);
            Goal::at_most(what, self.ours[at] / self.floor[at], limit).tell();
        }
    }
}
