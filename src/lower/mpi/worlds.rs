//! The table of handles of worlds. A handle is index and generation, never an address.

use core::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::record;
use super::world::World;
use crate::abi::status::{NORN_E_INVALID, NORN_E_RESOURCE};
use crate::abi::types::norn_world;
use crate::error::{Error, Result};

/// A world, and which of its lanes of collectives the handle stands for.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) world: Arc<World>,
    pub(crate) lane: u32,
}

static TABLE: RwLock<Vec<(u32, Option<Entry>)>> = RwLock::new(Vec::new());

/// Counts changes of the table, under its lock.
static VERSION: AtomicU64 = AtomicU64::new(0);

/// What a handle stands for, for the length of a call.
pub(crate) struct Resolved {
    pub(crate) entry: Entry,
    handle: usize,
    version: u64,
}

thread_local! {
    /// What this thread's last call has resolved: most go to one world, and neither lock nor count is needed for it until the
    /// table changes. It is taken for the call, so one from inside that call resolves anew. Of a world that is gone it keeps the
    /// memory until this thread's next call or end.
    static LAST: Cell<Option<Resolved>> = const { Cell::new(None) };
}

const TAG: usize = 0b0101;
const TAG_BITS: u32 = 4;
const INDEX_BITS: u32 = 20;

/// Enters a world and gives its handle.
pub(crate) fn enter(entry: Entry) -> Result<*mut norn_world> {
    let mut table = TABLE.write();
    let free = table.iter().position(|(_, entry)| entry.is_none());
    let index = match free {
        Some(index) => index,
        None if table.len() == 1 << INDEX_BITS => {
            return Err(Error::new(NORN_E_RESOURCE, "out of worlds (2^20 are open)"));
        }
        None => {
            table.push((0, None));
            table.len() - 1
        }
    };
    let generation = table[index].0 + 1;
    table[index] = (generation, Some(entry));
    VERSION.fetch_add(1, Ordering::Release);
    let value = ((generation as usize) << (INDEX_BITS + TAG_BITS)) | (index << TAG_BITS) | TAG;
    Ok(core::ptr::without_provenance_mut(value))
}

/// What a handle stands for.
pub(crate) fn resolve(handle: *mut norn_world) -> Result<Resolved> {
    let value = handle as usize;
    let last = LAST.try_with(Cell::take).ok().flatten();
    if let Some(last) = last
        && last.handle == value
        && last.version == VERSION.load(Ordering::Acquire)
    {
        return Ok(last);
    }
    resolve_in_table(value)
}

/// The call is over.
pub(crate) fn give_back(resolved: Resolved) {
    // Where the thread is ending there is no place for it.
    let _ = LAST.try_with(|last| last.set(Some(resolved)));
}

#[inline(never)]
fn resolve_in_table(value: usize) -> Result<Resolved> {
    let index = (value >> TAG_BITS) & ((1 << INDEX_BITS) - 1);
    let generation = value >> (INDEX_BITS + TAG_BITS);
    let table = TABLE.read();
    let known = table.get(index).filter(|_| value & 0xf == TAG);
    match known {
        Some((now, Some(entry))) if *now as usize == generation => Ok(Resolved {
            entry: entry.clone(),
            handle: value,
            // Under the lock, so it is that of this table.
            version: VERSION.load(Ordering::Relaxed),
        }),
        Some((now, _)) if generation != 0 && generation <= *now as usize => {
            Err(Error::new(NORN_E_INVALID, "world was detached"))
        }
        _ if value == 0 => Err(Error::new(NORN_E_INVALID, "world is NULL")),
        _ => Err(Error::new(
            NORN_E_INVALID,
            format!("world {value:#x} is no world"),
        )),
    }
}

/// All worlds, each once.
pub(crate) fn all() -> Vec<Arc<World>> {
    let table = TABLE.read();
    let entries = table.iter().filter_map(|(_, entry)| entry.as_ref());
    entries
        .filter(|entry| entry.lane == 0)
        .map(|entry| entry.world.clone())
        .collect()
}

/// The other worlds of a world's runtime.
pub(crate) fn others_of_runtime(world: &World) -> Vec<Arc<World>> {
    let mut worlds = all();
    worlds.retain(|other| {
        other.runtime == world.runtime && !core::ptr::eq(Arc::as_ptr(other), world)
    });
    worlds
}

/// The sum of `World::activity` over all worlds of a world's runtime. It never goes back.
pub(crate) fn activity_of_runtime(world: &World) -> u64 {
    let table = TABLE.read();
    let entries = table.iter().filter_map(|(_, entry)| entry.as_ref());
    entries
        .filter(|entry| entry.lane == 0 && entry.world.runtime == world.runtime)
        .map(|entry| entry.world.activity())
        .sum()
}

/// Takes all handles of a world out of the table.
pub(crate) fn leave(world: &World) {
    record::forget(world);
    let mut table = TABLE.write();
    for (_, entry) in table.iter_mut() {
        let Some(of) = entry.as_ref().map(|entry| &*entry.world) else {
            continue;
        };
        if core::ptr::eq(of, world) {
            *entry = None;
        } else if of.runtime == world.runtime {
            // So that the sum over those that are left is no smaller.
            of.activity.fetch_add(world.activity(), Ordering::SeqCst);
        }
    }
    VERSION.fetch_add(1, Ordering::Release);
}
