//! What a job runs.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::RunContext;

/// Any error of a handler.
pub(crate) type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A handler's answer, on its way.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<(), AnyError>> + Send>>;

/// What a handler may return: `()`, or `Result<(), E>` for any error that turns into a boxed one.
#[diagnostic::on_unimplemented(
    message = "a handler returns `()` or `Result<(), E>`, not `{Self}`",
    note = "end it with `Ok::<(), YourError>(())` where the error's type is not known otherwise"
)]
pub trait HandlerResult: Send + 'static {
    /// As a result with a boxed error.
    ///
    /// # Errors
    ///
    /// The handler's own.
    fn into_result(self) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

impl HandlerResult for () {
    fn into_result(self) -> Result<(), AnyError> {
        Ok(())
    }
}

impl<E: Into<AnyError> + Send + 'static> HandlerResult for Result<(), E> {
    fn into_result(self) -> Result<(), AnyError> {
        self.map_err(Into::into)
    }
}

#[derive(Clone)]
pub(crate) enum Handler {
    Async(Arc<dyn Fn(RunContext) -> Answering + Send + Sync>),
    Blocking(Arc<dyn Fn(RunContext) -> Result<(), AnyError> + Send + Sync>),
}

impl Handler {
    pub(crate) fn from_async<F, Fut>(handler: F) -> Self
    where
        F: Fn(RunContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: HandlerResult> + Send + 'static,
    {
        Self::Async(Arc::new(move |run| {
            let answering = handler(run);
            Box::pin(async move { answering.await.into_result() })
        }))
    }

    pub(crate) fn from_blocking<F, R>(handler: F) -> Self
    where
        F: Fn(RunContext) -> R + Send + Sync + 'static,
        R: HandlerResult,
    {
        Self::Blocking(Arc::new(move |run| handler(run).into_result()))
    }

    pub(crate) fn is_blocking(&self) -> bool {
        matches!(self, Self::Blocking(_))
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_blocking() { "blocking" } else { "async" })
    }
}
