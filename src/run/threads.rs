//! Starting and stopping norn's own threads.

use core::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::blocked::Grant;
use super::runtime::Runtime;
use super::thread::{DefectTeller, Thread, ThreadSpec, spawn};
use crate::error::Result;
use crate::order::body::Begin;

crate::sync::thread_local! {
    /// The runtime that made this thread.
    static THREAD_OF: Cell<*const Runtime> = const { Cell::new(core::ptr::null()) };
}

/// Whether this thread was made by `runtime`.
pub(crate) fn is_thread_of(runtime: &Runtime) -> bool {
    core::ptr::eq(THREAD_OF.get(), runtime)
}

/// Carries the runtime into a thread it makes.
struct Carried(*const Runtime);
// SAFETY: the runtime joins all its threads before it is freed.
unsafe impl Send for Carried {}

impl Carried {
    fn get(&self) -> &Runtime {
        // SAFETY: as above.
        unsafe { &*self.0 }
    }
}

/// Counts a thread until it has ended, by a panic or otherwise, or could not be made.
struct Life(Carried);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.get().living_threads.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Runtime {
    /// For a thread to tell of the panic that ends it.
    pub(crate) fn defect_teller(&self) -> DefectTeller {
        let carried = Carried(self);
        Box::new(move |text| carried.get().poison(text))
    }

    /// Starts the workers. With `NORN_CALLER_WORKS` the opener takes the first slot.
    pub(crate) fn start_workers(&self) -> Result<()> {
        if self.callers_run {
            return Ok(());
        }
        let first = usize::from(self.settings.caller_works);
        for slot in first..self.queues.slots.len() {
            self.thread_count.fetch_add(1, Ordering::SeqCst);
            let grant = Grant::new();
            self.blocked.add_spare(&grant);
            self.spawn_thread(format!("norn:w{slot}"), slot, Some(slot), grant)?;
        }
        Ok(())
    }

    /// Starts a spare thread, which waits for its first slot.
    pub(crate) fn spawn_spare(&self, index: usize, grant: Arc<Grant>) -> Result<()> {
        self.spawn_thread(format!("norn:s{index}"), index, None, grant)
    }

    fn spawn_thread(
        &self,
        name: String,
        index: usize,
        slot: Option<usize>,
        grant: Arc<Grant>,
    ) -> Result<()> {
        let cpus = match slot {
            Some(slot) => self.settings.topology.binding(slot).clone(),
            None => self.settings.cpus.clone(),
        };
        let spec = ThreadSpec {
            name,
            stack_bytes: self.settings.stack_bytes,
            cpus: Some(cpus),
            floating_point: self.floating_point,
            thread_hook: self.settings.hooks.thread,
            index: index as i32,
            on_defect: Some(self.defect_teller()),
        };
        // Before there is a second thread.
        self.graph().share();
        let carried = Carried(self);
        self.living_threads.fetch_add(1, Ordering::SeqCst);
        let life = Life(carried);
        let thread = spawn(spec, move || {
            let runtime = life.0.get();
            THREAD_OF.set(runtime);
            runtime.thread_life(slot, grant);
            drop(life);
        })?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Starts a thread of a lowering's, which joins it in `Lowering::close`. It runs no bodies.
    pub(crate) fn spawn_for_lowering(
        &self,
        name: String,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<Thread> {
        self.graph().share();
        spawn(self.without_bodies(name), body)
    }

    /// A thread of norn's that runs no bodies.
    pub(super) fn without_bodies(&self, name: String) -> ThreadSpec {
        ThreadSpec {
            name,
            stack_bytes: self.settings.stack_bytes.min(1 << 20),
            cpus: Some(self.settings.cpus.clone()),
            floating_point: self.floating_point,
            thread_hook: None,
            index: -1,
            on_defect: Some(self.defect_teller()),
        }
    }

    /// Frees the cancelled tasks that nobody has taken out of a queue: their nodes are still in use for that.
    fn bury_queued(&self) {
        let mut queued = self.queues.take_all();
        for opener in [false, true] {
            queued.extend(core::iter::from_fn(|| self.serial.take(opener)));
        }
        for node in queued {
            let begun = self.begin(node, self.graph().nodes.get(node).load_state());
            debug_assert_eq!(begun, Begin::Skip, "a task was left behind");
        }
    }

    /// Ends all threads and waits for them.
    pub(crate) fn stop_threads(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.blocked.stop_spares();
        // Whoever still gathers workers does so for a task that was cancelled: nobody is left to be lent.
        self.gang.give_up();
        self.sleep.wake_all();
        let threads = core::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A thread that cannot be joined is the calling one, which a close refuses before.
            let _ = thread.join();
        }
        self.thread_count.store(0, Ordering::SeqCst);
        self.bury_queued();
    }
}
