//! The handler, polled through its lease.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::Instant;

use super::Run;
use super::life::Verdict;
use crate::engine::events::chain;
use crate::engine::shield::shield;
use crate::job::{Answering, AnyError};

/// How a handler ended.
#[derive(Debug)]
pub(super) enum Ended {
    Succeeded,
    Failed(String),
    Panicked(String),
    /// Dropped unfinished, or never begun.
    Dropped,
}

impl Ended {
    fn from_result(result: Result<(), AnyError>) -> Self {
        match result {
            Ok(()) => Self::Succeeded,
            // Telling an error runs code of the user's, and so does dropping it.
            Err(error) => shield(move || chain(&*error)).map_or_else(Self::Panicked, Self::Failed),
        }
    }
}

/// A handler that is polled only while its lease is alive. Each poll first looks at the time gone
/// by: a lease dead by the monotonic clock drops the handler unpolled; dead by the wall clock
/// alone, it waits until a renewal has settled which.
pub(super) struct Guard {
    begin: Option<Box<dyn FnOnce() -> Answering + Send>>,
    handler: Option<Answering>,
    /// The code behind it cannot be stopped by dropping it: it is waited for whatever happens.
    unstoppable: bool,
    run: Arc<Run>,
}

impl Guard {
    /// Guards the handler that `begin` makes, which is called in the first poll.
    pub(super) fn new(
        begin: Box<dyn FnOnce() -> Answering + Send>,
        unstoppable: bool,
        run: Arc<Run>,
    ) -> Self {
        Self { begin: Some(begin), handler: None, unstoppable, run }
    }

    /// Drops what is left of the handler, which may panic.
    fn put_away(&mut self, ended: Ended) -> Poll<Ended> {
        let (begin, handler) = (self.begin.take(), self.handler.take());
        Poll::Ready(match shield(move || drop((begin, handler))) {
            Ok(()) => ended,
            Err(message) => Ended::Panicked(message),
        })
    }
}

impl Future for Guard {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let (core, life) = (&self.run.core, &self.run.life);
        life.wakes(context.waker());
        let begun = self.begin.is_none();
        if !(self.unstoppable && begun) {
            match life.verdict(Instant::now(), core.clock.now()) {
                Verdict::Alive => {}
                Verdict::Suspect => {
                    life.renew_now.notify_one();
                    core.unwatched.watch_now(&self.run);
                    return Poll::Pending;
                }
                Verdict::Drop | Verdict::Dead => return self.put_away(Ended::Dropped),
            }
        }
        if let Some(begin) = self.begin.take() {
            match shield(begin) {
                Ok(handler) => self.handler = Some(handler),
                Err(message) => return self.put_away(Ended::Panicked(message)),
            }
        }
        let Some(handler) = &mut self.handler else {
            return Poll::Ready(Ended::Dropped);
        };
        match shield(|| handler.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => self.put_away(Ended::from_result(result)),
            Err(message) => self.put_away(Ended::Panicked(message)),
        }
    }
}
