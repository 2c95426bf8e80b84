//! One ordered queue for the ticks of all jobs. Pure: no clock, no async, no I/O.

use std::collections::BTreeSet;

/// By which clock a job's ticks are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The node's own.
    Wall,
    /// The backend's, as this node last heard it: for a node whose own clock is ahead of it.
    Server,
}

/// Both clocks at one moment, in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    pub(crate) wall: i64,
    /// `None`: no answer of the backend has told it yet.
    pub(crate) server: Option<i64>,
}

impl Clocks {
    pub(crate) fn read(self, basis: Basis) -> Option<i64> {
        match basis {
            Basis::Wall => Some(self.wall),
            Basis::Server => self.server,
        }
    }

    /// The moment by which ticks count as late or missed: what is not due by the backend's clock
    /// is neither, however far ahead this node's own may be.
    pub(crate) fn passed(self, basis: Basis) -> i64 {
        let now = self.read(basis).unwrap_or(self.wall);
        self.server.map_or(now, |server| now.min(server))
    }
}

/// When a slot is due.
pub(crate) type Place = (Basis, i64);

/// Slots in the order in which they are due, by either clock. The two are never compared with
/// each other: a clock that steps takes its own queue along, and nothing has to be sorted anew.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    wall: BTreeSet<(i64, u32)>,
    server: BTreeSet<(i64, u32)>,
}

impl Plan {
    fn queue(&mut self, basis: Basis) -> &mut BTreeSet<(i64, u32)> {
        match basis {
            Basis::Wall => &mut self.wall,
            Basis::Server => &mut self.server,
        }
    }

    /// Queues a slot. Tells whether it is due before all others of its queue, so that who sleeps
    /// until the former first one has to be woken.
    pub(crate) fn insert(&mut self, (basis, at): Place, slot: u32) -> bool {
        let queue = self.queue(basis);
        let earlier = queue.first().is_none_or(|&(first, _)| at < first);
        queue.insert((at, slot));
        earlier
    }

    pub(crate) fn remove(&mut self, (basis, at): Place, slot: u32) {
        self.queue(basis).remove(&(at, slot));
    }

    /// Takes the next slot that is due.
    pub(crate) fn pop_due(&mut self, clocks: Clocks) -> Option<(u32, Basis)> {
        [Basis::Wall, Basis::Server].into_iter().find_map(|basis| {
            let now = clocks.read(basis)?;
            let queue = self.queue(basis);
            let &(at, _) = queue.first()?;
            (at <= now).then(|| queue.pop_first().map(|(_, slot)| (slot, basis))).flatten()
        })
    }

    /// In how many milliseconds the next slot is due; `None`: none is known to become due.
    pub(crate) fn next_wake(&self, clocks: Clocks) -> Option<i64> {
        let in_ms = |queue: &BTreeSet<(i64, u32)>, now: i64| {
            queue.first().map(|&(at, _)| at.saturating_sub(now).max(0))
        };
        let wall = in_ms(&self.wall, clocks.wall);
        let server = clocks.server.and_then(|now| in_ms(&self.server, now));
        wall.into_iter().chain(server).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_out_in_order_and_none_before_its_time() {
        let mut plan = Plan::default();
        assert!(plan.insert((Basis::Wall, 20), 1));
        assert!(plan.insert((Basis::Wall, 10), 2));
        assert!(!plan.insert((Basis::Wall, 30), 3));
        let at = |wall| Clocks { wall, server: None };
        assert_eq!(plan.next_wake(at(4)), Some(6));
        assert_eq!(plan.pop_due(at(9)), None);
        assert_eq!(plan.pop_due(at(25)), Some((2, Basis::Wall)));
        assert_eq!(plan.pop_due(at(25)), Some((1, Basis::Wall)));
        assert_eq!(plan.pop_due(at(25)), None);
        plan.remove((Basis::Wall, 30), 3);
        assert_eq!(plan.next_wake(at(25)), None);
    }

    #[test]
    fn a_slot_planned_by_the_servers_clock_waits_until_that_clock_is_known() {
        let mut plan = Plan::default();
        plan.insert((Basis::Server, 10), 1);
        assert_eq!(plan.pop_due(Clocks { wall: 99, server: None }), None);
        assert_eq!(plan.next_wake(Clocks { wall: 99, server: Some(7) }), Some(3));
        let due = plan.pop_due(Clocks { wall: 0, server: Some(10) });
        assert_eq!(due, Some((1, Basis::Server)));
    }
}
