//! The handler, polled through its lease.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Run;
use super::call::NotBegun;
use super::life::Verdict;
use crate::RunContext;
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
    context: RunContext,
    handler: Option<Answering>,
    run: Arc<Run>,
}

impl Guard {
    /// Guards the job's handler, which is called once the lease is found alive.
    pub(super) fn new(context: RunContext, run: Arc<Run>) -> Self {
        Self { context, handler: None, run }
    }

    /// Drops what is left of the handler, which may panic.
    fn put_away(&mut self, ended: Ended) -> Poll<Ended> {
        let handler = self.handler.take();
        Poll::Ready(match shield(move || drop(handler)) {
            Ok(()) => ended,
            Err(message) => Ended::Panicked(message),
        })
    }

    /// Whether the handler may be polled now; if not, how it ends, unless that is to be settled.
    fn admit(&self) -> Result<(), Poll<Ended>> {
        // The code behind it cannot be stopped by dropping it: it is waited for whatever happens.
        if self.handler.is_some() && self.run.job.handler.is_blocking() {
            return Ok(());
        }
        match self.run.verdict() {
            Verdict::Alive => Ok(()),
            Verdict::Suspect => {
                self.run.life.renew_now.notify_one();
                self.run.core.unwatched.watch_now(&self.run);
                Err(Poll::Pending)
            }
            Verdict::Drop | Verdict::Dead => Err(Poll::Ready(Ended::Dropped)),
        }
    }
}

impl Future for Guard {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        self.run.life.wakes(context.waker());
        loop {
            match self.admit() {
                Ok(()) => {}
                Err(Poll::Pending) => return Poll::Pending,
                Err(Poll::Ready(ended)) => return self.put_away(ended),
            }
            let Self { context: told, handler, run } = &mut *self;
            let polled = shield(|| {
                let handler = handler.get_or_insert_with(|| run.call(told.clone()));
                handler.as_mut().poll(context)
            });
            match polled {
                Ok(Poll::Pending) => return Poll::Pending,
                // Its lease was in doubt when it had its thread: that is settled here.
                Ok(Poll::Ready(Err(error))) if error.is::<NotBegun>() => self.handler = None,
                Ok(Poll::Ready(result)) => return self.put_away(Ended::from_result(result)),
                Err(message) => return self.put_away(Ended::Panicked(message)),
            }
        }
    }
}
