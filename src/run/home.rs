//! Homes: the memory of the 1024 possible runtimes, and the table of handles.
//!
//! A home outlives the runtimes that use it one after another, so that token
//! generations go on and a token of a closed runtime never means anything in a
//! later one; opening and closing in a loop uses the same memory again.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::sync::Mutex;

use super::runtime::Runtime;
use crate::abi::status::{NORN_E_INVALID, NORN_E_RESOURCE};
use crate::abi::types::norn_runtime;
use crate::error::{Error, Result};
use crate::order::graph::Graph;
use crate::order::lane::{Counters, Lane};
use crate::order::token::MAX_RUNTIMES;

/// Memory that one runtime after another uses.
pub(crate) struct Home {
    pub(crate) graph: Graph,
    /// Lanes that no thread uses at the moment.
    idle_lanes: Mutex<Vec<LaneBox>>,
    /// Counters of all lanes ever made here.
    counters: Mutex<Vec<Arc<Counters>>>,
}

/// A lane between two users.
struct LaneBox(*mut Lane);
// SAFETY: an idle lane has no user; whoever takes it out of the list is the only one.
unsafe impl Send for LaneBox {}

struct Entry {
    home: OnceLock<&'static Home>,
    /// The open runtime, null if there is none.
    runtime: AtomicPtr<Runtime>,
    /// The handle of the open runtime, 0 if there is none. Written after `runtime` and taken back before it.
    handle: AtomicUsize,
    /// Counts opens; part of the handle.
    generation: AtomicU32,
    /// Waits and other calls that may go on beside a close, from before the handle is looked up until nothing of
    /// the runtime is used any more.
    waits: AtomicUsize,
}

static TABLE: [Entry; MAX_RUNTIMES] = [const {
    Entry {
        home: OnceLock::new(),
        runtime: AtomicPtr::new(core::ptr::null_mut()),
        handle: AtomicUsize::new(0),
        generation: AtomicU32::new(0),
        waits: AtomicUsize::new(0),
    }
}; MAX_RUNTIMES];

/// Held while a runtime is entered into or taken out of the table.
static OPENING: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

const TAG: usize = 0b1001;
const TAG_BITS: u32 = 4;
const NUMBER_BITS: u32 = 10;

/// How often to look whether a change has ended, most of it at 100 us: half a minute. Bounded, because a destructor
/// that drains, against the rule, would wait for its own thread.
const CHANGE_TRIES: u32 = 300_000;

/// Looks after which it pauses between two.
const CHANGE_SPINS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 1 << 12 };
const CHANGE_PAUSE: Duration = Duration::from_micros(100);

impl Home {
    pub(super) fn new(number: u32) -> Self {
        Self {
            graph: Graph::new(number),
            idle_lanes: Mutex::new(Vec::new()),
            counters: Mutex::new(Vec::new()),
        }
    }

    /// A lane for one thread, until it gives it back.
    pub(crate) fn take_lane(&self, worker: i32) -> *mut Lane {
        let idle = self.idle_lanes.lock().pop();
        let lane = match idle {
            Some(LaneBox(lane)) => lane,
            None => {
                let lane = Box::<Lane>::default();
                self.counters.lock().push(lane.counters.clone());
                Box::into_raw(lane)
            }
        };
        // SAFETY: idle lanes have no user, and a new one is ours.
        unsafe { (*lane).worker = worker };
        lane
    }

    /// Gives a lane back.
    pub(crate) fn give_lane(&self, lane: *mut Lane) {
        self.idle_lanes.lock().push(LaneBox(lane));
    }

    /// Adds up something over all lanes.
    pub(crate) fn sum(&self, read: impl Fn(&Counters) -> u64) -> u64 {
        self.counters
            .lock()
            .iter()
            .map(|counters| read(counters))
            .sum()
    }

