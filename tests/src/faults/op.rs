//! The operations of a backend.

/// One of the operations of the three traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// [`LockBackend::acquire`](tidelock::LockBackend::acquire)
    Acquire,
    /// [`LockBackend::renew`](tidelock::LockBackend::renew)
    Renew,
    /// [`LockBackend::release`](tidelock::LockBackend::release)
    Release,
    /// [`LockBackend::inspect`](tidelock::LockBackend::inspect)
    Inspect,
    /// [`LockBackend::force_release`](tidelock::LockBackend::force_release)
    ForceRelease,
    /// [`RecordStore::save`](tidelock::RecordStore::save)
    Save,
    /// [`RecordStore::list`](tidelock::RecordStore::list)
    List,
    /// [`Backend::begin`](tidelock::Backend::begin)
    Begin,
    /// [`Backend::finish`](tidelock::Backend::finish)
    Finish,
}

impl Op {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Acquire,
        Self::Renew,
        Self::Release,
        Self::Inspect,
        Self::ForceRelease,
        Self::Save,
        Self::List,
        Self::Begin,
        Self::Finish,
    ];

    /// Its method's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Renew => "renew",
            Self::Release => "release",
            Self::Inspect => "inspect",
            Self::ForceRelease => "force_release",
            Self::Save => "save",
            Self::List => "list",
            Self::Begin => "begin",
            Self::Finish => "finish",
        }
    }
}
