//! A node's life, as far as the checks ask for it.

use super::event::{Answered, Event, What};
use super::log::Trace;

/// How long it may take until no reply of those that were to be lost is lost any more.
const LOST_REPLIES_US: u64 = 10_000_000;

/// What may be wrong of a node for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ill {
    Frozen,
    Cut,
    /// Its answers come late, or replies to it are lost.
    Answers,
    /// Its records are not taken.
    Records,
}

/// A node's life.
#[derive(Debug, Default)]
pub(super) struct LifeStory {
    pub(super) seat: usize,
    pub(super) up: u64,
    /// When jobs got their other schedules on it.
    pub(super) edited: Vec<(u64, usize)>,
    /// When jobs were put back on it.
    pub(super) added: Vec<(u64, usize)>,
    /// When jobs were put back on it, or began anew with another schedule.
    pub(super) begun: Vec<(u64, usize)>,
    /// When it first had an answer about a tick.
    pub(super) heard: Option<u64>,
    /// When it was told to stop, or its scheduler was dropped.
    pub(super) stopping: Option<u64>,
    pub(super) dropped: bool,
    /// When it had shut down, with how many records unsaved.
    pub(super) stopped: Option<(u64, usize)>,
    /// How many runs went on when it had shut down.
    pub(super) still_running: usize,
    pub(super) killed: Option<u64>,
    /// When something was wrong.
    ills: Vec<(Ill, u64, u64)>,
}

/// The lives of all nodes.
pub(super) fn lives(trace: &Trace) -> Vec<LifeStory> {
    let seats = trace.seats.iter();
    let mut lives: Vec<_> = seats.map(|&seat| LifeStory { seat, ..LifeStory::default() }).collect();
    trace.events.iter().for_each(|event| tell(&mut lives, event));
    lives
}

fn tell(lives: &mut [LifeStory], &Event { at, what }: &Event) {
    match what {
        What::Heard(ask, answer) if answer != Answered::Failed => {
            let life = &mut lives[ask.life];
            life.heard = life.heard.or(Some(at));
        }
        What::Up(life) => lives[life].up = at,
        What::Stopping(life) => lives[life].stopping = Some(at),
        What::Dropped(life) => (lives[life].stopping, lives[life].dropped) = (Some(at), true),
        What::Stopped { life, unsaved, still_running, .. } => {
            let life = &mut lives[life];
            (life.stopped, life.still_running) = (Some((at, unsaved)), still_running);
        }
        What::Killed(life) => lives[life].killed = lives[life].killed.or(Some(at)),
        What::Edited(life, job) => {
            lives[life].edited.push((at, job));
            lives[life].begun.push((at, job));
        }
        What::Added(life, job) => {
            lives[life].added.push((at, job));
            lives[life].begun.push((at, job));
        }
        What::LostReplies(life, _) => {
            lives[life].ills.push((Ill::Answers, at, at + LOST_REPLIES_US));
        }
        What::Frozen(life) => lives[life].begins(Ill::Frozen, at),
        What::Thawed(life) => lives[life].ends(Ill::Frozen, at),
        What::Cut(life) => lives[life].begins(Ill::Cut, at),
        What::Healed(life) => lives[life].ends(Ill::Cut, at),
        What::Slow(life) => lives[life].begins(Ill::Answers, at),
        What::RecordsAway(life) => lives[life].begins(Ill::Records, at),
        What::AsEver(life) => {
            lives[life].ends(Ill::Answers, at);
            lives[life].ends(Ill::Records, at);
        }
        _ => {}
    }
}

impl LifeStory {
    fn begins(&mut self, ill: Ill, at: u64) {
        self.ills.push((ill, at, u64::MAX));
    }

    /// What is over now, if it was wrong.
    fn ends(&mut self, ill: Ill, at: u64) {
        let open = self.ills.iter_mut().filter(|(of, _, to)| *of == ill && *to == u64::MAX);
        open.for_each(|(_, _, to)| *to = at);
    }

    /// When something was wrong of it, in the order in which it began.
    pub(super) fn troubles(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ills.iter().map(|&(_, from, to)| (from, to))
    }

    /// When its records were not taken.
    pub(super) fn withheld(&self) -> impl Iterator<Item = (u64, u64)> {
        let of_records = self.ills.iter().filter(|(ill, ..)| *ill == Ill::Records);
        of_records.map(|&(_, from, to)| (from, to))
    }

    /// Whether it was shut down and left no record unsaved, and no run that goes on.
    pub(super) fn ended_in_order(&self) -> bool {
        !self.dropped
            && self.shut_down().is_some_and(|(_, unsaved)| unsaved + self.still_running == 0)
    }

    /// When it had shut down, and was not killed before that.
    pub(super) fn shut_down(&self) -> Option<(u64, usize)> {
        self.stopped.filter(|(end, _)| self.killed.is_none_or(|killed| killed > *end))
    }
}
