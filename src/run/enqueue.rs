//! `enqueue` bodies: they queue device work and end, and never wait.

use core::ffi::c_void;

use super::runtime::Runtime;
use super::seat;
use crate::abi::types::norn_self;
use crate::sync::atomic::Ordering;

/// An `enqueue` body, as `norn_task.enqueue` gives it.
pub(crate) type EnqueueBody =
    unsafe extern "C" fn(*mut norn_self, stream: *mut c_void, arg: *mut c_void) -> i32;

impl Runtime {
    /// Runs the `enqueue` body of an operation that was begun, and gives its code and text if it failed.
    pub(crate) fn run_enqueue(
        &self,
        node: u32,
        body: EnqueueBody,
        stream: *mut c_void,
    ) -> Option<(i32, String)> {
        let entry = self.graph().nodes.get(node);
        let argument = entry.argument.load(Ordering::Relaxed) as *mut c_void;
        let token = entry.token(self.graph().id, node);
        let worker = seat::slot_in(self).map_or(-1, |slot| slot as i32);
        let hooks = &self.settings.hooks;
        if hooks.task_event.is_some() {
            hooks.task_event(token.into(), entry.name(), worker, true);
        }
        let failure = seat::as_body(self, node, 0, |own| {
            own.stream.set(stream);
            // SAFETY: the application gave this body with this argument, and promised that they fit and may be used
            // on this thread.
            let code = seat::without_waits(|| unsafe {
                body((&raw const *own).cast_mut().cast(), stream, argument)
            });
            let text = own.failure_text.take();
            (code != 0).then(|| (code, text.map_or_else(String::new, String::from)))
        });
        if hooks.task_event.is_some() {
            hooks.task_event(token.into(), entry.name(), worker, false);
        }
        failure
    }
}
