//! Drawing a plan from a seed.

mod disturbances;
mod jobs;
mod nodes;
mod operators;
mod place;
mod real;
mod setting;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::plan::Plan;

pub use real::draw_real;

/// How large the plans are that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// How many nodes; `None`: 2 to 7.
    pub nodes: Option<usize>,
    /// How many jobs; `None`: 1 to 6.
    pub jobs: Option<usize>,
    /// How long, in minutes of true time.
    pub minutes: u64,
}

impl Default for Size {
    fn default() -> Self {
        Self { nodes: None, jobs: None, minutes: 5 }
    }
}

impl Size {
    /// The default: any number of nodes and jobs, five minutes.
    pub fn any() -> Self {
        Self::default()
    }

    /// The same with that many nodes.
    #[must_use]
    pub fn nodes(self, nodes: usize) -> Self {
        Self { nodes: Some(nodes.clamp(1, 100)), ..self }
    }

    /// The same with that many jobs.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Self {
        Self { jobs: Some(jobs.clamp(1, 100)), ..self }
    }

    /// The same with that many minutes, at least two.
    #[must_use]
    pub fn minutes(self, minutes: u64) -> Self {
        Self { minutes: minutes.clamp(2, 10_000), ..self }
    }
}

/// The plan of a seed: the same for the same seed and size.
pub fn draw(seed: u64, size: Size) -> Plan {
    let mut random = StdRng::seed_from_u64(seed);
    let random = &mut random;
    let nodes = size.nodes.unwrap_or_else(|| random.random_range(2..=7));
    let count = size.jobs.unwrap_or_else(|| random.random_range(1..=6));
    let place = place::draw(random);
    let end_at = size.minutes * 60_000;
    // Some fleets have next to nothing to do, and nothing wakes them but the ends of naps.
    let quiet = chance(random, 4);
    let mut jobs = jobs::draw(random, count, &place, end_at, quiet);
    // After the healing: a lock of a node that has died goes, the next tick comes, and some time
    // in which all has to be as it should.
    let slowest = jobs.iter().map(|job| job.lock_ttl_ms() + 25_000).max().unwrap_or(0);
    let heal_at = end_at.saturating_sub(slowest.min(end_at / 2));
    let clocks_right_at = heal_at.saturating_sub(31_000);
    let mut nodes = nodes::draw(random, nodes, quiet);
    let mut disturbances = disturbances::draw(random, &nodes, &jobs, clocks_right_at, heal_at);
    let blocking_ms = if random.random() { random.random_range(1..2_000) } else { 9_000 };
    let store = setting::store(random, &mut nodes);
    setting::names(random, &mut nodes);
    if !quiet {
        jobs::edit(random, &mut jobs, &place, end_at);
    }
    operators::draw(random, &mut disturbances, &nodes, &jobs, heal_at);
    disturbances::late_renewals(random, &mut disturbances, &nodes, &jobs, heal_at);
    Plan {
        seed,
        start: place.start,
        store,
        nodes,
        jobs,
        disturbances,
        blocking_ms,
        clocks_right_at,
        heal_at,
        end_at,
        real: None,
    }
}

/// Whether something happens whose chance is that many per cent.
fn chance(random: &mut StdRng, per_cent: u32) -> bool {
    random.random_range(0..100) < per_cent
}

/// One of several.
fn one_of<T: Copy>(random: &mut StdRng, all: &[T]) -> T {
    all[random.random_range(0..all.len())]
}
