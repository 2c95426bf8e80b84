//! Sending calls: each has a deadline, and is repeated where that can help.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{
    Client, Error as Driver, GetOptions, GetResponse, LeaseTimeToLiveResponse, Txn, TxnResponse,
};
use tokio::time::{Instant, sleep, timeout_at};

use crate::connection::{Place, Wire};
use crate::error::{Failure, Reach, failed, is_unusable};

const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(200);
/// Histories with long error texts are larger than what the driver takes by itself (4 MiB).
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;

/// Whether a call whose outcome is unknown may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It does the same once or twice.
    Safe,
    /// Whoever asked has to find out first.
    Never,
}

impl Wire {
    pub(crate) async fn txn(
        &self,
        operation: &'static str,
        repeat: Repeat,
        txn: Txn,
    ) -> Result<TxnResponse, Failure> {
        self.made_txn(operation, repeat, || txn.clone()).await
    }

    /// The same, made anew each time that it is sent: mostly once, and then a copy to keep would
    /// cost as much as it does itself.
    pub(crate) async fn made_txn(
        &self,
        operation: &'static str,
        repeat: Repeat,
        make: impl Fn() -> Txn + Send + Sync,
    ) -> Result<TxnResponse, Failure> {
        self.call(operation, self.timeouts.operation, repeat, |client| {
            let mut kv = client.kv_client().max_decoding_message_size(LARGEST_ANSWER);
            let txn = make();
            async move { kv.txn(txn).await }
        })
        .await
    }

    pub(crate) async fn get(
        &self,
        operation: &'static str,
        within: Duration,
        key: &str,
        options: GetOptions,
    ) -> Result<GetResponse, Failure> {
        self.call(operation, within, Repeat::Safe, |client| {
            let mut kv = client.kv_client().max_decoding_message_size(LARGEST_ANSWER);
            let (key, options) = (key.to_owned(), options.clone());
            async move { kv.get(key, Some(options)).await }
        })
        .await
    }

    /// A new lease of that many seconds: its number, and the seconds that it got.
    pub(crate) async fn grant_lease(
        &self,
        operation: &'static str,
        seconds: i64,
    ) -> Result<(i64, i64), Failure> {
        // Made twice, the one that nobody knows expires by itself.
        self.call(operation, self.timeouts.operation, Repeat::Safe, |client| async move {
            let granted = client.lease_client().grant(seconds, None).await?;
            Ok((granted.id(), granted.ttl()))
        })
        .await
    }

    /// Starts the life of a lease anew. [`Reach::NoLease`] where it is not there.
    ///
    /// One stream a beat: a stream that stays open has to be looked after (it never comes back when
    /// its server has gone), and its next answer may be that to an earlier beat.
    pub(crate) async fn keep_alive(
        &self,
        operation: &'static str,
        within: Duration,
        id: i64,
    ) -> Result<(), Failure> {
        self.call(operation, within, Repeat::Safe, |client| async move {
            client.lease_client().keep_alive(id).await.map(drop)
        })
        .await
    }

    /// Ends a lease, and all that stands under it. A transaction under it that arrives later fails.
    pub(crate) async fn revoke_lease(
        &self,
        operation: &'static str,
        id: i64,
    ) -> Result<(), Failure> {
        let revoked = self
            .call(operation, self.timeouts.operation, Repeat::Safe, |client| async move {
                client.lease_client().revoke(id).await.map(drop)
            })
            .await;
        match revoked {
            Err(Failure { reach: Reach::NoLease, .. }) => Ok(()),
            other => other,
        }
    }

    pub(crate) async fn time_to_live(
        &self,
        operation: &'static str,
        id: i64,
    ) -> Result<LeaseTimeToLiveResponse, Failure> {
        self.call(operation, self.timeouts.operation, Repeat::Safe, |client| async move {
            client.lease_client().time_to_live(id, None).await
        })
        .await
    }

    /// Sends a call, to one member after the other where it was surely never sent, or where it is
    /// safe to repeat.
    pub(crate) async fn call<T, F, C>(
        &self,
        operation: &'static str,
        within: Duration,
        repeat: Repeat,
        call: C,
    ) -> Result<T, Failure>
    where
        C: Fn(Arc<Client>) -> F + Send + Sync,
        F: Future<Output = Result<T, Driver>> + Send,
        T: Send,
    {
        let deadline = Instant::now() + within;
        // A member that hangs leaves time to ask another one.
        let share = if repeat == Repeat::Safe && self.count() > 1 { within / 2 } else { within };
        let (mut wait, mut asked, mut renewed) = (FIRST_WAIT, 0, false);
        loop {
            let until = (Instant::now() + share).min(deadline);
            let failure = match self.send(operation, until, &call).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let again = match failure.reach {
                Reach::NotSent | Reach::Passing | Reach::OldToken => true,
                Reach::Unknown => repeat == Repeat::Safe && failure.error.is_retryable(),
                Reach::Refused | Reach::Full | Reach::NoLease | Reach::Compacted => false,
            };
            if !again || Instant::now() >= deadline {
                return Err(failure);
            }
            if failure.reach == Reach::OldToken && !std::mem::replace(&mut renewed, true) {
                continue; // with the new one, at once
            }
            asked += 1;
            if asked % self.count() == 0 {
                // All have been asked by now.
                if Instant::now() + wait >= deadline {
                    return Err(failure);
                }
                sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        }
    }

    /// Sends once.
    async fn send<T, F, C>(
        &self,
        operation: &'static str,
        until: Instant,
        call: &C,
    ) -> Result<T, Failure>
    where
        C: Fn(Arc<Client>) -> F + Send + Sync,
        F: Future<Output = Result<T, Driver>> + Send,
        T: Send,
    {
        // With a user and password, connecting is a call itself: one that a member may not answer,
        // and that leaves time to ask another one.
        let (member, now) = (self.current(), Instant::now());
        let patience = until.saturating_duration_since(now) / if self.count() > 1 { 2 } else { 1 };
        let connecting = timeout_at(now + patience, self.client_of(member)).await;
        let (client, place) = match connecting {
            Err(_) => {
                self.leave(Place::of(member));
                let reach = Reach::NotSent;
                return Err(Failure { reach, ..Failure::silence(operation) });
            }
            Ok(Err((error, place))) => {
                self.leave(place);
                let mut failure = failed(operation, error);
                if failure.reach == Reach::Unknown {
                    failure.reach = Reach::NotSent; // the call itself
                }
                return Err(failure);
            }
            Ok(Ok(known)) => known,
        };
        match timeout_at(until, call(client.clone())).await {
            Ok(Ok(value)) => {
                self.answered(place);
                Ok(value)
            }
            Ok(Err(error)) => {
                if is_unusable(&error) {
                    self.forget(place);
                }
                let failure = failed(operation, error);
                match failure.reach {
                    Reach::NotSent | Reach::Passing | Reach::Unknown => self.leave(place),
                    Reach::OldToken => {
                        self.answered(place);
                        let refreshed = timeout_at(until, client.refresh_token()).await;
                        if let Ok(Err(error)) = refreshed {
                            return Err(failed(operation, error));
                        }
                    }
                    Reach::Refused | Reach::Full | Reach::NoLease | Reach::Compacted => {
                        self.answered(place);
                    }
                }
                Err(failure)
            }
            Err(_) => {
                self.silent(place);
                self.leave(place);
                Err(Failure::silence(operation))
            }
        }
    }
}
