//! Bodies that hold several workers (`cpus`): an OpenMP region inside a task.
//!
//! One body at a time gathers: it says how many workers it wants, and each worker
//! that comes between two bodies lends itself and waits until the body has ended.
//! Gathering one at a time is what keeps two of them from each holding half of
//! the workers for ever. A body that awaits gives its workers back meanwhile (no
//! parallel region is open then) and gathers again before it goes on, or a child
//! that wants several workers too would wait for its parent for ever.

use crate::sync::atomic::Ordering;

use super::alerts::{Alerts, Watched};
use crate::sync::{Condvar, Mutex, MutexGuard};

#[derive(Default)]
struct State {
    /// A body gathers or runs with lent workers.
    busy: bool,
    /// Workers still wanted.
    wanted: usize,
    /// The opener holds a slot (NORN_CALLER_WORKS) and is outside of norn: its slot is idle.
    opener_away: bool,
    /// The opener's idle slot was lent in its absence.
    opener_lent: bool,
    /// Counts gatherings, so that a lender knows when its own has ended.
    round: u64,
    /// Tasks that must wait until the present gathering has ended.
    deferred: Vec<u32>,
    /// After a defect nobody waits here any more.
    given_up: bool,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Gang {
    state: Mutex<State>,
    bell: Condvar,
    /// Copy of `wanted`, for the worker's loop.
    wanted: Watched,
}

impl Gang {
    /// Nobody gathers.
    pub(crate) fn new(alerts: &Alerts) -> Self {
        Self {
            wanted: Watched::new(alerts),
            ..Self::default()
        }
    }

    /// Whether a worker is wanted.
    #[inline(always)]
    pub(crate) fn wants(&self) -> bool {
        self.wanted.get(Ordering::Relaxed) != 0
    }

    /// Lends the calling worker until the gathering body has ended, if one is wanted.
    pub(crate) fn lend(&self) {
        let mut state = self.state.lock();
        if state.wanted > 0 {
            self.lend_locked(&mut state);
        }
    }

    fn lend_locked(&self, state: &mut MutexGuard<'_, State>) {
        state.wanted -= 1;
        self.wanted.set(state.wanted);
        let round = state.round;
        self.bell.notify_all();
        while state.round == round && !state.given_up {
            self.bell.wait(state);
        }
    }

    /// Gathers `others` workers besides the caller for `node`. False: another body gathers; the task was
    /// put aside and comes back from `finish`.
    pub(crate) fn gather(&self, node: u32, others: usize, wake: impl FnOnce()) -> bool {
        let mut state = self.state.lock();
        if state.busy {
            state.deferred.push(node);
            return false;
        }
        self.gather_locked(state, others, wake);
        true
    }

    /// Gathers again for a body that gave its workers back while it was blocked. Lends itself to whoever
    /// gathers meanwhile.
    pub(crate) fn gather_again(&self, others: usize, wake: impl FnOnce()) {
        let mut state = self.state.lock();
        while state.busy && !state.given_up {
            if state.wanted > 0 {
                self.lend_locked(&mut state);
            } else {
                self.bell.wait(&mut state);
            }
        }
        self.gather_locked(state, others, wake);
    }

    fn gather_locked(&self, mut state: MutexGuard<'_, State>, others: usize, wake: impl FnOnce()) {
        state.busy = true;
        state.wanted = others;
        if state.opener_away {
            self.lend_opener(&mut state);
        }
        self.wanted.set(state.wanted);
        drop(state);
        wake();
        let mut state = self.state.lock();
        while state.wanted > 0 && !state.given_up {
            self.bell.wait(&mut state);
        }
    }

    fn lend_opener(&self, state: &mut State) {
        if state.wanted > 0 && !state.opener_lent {
            state.wanted -= 1;
            state.opener_lent = true;
            self.wanted.set(state.wanted);
            self.bell.notify_all();
        }
    }

    /// The opener has gone outside with its slot, which may be lent meanwhile.
    pub(crate) fn opener_goes(&self) {
        let mut state = self.state.lock();
        state.opener_away = true;
        if state.busy {
            self.lend_opener(&mut state);
        }
    }

    /// The opener is back. It must leave its slot alone while `holds_opener`.
    pub(crate) fn opener_comes(&self) {
        self.state.lock().opener_away = false;
    }

    /// Whether the opener's slot was lent in its absence and is not back yet.
    pub(crate) fn holds_opener(&self) -> bool {
        self.state.lock().opener_lent
    }

    /// At the end, or after a defect: lets everybody go who waits here, and keeps nobody from now on.
    pub(crate) fn give_up(&self) {
        self.state.lock().given_up = true;
        self.bell.notify_all();
    }

    /// Lets the lent workers go. Returns the tasks that were put aside.
    pub(crate) fn finish(&self) -> Vec<u32> {
        let mut state = self.state.lock();
        state.busy = false;
        state.opener_lent = false;
        state.round += 1;
        self.bell.notify_all();
        core::mem::take(&mut state.deferred)
    }
}
