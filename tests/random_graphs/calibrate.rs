//! Finds the tree in which norn combines the private copies of a reduction. The
//! shape must depend on their number alone, so it is taken once, in sync mode, and every
//! run in every mode must then agree with it.

use std::ffi::c_void;
use std::sync::Mutex;

use norn::abi::data::*;
use norn::abi::runtime::*;
use norn::abi::status::*;
use norn::abi::task::*;
use norn::abi::types::*;

use crate::timeline::Tree;

/// Combinations so far: `NODES[i]` is what the number `NODE + i` stands for.
static NODES: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// Numbers below stand for leaves: the datum is 1, the n-th copy n + 1.
const NODE: u64 = 1 << 32;

unsafe extern "C" fn nothing(copy: *mut c_void, _bytes: u64, _arg: *mut c_void) {
    // SAFETY: the datum is one word.
    unsafe { *copy.cast::<u64>() = 0 };
}

unsafe extern "C" fn join(into: *mut c_void, from: *const c_void, _bytes: u64, _arg: *mut c_void) {
    // SAFETY: the datum is one word.
    let (into, from) = unsafe { (&mut *into.cast::<u64>(), *from.cast::<u64>()) };
    *into = match (*into, from) {
        (0, number) | (number, 0) => number,
        pair => {
            let mut nodes = NODES.lock().expect("no panic holds it");
            nodes.push(pair);
            NODE + nodes.len() as u64 - 1
        }
    };
}

struct Leaf {
    rt: *mut norn_runtime,
    data: norn_data,
    number: u64,
}

unsafe extern "C" fn add(_self: *mut norn_self, arg: *mut c_void) -> i32 {
    // SAFETY: the argument is a copied Leaf.
    let leaf = unsafe { &*arg.cast::<Leaf>() };
    let mut copy = std::ptr::null_mut();
    // SAFETY: the output is writable; the other one may be NULL.
    let status = unsafe { norn_data_pointer(leaf.rt, leaf.data, &mut copy, std::ptr::null_mut()) };
    if status != NORN_OK {
        return 1;
    }
    // SAFETY: the private copy is one word.
    unsafe { *copy.cast::<u64>() = leaf.number };
    0
}

fn tree(number: u64, nodes: &[(u64, u64)]) -> Tree {
    match number.checked_sub(NODE) {
        None => Tree::Leaf(number as usize - 1),
        Some(index) => {
            let (left, right) = nodes[index as usize];
            Tree::Node(Box::new(tree(left, nodes)), Box::new(tree(right, nodes)))
        }
    }
}

/// The trees of 0 to `most` copies.
pub fn trees(most: usize) -> Result<Vec<Tree>, String> {
    let mut values = vec![1u64; most + 1];
    // SAFETY: structures say their own sizes, arrays live on this stack, the data outlive the runtime.
    unsafe {
        let mut config: norn_config = std::mem::zeroed();
        config.struct_size = size_of::<norn_config>();
        config.mode = NORN_MODE_SYNC;
        let mut rt = std::ptr::null_mut();
        if norn_open_version(NORN_VERSION_MINOR * 1000, &config, &mut rt) != NORN_OK {
            return Err(format!("norn_open: {}", crate::context::last_error()));
        }
        for (copies, value) in values.iter_mut().enumerate() {
            let mut desc: norn_data_desc = std::mem::zeroed();
            desc.struct_size = size_of::<norn_data_desc>();
            desc.ptr = (&raw mut *value).cast();
            desc.bytes = 8;
            desc.reduce = norn_reduction {
                identity: Some(nothing),
                combine: Some(join),
                arg: std::ptr::null_mut(),
            };
            let mut data = norn_data::default();
            if norn_data_register(rt, &desc, &mut data) != NORN_OK {
                return Err(format!(
                    "norn_data_register: {}",
                    crate::context::last_error()
                ));
            }
            for copy in 0..copies {
                let access = norn_access {
                    data,
                    slot: 0,
                    mode: NORN_REDUCE,
                    flags: 0,
                };
                let leaf = Leaf {
                    rt,
                    data,
                    number: copy as u64 + 2,
                };
                let mut task: norn_task = std::mem::zeroed();
                task.struct_size = size_of::<norn_task>();
                task.run = Some(add);
                task.arg = (&raw const leaf) as *mut c_void;
                task.arg_bytes = size_of::<Leaf>() as u32;
                task.flags = NORN_COPY_ARG;
                task.accesses = &access;
                task.access_count = 1;
                if norn_submit(rt, &task, std::ptr::null_mut()) != NORN_OK {
                    return Err(format!("norn_submit: {}", crate::context::last_error()));
                }
            }
        }
        if norn_drain(rt, 20_000_000_000) != NORN_OK || norn_close(rt) != NORN_OK {
            return Err(format!("drain or close: {}", crate::context::last_error()));
        }
    }
    let nodes = NODES.lock().expect("no panic holds it");
    let trees: Vec<Tree> = values.iter().map(|value| tree(*value, &nodes)).collect();
    for (copies, tree) in trees.iter().enumerate() {
        let mut leaves = Vec::new();
        tree.leaves(&mut leaves);
        if leaves != (0..=copies).collect::<Vec<_>>() {
            return Err(format!(
                "{copies} copies are combined out of order: {tree:?}"
            ));
        }
    }
    Ok(trees)
}
