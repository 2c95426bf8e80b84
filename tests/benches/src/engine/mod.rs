//! The engine: ours over the memory backend, a floor, and the schedulers that are in use.
//!
//! Claims and records are included in ours, and absent in the others.

mod burst;
mod contenders;
mod fires;
mod idle;
mod lateness;
mod registration;
mod settled;
mod spread;
mod year;

use crate::bench::Bench;

pub(crate) const REGISTRATION: Bench = Bench {
    name: "registration",
    about: "jobs with a cron schedule in a zone: CPU and memory a job",
    run: registration::run,
    child: Some(registration::child),
};

pub(crate) const IDLE: Bench = Bench {
    name: "idle",
    about: "jobs that are not due: CPU over 20 s",
    run: idle::run,
    child: Some(idle::child),
};

pub(crate) const BURST: Bench = Bench {
    name: "burst",
    about: "jobs due on one second: how many run, how late, CPU a fire",
    run: burst::run,
    child: Some(burst::child),
};

pub(crate) const SPREAD: Bench = Bench {
    name: "spread",
    about: "10,000 jobs, each once a minute at a second of its own: how late, CPU a fire",
    run: spread::run,
    child: Some(spread::child),
};

pub(crate) const YEAR: Bench = Bench {
    name: "year",
    about: "a year of two jobs on three nodes in mocked time",
    run: year::run,
    child: Some(year::child),
};
