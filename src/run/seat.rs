//! Seats: which runtime's worker slot the calling thread holds, which body it
//! runs, and the lane it changes the graph with.
//!
//! A thread that holds no slot of a runtime uses a lane of its own there, kept
//! until the thread ends.

use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use core::marker::PhantomData;

use super::home::home_of;
use super::runtime::Runtime;
use crate::order::lane::Lane;

/// What a thread is to norn at this moment.
#[derive(Clone, Copy)]
struct Seat {
    runtime: *const Runtime,
    slot: usize,
}

/// A body being run by this thread. Lives on the stack of `run_body`.
pub(crate) struct Body {
    pub(crate) runtime: *const Runtime,
    /// Changes where plain tasks run one after the other (`run::plain`).
    pub(crate) node: Cell<u32>,
    pub(crate) failure_text: Cell<Option<Box<str>>>,
    /// Workers that are lent to the body.
    pub(crate) lent: usize,
    /// The stream of an `enqueue` body, else NULL.
    pub(crate) stream: Cell<*mut c_void>,
    /// The body around this one (a submit that helps outside tasks, a callback).
    outer: *const Body,
}

crate::sync::thread_local! {
    static SEAT: Cell<Seat> = const {
        Cell::new(Seat { runtime: core::ptr::null(), slot: 0 })
    };
    static BODY: Cell<*const Body> = const { Cell::new(core::ptr::null()) };
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
    static LANES: OwnLanes = const { OwnLanes(RefCell::new(Vec::new())) };
}

/// Lanes of a thread in runtimes where it holds no slot.
struct OwnLanes(RefCell<Vec<(usize, *mut Lane)>>);

impl Drop for OwnLanes {
    fn drop(&mut self) {
        for (number, lane) in self.0.borrow_mut().drain(..) {
            if let Some(home) = home_of(number) {
                home.give_lane(lane);
            }
        }
    }
}

/// The slot of `runtime` that this thread holds.
#[inline(always)]
pub(crate) fn slot_in(runtime: &Runtime) -> Option<usize> {
    let seat = SEAT.get();
    core::ptr::eq(seat.runtime, runtime).then_some(seat.slot)
}

/// Whether this thread holds `slot` of `runtime`.
#[inline(always)]
pub(crate) fn sits_in(runtime: &Runtime, slot: usize) -> bool {
    let seat = SEAT.get();
    core::ptr::eq(seat.runtime, runtime) && seat.slot == slot
}

/// This thread now holds `slot` of `runtime`, for good.
pub(crate) fn settle_in(runtime: &Runtime, slot: usize) {
    runtime.graph().share();
    SEAT.set(Seat { runtime, slot });
}

/// This thread holds no slot any more.
pub(crate) fn stand() {
    let seat = SEAT.get();
    // SAFETY: a thread sits in a slot only of a runtime that lives, as in `slot_elsewhere`.
    if let Some(runtime) = unsafe { seat.runtime.as_ref() } {
        runtime.graph().share();
    }
    SEAT.set(Seat {
        runtime: core::ptr::null(),
        slot: 0,
    });
}

/// This thread now holds `slot` of `runtime`, for a while. Returns what to give to `restore`.
pub(crate) fn sit(runtime: &Runtime, slot: usize) -> SavedSeat {
    runtime.graph().share();
    SavedSeat(SEAT.replace(Seat { runtime, slot }))
}

/// The seat a thread had before, and has again when this is dropped (by a panic too).
pub(crate) struct SavedSeat(Seat);

impl Drop for SavedSeat {
    fn drop(&mut self) {
        SEAT.set(self.0);
    }
}

/// Back to what the thread was before.
pub(crate) fn restore(saved: SavedSeat) {
    drop(saved);
}

/// Another runtime in whose slot this thread sits, with the slot.
pub(crate) fn slot_elsewhere(runtime: &Runtime) -> Option<(&'static Runtime, usize)> {
    let seat = SEAT.get();
    if core::ptr::eq(seat.runtime, runtime) {
        return None;
    }
    // SAFETY: a thread sits in a slot only of a runtime that lives: a close ends all bodies and threads first, and
    // takes the opener's seat back.
    unsafe { seat.runtime.as_ref() }.map(|other| (other, seat.slot))
}

