//! Nothing is left behind but marks, tokens and records.

use super::finding::{Finding, Promise};
use super::story::Story;
use crate::simulation::event::What;

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    let end = story.end_at();
    for (job, left) in story.trace.left.iter().enumerate() {
        let (id, state) = (&story.trace.jobs[job], &left.state);
        let mut wrong = |text: String| {
            findings.push(Finding::new(Promise::Tidy, end, format!("{id}: {text}")));
        };
        if let Some(held) = &state.held {
            wrong(format!("a lock is left: {held:?}"));
        }
        let newest = story.grants[job].last();
        if state.token.map(tidelock::FencingToken::get) != newest.map(|grant| grant.token) {
            wrong(format!("the token is {:?}", state.token));
        }
        let mark = state.mark.as_ref().map(|mark| mark.point.occurrence);
        let of_epoch = story.moves[job].last().filter(|moved| moved.epoch == story.epochs[job]);
        if mark != of_epoch.map(|moved| moved.tick) {
            wrong(format!("the mark is {mark:?}"));
        }
        // The newest run that was released has closed all that were open before it.
        let closed = story.grants[job].iter().rev().find(|grant| grant.released.is_some());
        let open = state
            .open_runs
            .iter()
            .filter(|run| closed.is_some_and(|grant| run.token.get() <= grant.token));
        for run in open {
            wrong(format!("an open run is left: {run:?}"));
        }
    }
    ends(story, findings);
}

/// The last shutdown leaves no tasks and nothing unsaved.
fn ends(story: &Story<'_>, findings: &mut Vec<Finding>) {
    let blocking = story.plan.jobs.iter().any(|job| job.blocking);
    for event in &story.trace.events {
        let (life, text) = match event.what {
            What::TasksLeft(life, count) => (life, format!("{count} tasks are left")),
            What::Stopped { life, unsaved, .. } if unsaved > 0 => {
                (life, format!("{unsaved} records are unsaved"))
            }
            What::Stopped { life, still_running, .. } if still_running > 0 && !blocking => {
                (life, format!("{still_running} runs go on"))
            }
            _ => continue,
        };
        let last = story.lives[life].stopping.is_some_and(|at| at >= story.end_at());
        if last {
            let text = format!("{}: {text}", story.life(life));
            findings.push(Finding::new(Promise::Tidy, event.at, text));
        }
    }
}
