//! An answer and the backend's clock.

use jiff::Timestamp;

/// What a backend answered, and what its clock showed then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// The backend's clock, where it has one.
    pub clock: Option<Timestamp>,
}

impl<T> Answer<T> {
    /// An answer given at that time by the backend's clock.
    pub fn new(value: T, clock: Option<Timestamp>) -> Self {
        Self { value, clock }
    }

    /// The answer turned into another, given at the same time.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Answer<U> {
        Answer { value: f(self.value), clock: self.clock }
    }
}