/// The body that this thread runs for `runtime`; 0 for none.
#[inline(always)]
pub(crate) fn body_in(runtime: &Runtime) -> u32 {
    let body = BODY.get();
    // SAFETY: BODY points to a `Body` on this thread's stack for as long as it runs.
    match unsafe { body.as_ref() } {
        Some(body) if core::ptr::eq(body.runtime, runtime) => body.node.get(),
        _ => 0,
    }
}

/// The body around the present one, which this thread is in again when this is dropped (by a panic too).
struct OuterBody(*const Body);

impl Drop for OuterBody {
    fn drop(&mut self) {
        BODY.set(self.0);
    }
}

struct OuterCallback(bool);

impl Drop for OuterCallback {
    fn drop(&mut self) {
        IN_CALLBACK.set(self.0);
    }
}

/// Runs a callback of the application that belongs to no body and must not wait.
pub(crate) fn outside_bodies(call: impl FnOnce()) {
    let _body = OuterBody(BODY.replace(core::ptr::null()));
    let _callback = OuterCallback(IN_CALLBACK.replace(true));
    call();
}

/// Runs a body that must not wait.
pub(crate) fn without_waits<R>(call: impl FnOnce() -> R) -> R {
    let _callback = OuterCallback(IN_CALLBACK.replace(true));
    call()
}

/// The stream of the `enqueue` body that this thread runs for `runtime`, NULL if it runs none.
pub(crate) fn stream_in(runtime: &Runtime) -> *mut c_void {
    // SAFETY: BODY points to a `Body` on this thread's stack for as long as it runs.
    match unsafe { BODY.get().as_ref() } {
        Some(body) if core::ptr::eq(body.runtime, runtime) => body.stream.get(),
        _ => core::ptr::null_mut(),
    }
}

/// Whether this thread is inside a callback or body that must not wait.
pub(crate) fn in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Whether norn has called what this thread does: a body, a callback, or anything on a thread of norn's own.
pub(crate) fn is_called_by_norn() -> bool {
    !BODY.get().is_null() || IN_CALLBACK.get() || super::thread::is_norns()
}

/// Workers that are lent to the body this thread runs for `runtime`.
pub(crate) fn lent_in(runtime: &Runtime) -> usize {
    // SAFETY: BODY points to a `Body` on this thread's stack for as long as it runs.
    match unsafe { BODY.get().as_ref() } {
        Some(body) if core::ptr::eq(body.runtime, runtime) => body.lent,
        _ => 0,
    }
}

/// The innermost body of this thread.
pub(crate) fn current_body() -> *const Body {
    BODY.get()
}

impl Body {
    /// For a task of `runtime` that runs on this thread, inside what it runs now.
    #[inline(always)]
    pub(crate) fn new(runtime: &Runtime, node: u32, lent: usize) -> Self {
        Self {
            runtime,
            node: Cell::new(node),
            failure_text: Cell::new(None),
            lent,
            stream: Cell::new(core::ptr::null_mut()),
            outer: BODY.get(),
        }
    }

    /// Until the guard is dropped, this thread runs this body.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Entered<'_> {
        BODY.set(self);
        Entered {
            _outer: OuterBody(self.outer),
            _body: PhantomData,
        }
    }
}

/// A body that this thread runs, and which stays where it is meanwhile.
pub(crate) struct Entered<'a> {
    _outer: OuterBody,
    _body: PhantomData<&'a Body>,
}

/// Runs `call` as the body of `node`.
#[inline(always)]
pub(crate) fn as_body<R>(
    runtime: &Runtime,
    node: u32,
    lent: usize,
    call: impl FnOnce(&Body) -> R,
) -> R {
    let body = Body::new(runtime, node, lent);
    let _entered = body.enter();
    call(&body)
}

/// The lane this thread has of its own in `runtime`, made when first needed. None while the thread ends.
#[inline]
pub(crate) fn own_lane(runtime: &Runtime) -> Option<*mut Lane> {
    let number = runtime.number;
    LANES
        .try_with(|lanes| {
            let mut lanes = lanes.0.borrow_mut();
            if let Some((_, lane)) = lanes.iter().find(|(other, _)| *other == number) {
                return *lane;
            }
            let lane = runtime.home.take_lane(-1);
            lanes.push((number, lane));
            lane
        })
        .ok()
}
