//! What nobody can know: outcomes of which no node heard, and what a node that died had in hand.

use super::story::{Move, Story};
use crate::simulation::event::{Answered, Ask, Life};

/// How long a node needs to store a record, when nothing is in its way.
const TO_SAVE_US: u64 = 15_000_000;

/// On such a way to the store records may come faster than they are saved, when some wait.
const SLOW_MS: u64 = 300;

/// How long before a moment what waits then may have begun to wait.
const BACKLOG_US: u64 = 70_000_000;

/// Whether somebody has to have told of the ticks that did not run by a move of the mark.
///
/// Its node has, if it heard of it and lived on. Otherwise what is untold stays at the backend, and
/// is named with each grant, until a run to which it was named is released: only the nodes of these
/// can take it with them, when they die with records in hand. Which ticks were passed over tells
/// only a node that has their schedule.
pub(super) fn must_be_told(story: &Story<'_>, job: usize, moved: &Move, consumed: bool) -> bool {
    let heard = |ask: &Ask| story.runs.get(&ask.run).and_then(|run| run.heard);
    let mover = heard(&moved.ask).filter(|(_, answer)| *answer != Answered::Expired);
    if mover.is_some_and(|(at, _)| tells(story, moved.ask.life, at)) {
        return true;
    }
    if moved.epoch < story.epochs[job] {
        // An operator has cleared the mark, and what was told with it.
        return false;
    }
    let mut settled = false;
    let named = story.grants[job].iter().filter(|grant| grant.at >= moved.at);
    let named = named.take_while(|grant| {
        let last = !settled;
        settled |= grant.ask.tick.is_some() && grant.released.is_some();
        last
    });
    let mut named = named.filter_map(|grant| Some((grant.ask, heard(&grant.ask)?.0)));
    let knows = |ask: Ask| consumed || ask.edited == moved.ask.edited;
    named.all(|(ask, at)| knows(ask) && tells(story, ask.life, at))
}

/// Whether a node tells what it has to tell from that moment on.
fn tells(story: &Story<'_>, life: Life, heard: u64) -> bool {
    let told = &story.lives[life];
    match (told.shut_down(), told.killed) {
        // An end in good order: nothing was left unsaved.
        (Some((_, 0)), _) if !told.dropped => true,
        (end, Some(killed)) => {
            let network = &story.plan.nodes[told.seat].network;
            // Records of a job are saved one after the other: those that waited come before it.
            let waits = end.map_or(0, |(_, unsaved)| unsaved as u64 * network.latency_ms * 4_000);
            let before = if network.latency_ms < SLOW_MS { 0 } else { BACKLOG_US };
            !network.is_bad()
                && heard + TO_SAVE_US + waits < killed
                && story.is_well(life, heard.saturating_sub(before), killed)
        }
        _ => false,
    }
}

/// Whether it is in order that a node never heard that it moved a mark: it asked again, or could
/// not, or asks no more, since no lock of that request can live by then: a server that stood still
/// takes it up when it goes on.
pub(super) fn may_be_unheard(story: &Story<'_>, moved: &Move) -> bool {
    let Some(run) = story.runs.get(&moved.ask.run) else { return true };
    let ttl = story.plan.jobs[moved.ask.job].lock_ttl_ms() * 1_000;
    run.asked > 1
        || run.asked_at.is_some_and(|asked| moved.at > asked + ttl)
        || story.lives[moved.ask.life]
            .stopping
            .or(story.lives[moved.ask.life].killed)
            .is_some_and(|at| at < moved.at + TO_SAVE_US)
        || !story.is_well(moved.ask.life, moved.at, moved.at + TO_SAVE_US)
}