    /// Waits until every change to the graph that is in progress now has ended, and says whether they have. After a
    /// defect it does not wait: the change that the panic left stays open for ever, and nothing is freed.
    pub(crate) fn let_changes_end(&self) -> bool {
        let mut ended = true;
        let counters: Vec<Arc<Counters>> = self.counters.lock().clone();
        for counters in counters {
            let seen = counters.changes.load(Ordering::Acquire);
            let mut tries = 0u32;
            while seen % 2 == 1 && counters.changes.load(Ordering::Acquire) == seen {
                if tries == CHANGE_TRIES || self.graph.defect.is_caught() {
                    ended = false;
                    break;
                }
                tries += 1;
                if tries > CHANGE_SPINS {
                    // Its thread has lost its core in the middle, or runs a long destructor. To park would use up a
                    // wake-up that the caller's own wait is owed.
                    crate::sync::thread::sleep(CHANGE_PAUSE);
                } else if tries.is_multiple_of(64) {
                    crate::sync::thread::yield_now();
                } else {
                    crate::sync::hint::spin_loop();
                }
            }
        }
        ended
    }

    fn reset_counters(&self) {
        for counters in self.counters.lock().iter() {
            for counter in counters.submitted.iter().chain(&counters.completed).chain([
                &counters.failed,
                &counters.propagated,
                &counters.cancelled,
                &counters.edges,
                &counters.steals,
                &counters.sampled_bodies,
                &counters.sampled_body_ns,
                &counters.sampled_wait_ns,
            ]) {
                counter.store(0, Ordering::Relaxed);
            }
        }
    }
}

/// A number and home for a new runtime; nobody else gets it until it is given back.
pub(crate) struct Reservation {
    pub(crate) number: usize,
    pub(crate) home: &'static Home,
}

/// Marks an entry as taken while its runtime is being made.
fn being_made() -> *mut Runtime {
    core::ptr::dangling_mut()
}

/// Takes a free entry of the table.
pub(crate) fn reserve() -> Result<Reservation> {
    let _opening = OPENING.lock();
    let number = TABLE
        .iter()
        .position(|entry| entry.runtime.load(Ordering::Acquire).is_null())
        .ok_or_else(|| Error::new(NORN_E_RESOURCE, format!("{MAX_RUNTIMES} runtimes are open")))?;
    let entry = &TABLE[number];
    let home = entry
        .home
        .get_or_init(|| Box::leak(Box::new(Home::new(number as u32))));
    home.reset_counters();
    entry.runtime.store(being_made(), Ordering::Release);
    Ok(Reservation { number, home })
}

/// Gives an entry back whose runtime could not be made.
pub(crate) fn unreserve(number: usize) {
    TABLE[number]
        .runtime
        .store(core::ptr::null_mut(), Ordering::Release);
}

/// Enters a runtime and gives its handle.
pub(crate) fn enter(number: usize, runtime: *mut Runtime) -> *mut norn_runtime {
    let entry = &TABLE[number];
    let generation = entry.generation.load(Ordering::Relaxed) + 1;
    entry.generation.store(generation, Ordering::Release);
    entry.runtime.store(runtime, Ordering::Release);
    let handle = handle_of(number, generation);
    entry.handle.store(handle as usize, Ordering::Release);
    handle
}

fn handle_of(number: usize, generation: u32) -> *mut norn_runtime {
    let value = ((generation as usize) << (NUMBER_BITS + TAG_BITS)) | (number << TAG_BITS) | TAG;
    core::ptr::without_provenance_mut(value)
}

/// The handle of an open runtime.
pub(crate) fn handle(number: usize) -> *mut norn_runtime {
    handle_of(number, TABLE[number].generation.load(Ordering::Relaxed))
}

