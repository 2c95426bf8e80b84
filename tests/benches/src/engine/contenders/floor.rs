//! The least that runs jobs on time: a heap, one timer, a spawn a fire; no locks, no records. And the
//! same with them: each fire takes its tick at the memory backend and leaves a record there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidelock_memory::MemoryBackend;

use super::{Running, When};
use crate::engine::fires::{Fires, now_us};
use crate::load::Jobs;

/// An expression as 32 bytes of bits. Days are not looked at: those of this benchmark are all any.
struct Bits {
    seconds: u64,
    minutes: u64,
    hours: u32,
    _days: u32,
    _months: u16,
    _weekdays: u8,
}

type Handler = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

struct Entry {
    bits: Bits,
    handler: Handler,
}

pub(super) fn start(fires: &Arc<Fires>, when: &[When]) -> Running {
    start_with(when, |number| {
        let fires = fires.clone();
        Box::new(move || {
            let fires = fires.clone();
            Box::pin(async move { fires.fired(number) })
        })
    })
}

pub(super) fn start_claiming(fires: &Arc<Fires>, when: &[When]) -> Running {
    let jobs = Arc::new(Jobs::new(MemoryBackend::new(), when.len(), "bench"));
    start_with(when, |number| {
        let (fires, jobs) = (fires.clone(), jobs.clone());
        Box::new(move || {
            let (fires, jobs) = (fires.clone(), jobs.clone());
            Box::pin(async move { jobs.run_with(number, || fires.fired(number)).await })
        })
    })
}

#[expect(clippy::disallowed_methods, reason = "the floor has no seam for its tasks")]
fn start_with(when: &[When], handler: impl Fn(usize) -> Handler) -> Running {
    let now = now_us() / 1_000_000;
    let entry =
        |(number, when): (usize, &When)| Entry { bits: Bits::new(*when), handler: handler(number) };
    let entries: Vec<Entry> = when.iter().enumerate().map(entry).collect();
    let mut heap: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::with_capacity(entries.len());
    for (slot, entry) in (0..).zip(&entries) {
        heap.push(Reverse((entry.bits.next_after(now), slot)));
    }
    Box::new(tokio::spawn(run(entries, heap)))
}

#[expect(clippy::disallowed_methods, reason = "the floor has no seam for its tasks")]
async fn run(entries: Vec<Entry>, mut heap: BinaryHeap<Reverse<(i64, u32)>>) {
    while let Some(&Reverse((due, slot))) = heap.peek() {
        let left = due * 1_000_000 - now_us();
        if left > 0 {
            tokio::time::sleep(Duration::from_micros(left.unsigned_abs())).await;
            continue;
        }
        heap.pop();
        let entry = &entries[slot as usize];
        drop(tokio::spawn((entry.handler)()));
        heap.push(Reverse((entry.bits.next_after(due), slot)));
    }
}

impl Bits {
    fn new(when: When) -> Self {
        let any = Self {
            seconds: 1,
            minutes: (1 << 60) - 1,
            hours: (1 << 24) - 1,
            _days: u32::MAX,
            _months: u16::MAX,
            _weekdays: u8::MAX,
        };
        match when {
            When::Daily(at) => Self {
                seconds: 1 << (at % 60),
                minutes: 1 << (at / 60 % 60),
                hours: 1 << (at / 3_600),
                ..any
            },
            When::EachMinute(second) => Self { seconds: 1 << second, ..any },
            // Yesterday's hour: not within the day that any of this lasts.
            When::Yearly => {
                Self { minutes: 1, hours: 1 << ((now_us() / 3_600_000_000 + 23) % 24), ..any }
            }
        }
    }

    /// The first second later than `t` that matches.
    fn next_after(&self, t: i64) -> i64 {
        let from = t + 1;
        let (hour, minute, second) = (from / 3_600 % 24, from / 60 % 60, from % 60);
        let hour_start = from - from % 3_600;
        if u64::from(self.hours) >> hour & 1 == 1 {
            let left = self.seconds >> second;
            if self.minutes >> minute & 1 == 1 && left != 0 {
                return from + i64::from(left.trailing_zeros());
            }
            let left = self.minutes >> minute >> 1;
            if left != 0 {
                let minute = minute + 1 + i64::from(left.trailing_zeros());
                return hour_start + minute * 60 + i64::from(self.seconds.trailing_zeros());
            }
        }
        let ahead = (1..=24).find(|ahead| u64::from(self.hours) >> ((hour + ahead) % 24) & 1 == 1);
        let minute = i64::from(self.minutes.trailing_zeros());
        let second = i64::from(self.seconds.trailing_zeros());
        hour_start + ahead.unwrap_or(24) * 3_600 + minute * 60 + second
    }
}
