//! A fleet in real time, for as long as is asked for.

use std::sync::Arc;

use super::{Real, Tally, Venue, play_real};
use crate::simulation::draw::draw_real;
use crate::simulation::log::Trace;
use crate::simulation::oracle::{Finding, judge};
use crate::simulation::plan::Plan;

/// How long one plan is, in seconds.
const PLAN: u64 = 60;

/// How much of the timeline is shown before and after what went wrong, in microseconds.
const AROUND: u64 = 15_000_000;

/// Plays plans of a minute one after the other, each at a venue of its own and with the next seed,
/// and judges them. `TIDELOCK_FLEET_SECONDS` says for how long in all (60), `TIDELOCK_FLEET_SEED`
/// is the first seed. `test` is how it is called: for the line that shows how to see it again.
///
/// # Panics
///
/// When something was found wrong; all of it is printed before.
#[expect(clippy::print_stdout, reason = "a test tells there what it saw")]
pub async fn endure<V: Venue>(test: &str, real: Real, venue: impl AsyncFn() -> V) {
    let seconds = number("TIDELOCK_FLEET_SECONDS").unwrap_or(PLAN);
    let first = number("TIDELOCK_FLEET_SEED").unwrap_or(20_261_130);
    let (mut all, mut wrong) = (Tally::default(), Vec::new());
    for seed in (first..).take(usize::try_from(seconds.div_ceil(PLAN)).unwrap_or(usize::MAX)) {
        let plan = draw_real(seed, PLAN.min(seconds), real);
        println!("seed {seed} for {} s", plan.end_at / 1_000);
        let trace = play_real(&plan, Arc::new(venue().await)).await;
        let findings = judge(&plan, &trace);
        let tally = Tally::of(&plan, &trace, findings.len());
        println!("seed {seed}: {tally}");
        if !findings.is_empty() {
            tell(test, &plan, &trace, &findings);
            wrong.push(seed);
        }
        all = all.and(&tally);
    }
    println!("{test}: {all}");
    assert!(wrong.is_empty(), "{} findings with the seeds {wrong:?}", all.findings);
}

/// What a variable says.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")))
}

/// Prints what is wrong and what led to it.
#[expect(clippy::print_stdout, reason = "a test tells there what it saw")]
fn tell(test: &str, plan: &Plan, trace: &Trace, findings: &[Finding]) {
    println!("{plan}");
    let at = findings.first().map_or(0, |finding| finding.at);
    println!("{}", trace.text_between(at.saturating_sub(AROUND), at.saturating_add(AROUND)));
    println!("{}", trace.left_text());
    findings.iter().for_each(|finding| println!("{finding}"));
    let name = format!("tidelock-fleet-{}-{}.log", plan.seed, std::process::id());
    let file = std::env::temp_dir().join(name);
    match std::fs::write(&file, trace.text()) {
        Ok(()) => println!("the whole timeline: {}", file.display()),
        Err(error) => println!("the whole timeline could not be written: {error}"),
    }
    println!("again: TIDELOCK_FLEET_SEED={} cargo test -p {test} -- --nocapture", plan.seed);
}
