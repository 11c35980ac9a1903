//! Error records as the C API gives them, and eventfds.

use core::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::runtime::Runtime;
use crate::abi::status::{NORN_E_STATE, NORN_E_SYSTEM, NORN_OK};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::failure::Cause;
use crate::order::observers::Notify;
use crate::order::token::Token;

/// Copies text into a fixed array, cut at a character boundary and always ended.
pub(crate) fn fill(target: &mut [c_char], text: &str) {
    let mut length = text.len().min(target.len() - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    for (to, from) in target.iter_mut().zip(&text.as_bytes()[..length]) {
        *to = *from as c_char;
    }
    target[length] = 0;
}

fn empty_record(token: Token) -> norn_error_info {
    norn_error_info {
        struct_size: size_of::<norn_error_info>(),
        status: NORN_OK,
        code: 0,
        token: token.into(),
        cause: norn_token::default(),
        cause_status: NORN_OK,
        rank: -1,
        worker: -1,
        device: -1,
        task: [0; 64],
        operation: [0; 64],
        text: [0; 256],
    }
}

/// Makes a file descriptor readable.
struct EventFd(libc::c_int);

impl Notify for EventFd {
    fn notify(&self) {
        signal(self.0);
    }
}

impl Drop for EventFd {
    fn drop(&mut self) {
        // SAFETY: our own duplicate, closed once.
        unsafe { libc::close(self.0) };
    }
}

fn signal(fd: libc::c_int) {
    let one = 1u64;
    // SAFETY: writes eight bytes from a live variable. The counter of an eventfd written once cannot be full.
    unsafe { libc::write(fd, (&raw const one).cast(), 8) };
}

impl Runtime {
    /// The record of a first cause, asked about through `token`.
    pub(crate) fn record_of_cause(&self, token: Token, cause: &Cause) -> norn_error_info {
        let mut record = empty_record(token);
        record.status = cause.status;
        record.code = cause.code;
        record.cause = cause.token.into();
        record.cause_status = cause.status;
        record.rank = if cause.rank < 0 {
            self.rank.load(Ordering::Relaxed)
        } else {
            cause.rank
        };
        record.worker = cause.worker;
        record.device = cause.device;
        // SAFETY: names outlive the runtime, which the manual demands.
        if let Some(name) = unsafe { crate::abi::guard::string(cause.name()) } {
            fill(&mut record.task, &name.to_string_lossy());
        }
        fill(&mut record.operation, &cause.operation);
        fill(&mut record.text, &cause.text);
        record
    }

    /// `norn_error`.
    pub(crate) fn error_record(&self, token: norn_token) -> Result<norn_error_info> {
        let token = Token::from(token);
        if self.graph().live_node(token)?.is_some() {
            return Err(Error::new(NORN_E_STATE, "the token is not complete yet"));
        }
        let Some(failure) = self.graph().failure_of(token) else {
            return Ok(empty_record(token));
        };
        failure.cause.looked_at.store(true, Ordering::Relaxed);
        let mut record = self.record_of_cause(token, &failure.cause);
        record.status = failure.status();
        Ok(record)
    }

    /// `norn_eventfd`.
    pub(crate) fn event_fd(&self, token: norn_token) -> Result<i32> {
        let token = Token::from(token);
        let live = self.graph().live_node(token)?;
        // SAFETY: takes numbers only.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(system_error("eventfd"));
        }
        let pinned = live.and_then(|(_, node)| self.graph().observers.pin(token, node));
        let Some(mut pin) = pinned else {
            signal(fd);
            return Ok(fd);
        };
        // The caller may close its descriptor at any time; norn writes to one of its own.
        // SAFETY: duplicates a descriptor made just above.
        let own = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
        if own < 0 {
            let error = system_error("fcntl(F_DUPFD_CLOEXEC)");
            // SAFETY: made above and given to nobody.
            unsafe { libc::close(fd) };
            return Err(error);
        }
        pin.observe(Arc::new(EventFd(own)));
        self.graph()
            .note_wait(self.graph().nodes.get(token.index()));
        Ok(fd)
    }
}

fn system_error(call: &str) -> Error {
    Error::new(
        NORN_E_SYSTEM,
        format!("{call}: {}", std::io::Error::last_os_error()),
    )
}
