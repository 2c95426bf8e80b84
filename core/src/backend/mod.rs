//! What the scheduler holds: locks and records as one.

mod answer;
mod combined;
mod error;
mod preflight;

use std::sync::Arc;

use async_trait::async_trait;

pub use answer::Answer;
pub use combined::Combined;
pub use error::{BackendError, ErrorKind};
pub use preflight::{Finding, Preflight, Severity};

use crate::{
    AcquireRequest, Acquisition, Lease, LockBackend, OpenRun, Record, RecordStore, Release,
};

/// The answer to [`Backend::begin`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Begun {
    /// The lock's part.
    pub acquisition: Acquisition,
    /// Abandoned runs whose records are not closed yet: the caller saves them as such.
    pub unclosed: Vec<OpenRun>,
    /// Why the run's record was not stored, when it was granted and that failed. The grant stands.
    pub unsaved: Option<BackendError>,
}

impl Begun {
    /// Done in one step: every record is as the acquisition says.
    pub fn whole(acquisition: Acquisition) -> Self {
        Self { acquisition, unclosed: Vec::new(), unsaved: None }
    }
}

/// The answer to [`Backend::finish`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The lock's part.
    pub release: Release,
    /// Why the record was not stored, when that failed. The release stands; the caller saves the
    /// record alone, again until it is in.
    pub unsaved: Option<BackendError>,
}

impl Finished {
    /// Released, and the record is in.
    pub fn whole(release: Release) -> Self {
        Self { release, unsaved: None }
    }
}

/// The two moments of a run, each in one step where the backend can.
///
/// # Contract
///
/// The numbers are those of the conformance suite.
///
/// 1. [`begin`](Self::begin) answers as [`acquire`](LockBackend::acquire) does, in every line of
///    its contract.
/// 2. The record `running` is stored, with the token of the grant, if and only if the run was
///    granted.
/// 3. The records of runs that the grant names as abandoned are closed in the same step, or named
///    in [`Begun::unclosed`].
/// 4. [`finish`](Self::finish) answers as [`release`](LockBackend::release) does; the record `done`
///    is stored as [`save`](RecordStore::save) stores it, even when the lock was not held.
/// 5. The release comes first and stands even when the record cannot be written.
/// 6. Both may be repeated.
#[async_trait]
pub trait Backend: LockBackend + RecordStore {
    /// Asks for one occurrence, and stores the record of the run if it is granted.
    ///
    /// # Errors
    ///
    /// As for [`LockBackend::acquire`].
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been executed.
    async fn begin(
        &self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Result<Answer<Begun>, BackendError>;

    /// Gives the lock up and stores how the run ended.
    ///
    /// # Errors
    ///
    /// As for [`LockBackend::release`]. A record that could not be stored is no error: it is told
    /// in [`Finished::unsaved`].
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been executed.
    async fn finish(&self, lease: &Lease, done: &Record) -> Result<Answer<Finished>, BackendError>;
}

macro_rules! forward_backend {
    ($pointer:ident) => {
        #[async_trait]
        #[warn(clippy::missing_trait_methods)]
        impl<T: Backend + ?Sized> Backend for $pointer<T> {
            async fn begin(
                &self,
                request: &AcquireRequest,
                running: &Record,
            ) -> Result<Answer<Begun>, BackendError> {
                (**self).begin(request, running).await
            }
            async fn finish(
                &self,
                lease: &Lease,
                done: &Record,
            ) -> Result<Answer<Finished>, BackendError> {
                (**self).finish(lease, done).await
            }
        }
    };
}

forward_backend!(Arc);
forward_backend!(Box);
