//! From the handles of the C API to what they stand for.

use super::guard::null;
use super::status::NORN_E_THREAD;
use super::types::*;
use crate::error::{Error, Result};
use crate::run::home;
use crate::run::runtime::Runtime;
use crate::run::seat;

/// The runtime behind a handle, unless a defect was caught in it before.
#[inline(always)]
pub(crate) fn runtime(rt: *mut norn_runtime) -> Result<&'static Runtime> {
    let runtime = home::resolve(rt)?;
    runtime.check_sound()?;
    Ok(runtime)
}

/// As `runtime`, for who calls `Runtime::submit_plain` and nothing else, or shares the graph.
#[inline(always)]
pub(crate) fn runtime_to_submit(rt: *mut norn_runtime) -> Result<&'static Runtime> {
    let runtime = home::find(rt)?;
    runtime.check_sound()?;
    Ok(runtime)
}

/// As `runtime`, for calls that a close ends or waits for: it is not freed before the call is over.
pub(crate) fn waiting(rt: *mut norn_runtime) -> Result<home::Kept> {
    let runtime = home::resolve_waiting(rt)?;
    runtime.check_sound()?;
    Ok(runtime)
}

/// Marks the runtime behind a handle as unsound, if there is one.
pub(crate) fn poison(rt: *mut norn_runtime, text: &str) {
    if let Ok(runtime) = home::resolve(rt) {
        runtime.poison(text);
    }
}

/// As `poison`, for the runtime of the calling thread's running body.
pub(crate) fn poison_current(text: &str) {
    let current = seat::current_body();
    if !current.is_null() {
        RunningBody(current).runtime().poison(text);
    }
}

/// # Safety
/// As `norn_open_version`.
pub(crate) unsafe fn open(
    header_version: i32,
    config: Option<norn_config>,
) -> Result<*mut norn_runtime> {
    // SAFETY: passed on.
    unsafe { crate::run::open::open(header_version, config) }
}

/// See `norn_close_with`.
pub(crate) fn close(rt: *mut norn_runtime, flags: u32, timeout_ns: i64) -> Result<()> {
    crate::run::open::close(rt, flags, timeout_ns)
}

/// The calling thread's running body, if `self_` is it.
pub(crate) fn body(self_: *mut norn_self) -> Result<RunningBody> {
    if self_.is_null() {
        return Err(null("self"));
    }
    let current = seat::current_body();
    if current.is_null() || !core::ptr::eq(current, self_.cast_const().cast()) {
        return Err(Error::new(
            NORN_E_THREAD,
            "self is not the body that runs on this thread",
        ));
    }
    Ok(RunningBody(current))
}

/// A body that runs on this thread.
pub(crate) struct RunningBody(*const seat::Body);

impl RunningBody {
    fn body(&self) -> &seat::Body {
        // SAFETY: it is this thread's current body, which lives on its stack.
        unsafe { &*self.0 }
    }

    fn runtime(&self) -> &Runtime {
        // SAFETY: a runtime outlives its bodies: a close waits for them.
        unsafe { &*self.body().runtime }
    }

    /// What it knows of itself.
    pub(crate) fn info(&self) -> norn_self_info {
        self.runtime().self_info(self.body().node.get())
    }

    /// Ends an access.
    pub(crate) fn release(&self, data: norn_data) -> Result<()> {
        let node = self.body().node.get();
        self.runtime()
            .act(|graph, lane| graph.release_early(lane, node, data))
    }

    /// Text of the failure record.
    pub(crate) fn set_failure_text(&self, text: Option<&core::ffi::CStr>) {
        let text = text.map(|text| text.to_string_lossy().into());
        self.body().failure_text.set(text);
    }

    /// A leased handle of a provider's, for an enqueue body.
    pub(crate) fn provider(&self, kind: i32) -> Result<*mut core::ffi::c_void> {
        let stream = self.body().stream.get();
        self.runtime().ask_lowerings(
            |lowering| lowering.provider(kind, stream),
            "a provider's handle is for an enqueue body, which runs with a stream of a device",
        )
    }

    /// Adds holds.
    pub(crate) fn hold(&self, holds: u32) -> Result<()> {
        self.runtime().graph().hold(self.body().node.get(), holds)
    }
}
