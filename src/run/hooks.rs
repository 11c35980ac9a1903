//! The application's callbacks, each with the argument to pass to it.

use core::ffi::{c_char, c_void};

use crate::abi::types::{norn_config, norn_error_info, norn_token};
use crate::observe::log::Log;

/// A C function and its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callback<F> {
    /// The function.
    pub function: F,
    /// Handed back to it, never followed.
    pub arg: *mut c_void,
}

// SAFETY: the pointer is only carried. That the function may be called with it
// from any thread is what the C documentation of each callback demands.
unsafe impl<F: Send> Send for Callback<F> {}
// SAFETY: as above.
unsafe impl<F: Sync> Sync for Callback<F> {}

impl<F> Callback<F> {
    fn new(function: Option<F>, arg: *mut c_void) -> Option<Self> {
        function.map(|function| Self { function, arg })
    }
}

/// Receives the record of a first cause.
pub(crate) type FailureHook =
    Callback<unsafe extern "C" fn(arg: *mut c_void, info: *const norn_error_info)>;

/// Told of the start and end of norn's threads, on them.
pub(crate) type ThreadHook =
    Callback<unsafe extern "C" fn(arg: *mut c_void, index: i32, begin: i32)>;

/// Told of the start and end of bodies, on their threads.
pub(crate) type TaskEventHook = Callback<
    unsafe extern "C" fn(
        arg: *mut c_void,
        token: norn_token,
        name: *const c_char,
        worker: i32,
        begin: i32,
    ),
>;

impl ThreadHook {
    /// This thread begins (`true`) or ends.
    pub(crate) fn call(&self, index: i32, begin: bool) {
        plant!("thread.call");
        // SAFETY: the application gave the function for this argument and for
        // calls from norn's threads, at open.
        unsafe { (self.function)(self.arg, index, i32::from(begin)) };
        plant!("thread.called");
    }
}

/// All callbacks of a runtime, as its configuration gave them.
#[derive(Clone, Debug)]
pub(crate) struct Hooks {
    /// Log lines.
    pub log: Log,
    /// First causes of failures; present exactly when they are wanted.
    pub failure: Option<FailureHook>,
    /// Threads.
    pub thread: Option<ThreadHook>,
    /// Bodies.
    pub task_event: Option<TaskEventHook>,
}

impl Hooks {
    /// Takes the callbacks of a configuration; the log is made by the caller.
    pub(crate) fn new(config: &norn_config, log: Log) -> Self {
        Self {
            log,
            failure: Callback::new(config.failure, config.failure_arg),
            thread: Callback::new(config.thread, config.thread_arg),
            task_event: Callback::new(config.task_event, config.task_event_arg),
        }
    }

    /// Hands the record of a first cause to the application, if it wants it.
    pub(crate) fn failed(&self, info: &norn_error_info) {
        if let Some(hook) = self.failure {
            plant!("failure.call");
            // SAFETY: given at open for this argument and for calls from any
            // thread; the record outlives the call.
            unsafe { (hook.function)(hook.arg, info) };
            plant!("failure.called");
        }
    }

    /// A body begins (`true`) or ends; called on its thread. `name` is NULL or a
    /// string that outlives the runtime.
    #[inline]
    pub(crate) fn task_event(
        &self,
        token: norn_token,
        name: *const c_char,
        worker: i32,
        begin: bool,
    ) {
        if let Some(hook) = self.task_event {
            plant!("task_event.call");
            // SAFETY: given at open for this argument and for calls from any thread.
            unsafe { (hook.function)(hook.arg, token, name, worker, i32::from(begin)) };
            plant!("task_event.called");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::log::Level;
    use std::cell::RefCell;

    type Calls = RefCell<Vec<String>>;

    fn push(arg: *mut c_void, call: String) {
        // SAFETY: the test passes a `Calls` that outlives the hooks, on one thread.
        unsafe { &*arg.cast::<Calls>() }.borrow_mut().push(call);
    }
    unsafe extern "C" fn failed(arg: *mut c_void, info: *const norn_error_info) {
        // SAFETY: `Hooks::failed` passes a record.
        push(arg, format!("failed {}", unsafe { &*info }.code));
    }
    unsafe extern "C" fn thread(arg: *mut c_void, index: i32, begin: i32) {
        push(arg, format!("thread {index} {begin}"));
    }
    unsafe extern "C" fn event(
        arg: *mut c_void,
        token: norn_token,
        name: *const c_char,
        worker: i32,
        begin: i32,
    ) {
        let null = name.is_null();
        push(arg, format!("event {} {null} {worker} {begin}", token.id));
    }

    #[test]
    fn each_callback_gets_its_argument() {
        let calls = Calls::default();
        let arg: *mut c_void = (&raw const calls).cast_mut().cast();
        // SAFETY: every field of the configuration may be zero.
        let mut config: norn_config = unsafe { core::mem::zeroed() };
        let log = Log::to_stderr(Level::Error);
        let silent = Hooks::new(&config, log.clone());
        config.failure = Some(failed);
        config.failure_arg = arg;
        config.thread = Some(thread);
        config.thread_arg = arg;
        config.task_event = Some(event);
        config.task_event_arg = arg;
        // SAFETY: every field of the record may be zero.
        let mut info: norn_error_info = unsafe { core::mem::zeroed() };
        info.code = 7;
        for hooks in [silent, Hooks::new(&config, log)] {
            hooks.failed(&info);
            if let Some(hook) = hooks.thread {
                hook.call(2, true);
                hook.call(2, false);
            }
            hooks.task_event(norn_token { id: 9 }, core::ptr::null(), -1, true);
        }
        assert_eq!(
            calls.into_inner(),
            ["failed 7", "thread 2 1", "thread 2 0", "event 9 true -1 1"]
        );
    }
}
