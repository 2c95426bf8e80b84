//! Reading what a script answered.

use std::collections::HashMap;
use std::str::FromStr;
use std::vec;

use jiff::Timestamp;
use redis::Value;
use tidelock::BackendError;

use crate::error::malformed;

/// An answer: a list of texts, taken from its front. What does not read as expected is an error.
#[derive(Debug)]
pub(crate) struct Reply {
    operation: &'static str,
    items: vec::IntoIter<Value>,
}

impl Reply {
    pub(crate) fn new(operation: &'static str, value: Value) -> Result<Self, BackendError> {
        match value {
            Value::Array(items) => Ok(Self { operation, items: items.into_iter() }),
            _ => Err(malformed(operation, "the answer is no list")),
        }
    }

    pub(crate) fn odd(&self, what: &'static str) -> BackendError {
        malformed(self.operation, what)
    }

    /// The next one as it is.
    pub(crate) fn bytes(&mut self) -> Result<Option<Vec<u8>>, BackendError> {
        match self.items.next() {
            None => Ok(None),
            Some(Value::BulkString(bytes)) => Ok(Some(bytes)),
            Some(Value::SimpleString(text)) => Ok(Some(text.into_bytes())),
            Some(_) => Err(self.odd("a part of the answer is no text")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, BackendError> {
        let bytes = self.bytes()?;
        let bytes = bytes.ok_or_else(|| self.odd("the answer is too short"))?;
        String::from_utf8(bytes).map_err(|_| self.odd("a part of the answer is no UTF-8"))
    }

    pub(crate) fn parsed<T: FromStr>(&mut self, what: &'static str) -> Result<T, BackendError> {
        self.text()?.parse().map_err(|_| self.odd(what))
    }

    /// What was done, and behind a blank why a record was not stored.
    pub(crate) fn what(&mut self) -> Result<(String, String), BackendError> {
        let mut what = self.text()?;
        let unsaved = what.find(' ').map(|at| what.split_off(at)[1..].to_owned());
        Ok((what, unsaved.unwrap_or_default()))
    }

    /// The server's clock.
    pub(crate) fn clock(&mut self) -> Result<Timestamp, BackendError> {
        let text = self.text()?;
        microseconds(&text).ok_or_else(|| self.odd("the server's clock makes no sense"))
    }

    /// The rest, as texts.
    pub(crate) fn texts(&mut self) -> Result<Vec<String>, BackendError> {
        let mut all = Vec::with_capacity(self.items.len());
        while self.items.len() > 0 {
            all.push(self.text()?);
        }
        Ok(all)
    }

    /// The rest, as fields and their values.
    pub(crate) fn fields(&mut self) -> Result<Fields, BackendError> {
        let mut texts = self.texts()?.into_iter();
        let mut map = HashMap::new();
        while let (Some(field), Some(value)) = (texts.next(), texts.next()) {
            map.insert(field, value);
        }
        Ok(Fields { operation: self.operation, map })
    }

    /// The next one, which is a list itself.
    pub(crate) fn list(&mut self) -> Result<Self, BackendError> {
        let value = self.items.next().unwrap_or(Value::Nil);
        Self::new(self.operation, value)
    }
}

/// The fields of a hash.
#[derive(Debug)]
pub(crate) struct Fields {
    operation: &'static str,
    map: HashMap<String, String>,
}

impl Fields {
    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.map.contains_key(field)
    }

    pub(crate) fn odd(&self, what: &'static str) -> BackendError {
        malformed(self.operation, what)
    }

    /// The field, which must be there and make sense.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        field: &str,
        what: &'static str,
    ) -> Result<T, BackendError> {
        self.text(field).and_then(|text| text.parse().ok()).ok_or_else(|| self.odd(what))
    }

    /// The field, which may be away or empty but must else make sense.
    pub(crate) fn optional<T: FromStr>(
        &self,
        field: &str,
        what: &'static str,
    ) -> Result<Option<T>, BackendError> {
        match self.text(field) {
            None | Some("") => Ok(None),
            Some(_) => self.parsed(field, what).map(Some),
        }
    }

    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.map.get(field).map(String::as_str)
    }
}

/// Reads a number of microseconds since 1970.
pub(crate) fn microseconds(text: &str) -> Option<Timestamp> {
    Timestamp::from_microsecond(text.parse().ok()?).ok()
}
