//! The table of handles of worlds. A handle is index and generation, never an address.

use std::sync::Arc;

use parking_lot::RwLock;

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
    let value = ((generation as usize) << (INDEX_BITS + TAG_BITS)) | (index << TAG_BITS) | TAG;
    Ok(core::ptr::without_provenance_mut(value))
}

/// What a handle stands for.
pub(crate) fn resolve(handle: *mut norn_world) -> Result<Entry> {
    let value = handle as usize;
    let index = (value >> TAG_BITS) & ((1 << INDEX_BITS) - 1);
    let generation = value >> (INDEX_BITS + TAG_BITS);
    let table = TABLE.read();
    let known = table.get(index).filter(|_| value & 0xf == TAG);
    match known {
        Some((now, Some(entry))) if *now as usize == generation => Ok(entry.clone()),
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

/// Takes all handles of a world out of the table.
pub(crate) fn leave(world: &World) {
    let mut table = TABLE.write();
    for (_, entry) in table.iter_mut() {
        if entry
            .as_ref()
            .is_some_and(|entry| core::ptr::eq(Arc::as_ptr(&entry.world), world))
        {
            *entry = None;
        }
    }
}