/// Takes a runtime out of the table; from now on its handle is invalid.
pub(crate) fn leave(number: usize) {
    let _opening = OPENING.lock();
    let entry = &TABLE[number];
    entry.generation.store(
        entry.generation.load(Ordering::Relaxed) + 1,
        Ordering::Release,
    );
    entry.handle.store(0, Ordering::SeqCst);
    // The number stays taken until `vacate`: waits on their way out still use the home.
    entry.runtime.store(being_made(), Ordering::SeqCst);
}

/// Waits until nobody is inside a wait on a runtime that has left the table. A wait counts itself before it
/// looks the handle up, so that it either finds the handle invalid or is found here.
pub(crate) fn let_waits_end(number: usize) {
    fence(Ordering::SeqCst);
    while TABLE[number].waits.load(Ordering::SeqCst) > 0 {
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Gives the number of a freed runtime back.
pub(crate) fn vacate(number: usize) {
    unreserve(number);
}

/// A runtime that a close does not free before this is dropped.
pub(crate) struct Kept {
    runtime: &'static Runtime,
    _count: WaitCount,
}

struct WaitCount(usize);

impl Drop for WaitCount {
    fn drop(&mut self) {
        TABLE[self.0].waits.fetch_sub(1, Ordering::Release);
    }
}

impl core::ops::Deref for Kept {
    type Target = Runtime;
    fn deref(&self) -> &Runtime {
        self.runtime
    }
}

/// As `resolve`, for calls that a close ends or waits for.
pub(crate) fn resolve_waiting(handle: *mut norn_runtime) -> Result<Kept> {
    let number = (handle as usize >> TAG_BITS) & (MAX_RUNTIMES - 1);
    TABLE[number].waits.fetch_add(1, Ordering::SeqCst);
    let count = WaitCount(number);
    fence(Ordering::SeqCst);
    let runtime = resolve(handle)?;
    Ok(Kept {
        runtime,
        _count: count,
    })
}

/// The runtime behind a handle. If the calling thread does not sit in it, its graph is shared (`order::sole`).
#[inline(always)]
pub(crate) fn resolve(handle: *mut norn_runtime) -> Result<&'static Runtime> {
    let runtime = find(handle)?;
    runtime.share_unless_sitting();
    Ok(runtime)
}

/// As `resolve`, for who finds out itself whether the calling thread sits in the runtime.
#[inline(always)]
pub(crate) fn find(handle: *mut norn_runtime) -> Result<&'static Runtime> {
    let value = handle as usize;
    let entry = &TABLE[(value >> TAG_BITS) % MAX_RUNTIMES];
    // First: where the handle is valid afterwards, this was the runtime.
    let runtime = entry.runtime.load(Ordering::Acquire);
    if entry.handle.load(Ordering::Acquire) != value || runtime.is_null() || runtime == being_made()
    {
        return Err(not_a_runtime(value));
    }
    // SAFETY: an entered runtime lives until it has left the table; that no call
    // runs beside the close is what `norn_close` demands of the application.
    Ok(unsafe { &*runtime })
}

#[cold]
fn not_a_runtime(value: usize) -> Error {
    let number = (value >> TAG_BITS) % MAX_RUNTIMES;
    let generation = (value >> (NUMBER_BITS + TAG_BITS)) as u32;
    if value == 0 {
        return Error::new(NORN_E_INVALID, "rt is NULL");
    }
    let now = TABLE[number].generation.load(Ordering::Relaxed);
    if value & 0xf == TAG && generation != 0 && generation <= now {
        return Error::new(NORN_E_INVALID, "rt was closed");
    }
    Error::new(NORN_E_INVALID, format!("rt {value:#x} is no runtime"))
}

/// The home of a number, for lanes of threads that end.
pub(crate) fn home_of(number: usize) -> Option<&'static Home> {
    TABLE
        .get(number)
        .and_then(|entry| entry.home.get().copied())
}

/// The one shared runtime, and how often it was opened.
pub(crate) static SHARED: parking_lot::Mutex<Option<(usize, usize)>> =
    parking_lot::Mutex::new(None);
