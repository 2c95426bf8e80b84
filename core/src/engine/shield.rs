//! Catching panics, wherever code of a user can panic.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs code that may panic. `Err` is what the panic said.
///
/// What the code had in hand is dropped or shared behind locks that do not poison, so that
/// nothing broken is seen afterwards.
pub(crate) fn shield<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(message)
}

/// Polls a future that may panic, to its end.
pub(crate) async fn shielded<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| match shield(|| future.as_mut().poll(context)) {
        Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(message) => Poll::Ready(Err(message)),
    })
    .await
}

fn message(payload: Box<dyn Any + Send>) -> String {
    let text = match payload.downcast_ref::<&'static str>() {
        Some(text) => Some((*text).to_owned()),
        None => payload.downcast_ref::<String>().cloned(),
    };
    // A payload may panic once more when it is dropped; what that leaves is let go.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
    text.unwrap_or_else(|| "a value that is no text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("in the destructor");
        }
    }

    #[test]
    fn any_payload_is_caught_even_one_that_panics_when_dropped() {
        assert_eq!(shield(|| 1), Ok(1));
        assert_eq!(shield(|| panic!("x{}", 1)), Err::<(), _>("x1".into()));
        let odd = shield(|| std::panic::panic_any(PanicsWhenDropped));
        assert_eq!(odd, Err::<(), _>("a value that is no text".into()));
    }
}
