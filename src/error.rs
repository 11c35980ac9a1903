//! The one error type inside norn: a status of the C API and a sentence that
//! names the culprit.

use std::borrow::Cow;

use crate::abi::status::{norn_status, status_name};

/// An error on its way to the caller.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {text}", status_name(*.status).to_string_lossy())]
pub struct Error {
    status: norn_status,
    text: Cow<'static, str>,
}

impl Error {
    /// An error with its sentence. An empty text means the status's own sentence.
    pub fn new(status: norn_status, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            text: text.into(),
        }
    }

    /// The status a C caller sees.
    pub fn status(&self) -> norn_status {
        self.status
    }

    /// The sentence `norn_last_error` shows.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Result with norn's error.
pub type Result<T> = std::result::Result<T, Error>;
