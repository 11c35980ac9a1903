//! Exchanges that have ended, kept for later messages of the same world: a message then costs neither the allocator nor the
//! count of its world.
//!
//! They are kept by the thread that has completed their tokens, for what that thread declares: most often it is the same that
//! makes the passes. As `worlds` does for a handle, a thread may so keep the memory of a world that is gone until it declares or
//! ends a message of another one, or ends.

use core::cell::RefCell;
use std::sync::Arc;

use super::exchange::{Exchange, Message, What};
use super::world::World;

/// Exchanges that a thread keeps.
const MOST: usize = 2048;

thread_local! {
    /// All of one world, and nobody else holds any of them.
    static OWN: RefCell<Vec<Arc<Exchange>>> = const { RefCell::new(Vec::new()) };
}

/// An exchange for a message; see `Exchange` for the rest.
#[inline]
pub(super) fn take(
    world: &Arc<World>,
    message: Message,
    always: bool,
    name: usize,
) -> Arc<Exchange> {
    let kept = OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        own.pop_if(|last| Arc::ptr_eq(&last.world, world))
    });
    if let Ok(Some(mut kept)) = kept
        && let Some(free) = Arc::get_mut(&mut kept)
    {
        free.renew(message, always, name);
        return kept;
    }
    Exchange::new(world.clone(), What::Message(message), always, name)
}

/// Keeps an exchange that has ended, unless somebody still looks at it.
pub(super) fn give_back(exchange: Arc<Exchange>) {
    let is_spare = Arc::strong_count(&exchange) == 1
        && matches!(&exchange.what, What::Message(message) if message.staging.0.is_none());
    if !is_spare {
        return;
    }
    let mut others = Vec::new();
    // A thread that is ending keeps nothing.
    let _ = OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        let is_other = |last: &Arc<Exchange>| !Arc::ptr_eq(&last.world, &exchange.world);
        if own.last().is_some_and(is_other) {
            others = core::mem::take(&mut *own);
        }
        if own.len() < MOST {
            own.push(exchange);
        }
    });
    // Outside of the borrow: with the last one goes its world.
    drop(others);
}

/// Forgets what this thread keeps of a world that ends.
pub(super) fn forget(world: &World) {
    let is_its = |last: &Arc<Exchange>| core::ptr::eq(Arc::as_ptr(&last.world), world);
    let kept = OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        own.last()
            .is_some_and(is_its)
            .then(|| core::mem::take(&mut *own))
    });
    drop(kept);
}
