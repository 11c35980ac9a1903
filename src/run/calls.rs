//! The calls of the C API that change the graph and do not wait.

use core::ffi::{CStr, c_char, c_void};
use std::sync::atomic::Ordering;

use super::runtime::Runtime;
use super::seat;
use crate::abi::status::{NORN_E_INVALID, NORN_E_UNSUPPORTED};
use crate::abi::types::*;
use crate::error::{Error, Result};
use crate::order::node::{flag, kind};
use crate::order::token::Token;

const NO_SUCH_MEMORY: &str =
    "desc: memory that is not the host's ordinary one needs an open device (norn_device_open)";

/// Whether a datum is not in the host's ordinary memory, all of which MPI's transports can register.
fn is_foreign(desc: &norn_data_desc) -> bool {
    match desc.kind {
        NORN_MEMORY_PINNED | NORN_MEMORY_DEVICE => true,
        NORN_MEMORY_HOST | NORN_MEMORY_MPI => desc.place.kind == NORN_PLACE_DEVICE,
        // What is no kind at all is refused with the rest of the description.
        _ => false,
    }
}

/// A task for the thread that initialised MPI, which is the opener: the lowering has checked that.
#[cold]
pub(crate) fn at_opener(task: &norn_task) -> norn_task {
    norn_task {
        place: norn_place {
            kind: NORN_PLACE_OPENER,
            index: 0,
        },
        ..*task
    }
}

impl Runtime {
    pub(crate) fn body(&self) -> u32 {
        seat::body_in(self)
    }

    /// Checks what the graph cannot: places that only this machine and configuration know.
    #[inline]
    pub(crate) fn check_place(&self, task: &norn_task) -> Result<()> {
        if task.place.kind == NORN_PLACE_ANY {
            return Ok(());
        }
        if task.place.kind == NORN_PLACE_DEVICE && task.run.is_some() {
            return Err(Error::new(
                NORN_E_UNSUPPORTED,
                "task.place: a device runs enqueue bodies, no host body",
            ));
        }
        self.check_place_slow(task.place)
    }

    #[cold]
    fn check_place_slow(&self, place: norn_place) -> Result<()> {
        match place.kind {
            NORN_PLACE_CPU if place.index == -1 => Ok(()),
            NORN_PLACE_CPU
                if place.index >= 0 && (place.index as usize) < self.settings.workers.max(1) =>
            {
                Ok(())
            }
            NORN_PLACE_CPU => Err(Error::new(
                NORN_E_INVALID,
                format!("task.place: there is no worker {}", place.index),
            )),
            NORN_PLACE_NUMA
                if self
                    .queues
                    .nodes
                    .iter()
                    .any(|(number, _)| *number == place.index) =>
            {
                Ok(())
            }
            NORN_PLACE_NUMA if self.callers_run && self.settings.topology.has(place.index) => {
                Ok(())
            }
            NORN_PLACE_NUMA => Err(Error::new(
                NORN_E_INVALID,
                format!("task.place: no worker is on NUMA node {}", place.index),
            )),
            NORN_PLACE_OPENER => Ok(()),
            NORN_PLACE_DEVICE => self.ask_lowerings(
                |lowering| lowering.check_place(place),
                "task.place: no device is open in this runtime (norn_device_open)",
            ),
            NORN_PLACE_MPI => self.ask_lowerings(
                |lowering| lowering.check_place(place),
                "task.place: no world is attached",
            ),
            kind => Err(Error::new(
                NORN_E_INVALID,
                format!("task.place.kind {kind} is none"),
            )),
        }
    }

    /// Submits one task.
    #[inline]
    pub(crate) fn submit(
        &self,
        task: &norn_task,
        accesses: &[norn_access],
        after: &[norn_token],
    ) -> Result<norn_token> {
        self.check_place(task)?;
        let mapped;
        let task = match task.place.kind {
            NORN_PLACE_MPI => {
                mapped = at_opener(task);
                &mapped
            }
            _ => task,
        };
        let body = self.body();
        if self.settings.max_live_tasks != 0 && body == 0 {
            self.take_headroom();
        }
        if task.enqueue.is_some() && task.run.is_none() {
            return self.submit_enqueue(task, accesses, after);
        }
        self.act(|graph, lane| graph.submit(lane, body, task, accesses, after))
            .map(norn_token::from)
    }

