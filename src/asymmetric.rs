//! A fence with a cheap and a dear side.
//!
//! Where one side runs often and the other rarely (a task made ready against a
//! worker that goes to sleep), both need a full barrier between their store and
//! their load. Linux can put both barriers on the rare side: membarrier(2) makes
//! every running thread of the process pass one. The frequent side then only has
//! to keep the compiler from reordering. Where the kernel refuses, both sides
//! use an ordinary fence.
//!
//! A model never prepares, so it runs with an ordinary fence on both sides. For a
//! frequent side against a rare one that is the same program: membarrier(2) makes
//! each running thread pass a full fence at some moment of the call, the compiler
//! keeps that thread's store and load on their sides of the light fence, and so the
//! moment is either before the load or after the store, as with two fences of which
//! one comes first. Two frequent sides are ordered by ordinary fences and not by
//! light ones: here the model is stronger than the code. So no protocol may use the
//! light fence between two of its frequent sides; what two wakers have to agree on
//! is decided under a lock.

use std::sync::atomic::{AtomicU8, Ordering, compiler_fence};

use crate::sync::atomic::fence;

const UNKNOWN: u8 = 0;
const EXPEDITED: u8 = 1;
const ORDINARY: u8 = 2;

static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);

const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the system call takes numbers only.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Decides which kind of fence this process uses. Before any thread uses one.
pub(crate) fn prepare() {
    if KIND.load(Ordering::Relaxed) == UNKNOWN {
        let kind = if membarrier(REGISTER_PRIVATE_EXPEDITED) {
            EXPEDITED
        } else {
            ORDINARY
        };
        // A second opener may have decided the same meanwhile.
        KIND.store(kind, Ordering::SeqCst);
    }
}

/// Whether the frequent side costs next to nothing. A model takes it that it does.
pub(crate) fn is_cheap() -> bool {
    cfg!(any(loom, shuttle)) || KIND.load(Ordering::Relaxed) == EXPEDITED
}

/// The frequent side.
#[inline(always)]
pub(crate) fn light() {
    if KIND.load(Ordering::Relaxed) == EXPEDITED {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// The rare side.
pub(crate) fn heavy() {
    fence(Ordering::SeqCst);
    if KIND.load(Ordering::Relaxed) == EXPEDITED && !membarrier(PRIVATE_EXPEDITED) {
        // Cannot happen after a successful registration; from now on both sides pay.
        KIND.store(ORDINARY, Ordering::SeqCst);
    }
    fence(Ordering::SeqCst);
}
