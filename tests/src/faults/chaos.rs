//! Faults at random.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tidelock::ErrorKind;

use super::Fault;

/// Faults at random, the same for the same seed and the same calls.
///
/// Chances are of one call each, from 0 to 1, tried in the order of the methods here; none is set
/// at first. Print it where a test fails: it shows the seed.
#[derive(Debug)]
pub struct Chaos {
    seed: u64,
    fail: f64,
    lose_request: f64,
    lose_reply: f64,
    late: (f64, Duration),
    slow_reply: (f64, Duration),
    delay: (f64, Duration),
    random: StdRng,
}

impl Chaos {
    /// Chaos from that seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            fail: 0.0,
            lose_request: 0.0,
            lose_reply: 0.0,
            late: (0.0, Duration::ZERO),
            slow_reply: (0.0, Duration::ZERO),
            delay: (0.0, Duration::ZERO),
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The chance of [`Fault::Fail`] with [`ErrorKind::Unavailable`].
    #[must_use]
    pub fn fail(self, chance: f64) -> Self {
        Self { fail: chance, ..self }
    }

    /// The chance of [`Fault::LoseRequest`].
    #[must_use]
    pub fn lose_request(self, chance: f64) -> Self {
        Self { lose_request: chance, ..self }
    }

    /// The chance of [`Fault::LoseReply`].
    #[must_use]
    pub fn lose_reply(self, chance: f64) -> Self {
        Self { lose_reply: chance, ..self }
    }

    /// The chance of [`Fault::ArriveLate`], and by how much at most.
    #[must_use]
    pub fn arrive_late(self, chance: f64, max: Duration) -> Self {
        Self { late: (chance, max), ..self }
    }

    /// The chance of [`Fault::DelayReply`], and by how much at most.
    #[must_use]
    pub fn delay_reply(self, chance: f64, max: Duration) -> Self {
        Self { slow_reply: (chance, max), ..self }
    }

    /// The chance of [`Fault::Delay`], and by how much at most.
    #[must_use]
    pub fn delay(self, chance: f64, max: Duration) -> Self {
        Self { delay: (chance, max), ..self }
    }

    pub(super) fn next(&mut self) -> Option<Fault> {
        if self.hits(self.fail) {
            Some(Fault::Fail(ErrorKind::Unavailable))
        } else if self.hits(self.lose_request) {
            Some(Fault::LoseRequest)
        } else if self.hits(self.lose_reply) {
            Some(Fault::LoseReply)
        } else if self.hits(self.late.0) {
            Some(Fault::ArriveLate(self.up_to(self.late.1)))
        } else if self.slow_reply.0 > 0.0 && self.hits(self.slow_reply.0) {
            Some(Fault::DelayReply(self.up_to(self.slow_reply.1)))
        } else if self.hits(self.delay.0) {
            Some(Fault::Delay(self.up_to(self.delay.1)))
        } else {
            None
        }
    }

    fn hits(&mut self, chance: f64) -> bool {
        self.random.random::<f64>() < chance
    }

    fn up_to(&mut self, max: Duration) -> Duration {
        max.mul_f64(self.random.random::<f64>())
    }
}