    /// Takes a share of the room below `max_live_tasks` that was left at this thread's last look, and looks again, and
    /// waits if it must, when there is none.
    fn take_headroom(&self) {
        if let Some(mut lane) = self.free_lane(seat::slot_in(self)) {
            // SAFETY: this thread's, and no call around this one uses it.
            let lane = unsafe { lane.as_mut() };
            if lane.headroom != 0 {
                lane.headroom -= 1;
                return;
            }
        }
        let headroom = self.back_pressure();
        // It may have waited, and sit in another slot now.
        if let Some(mut lane) = self.free_lane(seat::slot_in(self)) {
            // SAFETY: as above.
            unsafe { lane.as_mut() }.headroom = headroom;
        }
    }

    /// Starts a batch, which is checked whole before any of it is submitted.
    pub(crate) fn begin_batch<'a>(&'a self) -> Result<super::batch::Batch<'a>> {
        self.graph().check_open(self.body() != 0, true)?;
        Ok(super::batch::Batch::new(self, self.body()))
    }

    /// Declares a token.
    pub(crate) fn declare(&self, name: *const c_char) -> Result<norn_token> {
        let body = self.body();
        self.act(|graph, lane| graph.new_token(lane, body, kind::DECLARED, name))
            .map(norn_token::from)
    }

    /// Promises a token.
    pub(crate) fn promise(&self, name: *const c_char) -> Result<norn_token> {
        let body = self.body();
        self.act(|graph, lane| graph.new_token(lane, body, kind::PROMISE, name))
            .map(norn_token::from)
    }

    /// Keeps a promise.
    pub(crate) fn fulfill(&self, promise: norn_token) -> Result<()> {
        self.complete_promise(promise, None)
    }

    /// Breaks a promise.
    pub(crate) fn fail_promise(
        &self,
        promise: norn_token,
        code: i32,
        message: Option<&CStr>,
    ) -> Result<()> {
        if code == 0 {
            return Err(Error::new(NORN_E_INVALID, "code is 0, which means success"));
        }
        let text = message
            .map(|text| text.to_string_lossy())
            .unwrap_or_default();
        self.complete_promise(promise, Some((code, &text)))
    }

    fn complete_promise(&self, promise: norn_token, failure: Option<(i32, &str)>) -> Result<()> {
        let token = Token::from(promise);
        if token.is_zero() {
            return Err(Error::new(NORN_E_INVALID, "the promise is {0}"));
        }
        if self.one_thread && self.body() == 0 && self.running.load(Ordering::Acquire) > 0 {
            // From outside, while a body runs: delivered when nothing is runnable, so that the order
            // does not depend on when it came.
            return self.defer_promise(token, failure);
        }
        self.act(|graph, lane| graph.keep_promise(lane, token, failure))
    }

    /// Claims a promise at once, so that whoever keeps or cancels it after this comes too late, and keeps its end for
    /// `deliver_external`.
    fn defer_promise(&self, token: Token, failure: Option<(i32, &str)>) -> Result<()> {
        let failure = failure.map(|(code, text)| (code, text.into()));
        let claim = || self.graph().claim_promise(token);
        self.serial.defer(token, failure, claim)?;
        self.sleep.wake_one();
        self.wake_watchers();
        Ok(())
    }

    /// Delivers one kept completion, in a one-thread mode with nothing runnable.
    pub(crate) fn deliver_external(&self) -> bool {
        let Some((token, failure)) = self.serial.take_external() else {
            return false;
        };
        let failure = failure.as_ref().map(|(code, text)| (*code, &**text));
        self.act(|graph, lane| graph.end_promise(lane, token.index(), failure));
        true
    }

    /// Adds an edge.
    pub(crate) fn edge(&self, before: norn_token, after: norn_token) -> Result<()> {
        self.act(|graph, lane| graph.edge(lane, before.into(), after.into()))
    }

    /// Starts a held task.
    pub(crate) fn start(&self, token: norn_token) -> Result<()> {
        self.act(|graph, lane| graph.start(lane, token.into()))
    }

    /// Cancels.
    pub(crate) fn cancel(&self, token: norn_token) -> Result<()> {
        self.act(|graph, lane| graph.cancel(lane, token.into()))?;
        // A cancelled operation may be owed to others.
        self.offer_duty();
        Ok(())
    }

    /// Takes holds off a task.
    pub(crate) fn unhold(&self, token: norn_token, holds: u32) -> Result<()> {
        self.act(|graph, lane| graph.unhold(lane, token.into(), holds))
    }

    /// Whether a token is complete.
    pub(crate) fn test(&self, token: norn_token) -> Result<bool> {
        self.graph()
            .live_node(token.into())
            .map(|live| live.is_none())
    }

    /// Calls back on completion.
    pub(crate) fn on_complete(
        &self,
        token: norn_token,
        call: unsafe extern "C" fn(*mut c_void, norn_token, i32),
        argument: *mut c_void,
    ) -> Result<()> {
        self.act(|graph, lane| {
            graph.new_callback(lane, token.into(), Some(call), argument as usize)
        })
    }

    /// Opens a group.
    pub(crate) fn group_open(
        &self,
        name: *const c_char,
        parent: norn_group,
    ) -> Result<(norn_group, norn_token)> {
        let body = self.body();
        self.act(|graph, lane| graph.open_group(lane, body, name, parent.id))
            .map(|(group, done)| (norn_group { id: group }, done.into()))
    }

    /// Closes a group.
    pub(crate) fn group_close(&self, group: norn_group) -> Result<()> {
        self.act(|graph, lane| graph.close_group(lane, group.id))
    }

    /// Refuses further work from outside.
    pub(crate) fn seal(&self) -> Result<()> {
        self.graph().sealed.store(true, Ordering::SeqCst);
        self.sleep.wake_all();
        for thread in self.watchers.lock().iter() {
            thread.unpark();
        }
        Ok(())
    }

    /// Keeps a copy of a name for the runtime's life.
    pub(crate) fn intern(&self, text: &CStr) -> *const c_char {
        let mut names = self.names.lock();
        if !names.contains(text) {
            names.insert(text.to_owned());
        }
        // The characters of a CString do not move when the set grows.
        names.get(text).map_or(c"".as_ptr(), |name| name.as_ptr())
    }

    // ----- data -----

    /// # Safety
    /// The name is NULL or zero-terminated.
    pub(crate) unsafe fn data_register(&self, desc: &norn_data_desc) -> Result<norn_data> {
        self.check_memory(desc)?;
        // SAFETY: passed on.
        self.act(|graph, lane| unsafe { graph.register(lane, desc) })
    }

    /// Checks that the caller's memory is such as its description says, as far as a lowering can tell.
    pub(crate) fn check_memory(&self, desc: &norn_data_desc) -> Result<()> {
        match self.first_answer(|lowering| lowering.check_memory(desc)) {
            Some(checked) => checked,
            None if is_foreign(desc) => Err(Error::new(NORN_E_UNSUPPORTED, NO_SUCH_MEMORY)),
            None => Ok(()),
        }
    }

    /// # Safety
    /// The name is NULL or zero-terminated.
    pub(crate) unsafe fn data_alloc(&self, desc: &norn_data_desc) -> Result<norn_data> {
        let memory = if is_foreign(desc) {
            Some(self.ask_lowerings(|lowering| lowering.allocate(desc), NO_SUCH_MEMORY)?)
        } else {
            None
        };
        // SAFETY: passed on.
        self.act(|graph, lane| unsafe { graph.allocate(lane, desc, memory) })
    }

    /// Splits a datum.
    pub(crate) fn data_split(
        &self,
        data: norn_data,
        pieces: &[norn_piece],
    ) -> Result<Vec<norn_data>> {
        self.act(|graph, lane| graph.split(lane, data, pieces))
    }

    /// Joins the pieces of a datum.
    pub(crate) fn data_join(&self, data: norn_data) -> Result<()> {
        self.act(|graph, lane| graph.join(lane, data))
    }

    /// Address of a datum, or of the calling body's private copy.
    pub(crate) fn data_pointer(&self, data: norn_data) -> Result<(*mut c_void, u64)> {
        let (index, address, bytes) = self.graph().pointer(data)?;
        let body = self.body();
        if body != 0
            && let Some(copy) = self.private_copy(body, index)
        {
            return Ok((copy, bytes));
        }
        Ok((address as *mut c_void, bytes))
    }

    fn private_copy(&self, body: u32, datum: u32) -> Option<*mut c_void> {
        let node = self.graph().nodes.get(body);
        if !node.has(flag::REDUCES) {
            return None;
        }
        let annex = self.graph().annex(node)?;
        // SAFETY: the running body owns its annex, and this is its thread.
        let copies = &mut unsafe { annex.body() }.copies;
        let copy = copies.iter_mut().find(|copy| copy.datum == datum)?;
        copy.memory
            .as_mut()
            .map(|memory| memory.as_mut_ptr().cast())
    }

    /// Reserves places.
    pub(crate) fn reserve(&self, accesses: &[norn_access]) -> Result<Vec<u64>> {
        let body = self.body();
        self.act(|graph, lane| graph.reserve(lane, body, accesses))
    }

    /// Gives a reserved place up.
    pub(crate) fn reserve_abandon(&self, slot: u64) -> Result<()> {
        self.act(|graph, lane| graph.abandon_slot(lane, Token(slot)))
    }

    /// Ends a hold.
    pub(crate) fn data_release(&self, hold: norn_token) -> Result<()> {
        self.act(|graph, lane| graph.release_hold(lane, hold.into()))
    }
}
