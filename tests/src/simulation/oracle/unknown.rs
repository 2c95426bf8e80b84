//! What nobody can know: outcomes of which no node heard, and what a node that died had in hand.

use super::story::{Move, Story};

/// How long a node needs to store a record, when nothing is in its way.
const TO_SAVE_US: u64 = 15_000_000;

/// Whether the node that moved a mark has to have told of the ticks that did not run by it.
///
/// It need not when it never heard that it moved the mark. That is a known hole: when the reply to
/// a consumption is lost, and another node moves the mark before the retry, the tick is recorded
/// by nobody (the mark told of it, until it was moved). The same goes for the ticks before a grant
/// whose node heard of it only when its lock had gone: what the mark was before is then told by
/// the mark alone.
pub(super) fn must_be_told(story: &Story<'_>, moved: &Move, consumed: bool) -> bool {
    use crate::simulation::event::Answered;
    let Some(run) = story.runs.get(&moved.ask.run) else { return false };
    let Some((heard, answer)) = run.heard else { return false };
    if !consumed && answer == Answered::Expired {
        return false;
    }
    let life = &story.lives[moved.ask.life];
    match (life.shut_down(), life.killed) {
        // An end in good order: nothing was left unsaved.
        (Some((_, 0)), _) if !life.dropped => true,
        (_, Some(killed)) => {
            let bad = story.plan.nodes[life.seat].network.is_bad();
            !bad && heard + TO_SAVE_US < killed && story.is_well(moved.ask.life, heard, killed)
        }
        _ => false,
    }
}

/// Whether it is in order that a node never heard that it moved a mark: it asked again, or could
/// not.
pub(super) fn may_be_unheard(story: &Story<'_>, moved: &Move) -> bool {
    let Some(run) = story.runs.get(&moved.ask.run) else { return true };
    run.asked > 1
        || story.lives[moved.ask.life]
            .stopping
            .or(story.lives[moved.ask.life].killed)
            .is_some_and(|at| at < moved.at + TO_SAVE_US)
        || !story.is_well(moved.ask.life, moved.at, moved.at + TO_SAVE_US)
}
