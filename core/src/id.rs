//! Names of jobs and nodes.

use std::fmt;
use std::sync::Arc;

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 200;

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid {what} id {found:?}: {reason}; expected 1 to {MAX_ID_BYTES} bytes without control characters and without a blank at either end"
)]
#[non_exhaustive]
pub struct IdError {
    /// Whose id it would have been: `job` or `node`.
    pub what: &'static str,
    /// The text, cut to a printable length.
    pub found: String,
    /// The rule it breaks.
    pub reason: &'static str,
}

fn check(what: &'static str, id: &str) -> Result<(), IdError> {
    let reason = if id.is_empty() {
        "it is empty"
    } else if id.len() > MAX_ID_BYTES {
        "it is too long"
    } else if id.chars().any(char::is_control) {
        "it has a control character"
    } else if id.starts_with(char::is_whitespace) || id.ends_with(char::is_whitespace) {
        "it begins or ends with a blank"
    } else {
        return Ok(());
    };
    let found = id.chars().take(64).collect();
    Err(IdError { what, found, reason })
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        ///
        /// 1 to [`MAX_ID_BYTES`] bytes, no control characters, no blank at either end; compared
        /// byte by byte. Cheap to clone.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a text as an id.
            ///
            /// # Errors
            ///
            /// [`IdError`] names the rule that the text breaks.
            pub fn new(id: impl AsRef<str>) -> Result<Self, IdError> {
                let id = id.as_ref();
                check($what, id)?;
                Ok(Self(id.into()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(id: &str) -> Result<Self, IdError> {
                Self::new(id)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

id_type!(
    /// The name of a job, the same on every node.
    JobId,
    "job"
);
id_type!(
    /// The name of one scheduler instance.
    ///
    /// Two nodes may by mistake bear the same name: locks are safe even then, since a
    /// [`Holder`](crate::Holder) is unique per acquisition.
    NodeId,
    "node"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_compared_byte_by_byte_and_blanks_at_the_ends_are_refused() {
        assert_ne!(JobId::new("x").unwrap(), JobId::new("X").unwrap());
        for bad in ["", " x", "x ", "\u{3000}x", "a\0b", "a\nb"] {
            assert!(JobId::new(bad).is_err(), "{bad:?}");
        }
        assert!(JobId::new("é".repeat(100)).is_ok());
        assert!(JobId::new("é".repeat(101)).is_err());
        let error = NodeId::new("x".repeat(300)).unwrap_err().to_string();
        assert!(error.contains("node id") && error.contains("too long") && error.len() < 300);
    }
}
