//! Notices that this process is a forked child of the one that opened norn.
//!
//! Threads do not survive `fork`: a child sees the parent's runtimes with nobody
//! inside them, and locks that nobody will ever release. So a child may only be
//! told, never served; every call of the C API asks here first.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Set in a child, never cleared.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether the child handler is registered. Handlers cannot be taken back, so
/// it stays for the life of the process (norn is linked `-z nodelete`, its code
/// stays too). No lock: one held at the moment of a fork would hang the child.
static WATCHING: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked from one that had opened norn.
///
/// Relaxed is enough: the store happens in the child before `fork` returns to
/// its only thread, and every later thread of the child is made by that one.
#[inline(always)]
pub(crate) fn in_forked_child() -> bool {
    FORKED.load(Relaxed)
}

/// From now on, children of this process know that they are. Called by every
/// open and not at load, so that a program that merely links norn is left alone.
///
/// Two first opens at once may register the handler twice, which does no harm.
pub(crate) fn watch_forks() {
    if WATCHING.load(Relaxed) {
        return;
    }
    // SAFETY: the handler is a static function that only stores to an atomic,
    // which is allowed in the child of a process with threads.
    let rc = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    // It fails only for want of memory; then the next open tries again.
    WATCHING.store(rc == 0, Relaxed);
}

/// Runs in each child before `fork` returns there.
unsafe extern "C" fn in_child() {
    FORKED.store(true, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_knows_and_its_parent_is_unharmed() {
        watch_forks();
        watch_forks();
        // SAFETY: the child only reads an atomic and leaves by _exit.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "fork");
        if child == 0 {
            let status = if in_forked_child() { 0 } else { 1 };
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: `child` is ours and `status` is writable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        assert!(!in_forked_child());
    }
}
