//! The table, and those of its functions that make no requests (`requests` has the others).
// SAFETY of the functions here: each is called as table.rs documents: outputs are writable, buffers live until their
// request has ended.
#![allow(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::ffi::{c_char, c_void};
use std::sync::atomic::Ordering::SeqCst;

use super::inside::Inside;
use super::message::DEAD;
use super::requests::*;
use super::state::{OWNERS, state, thread_number, violation};
use super::table::*;
use super::types::{self, Type};

fn write_text(text: &str, buffer: *mut c_char, size: usize) -> i32 {
    let length = text.len().min(size.saturating_sub(1));
    if size > 0 {
        // SAFETY: the caller's buffer has room for `size` bytes, and the text is cut to one less.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
            buffer.add(length).write(0);
        }
    }
    NORN_MPI_OK
}

unsafe extern "C" fn library_state(out: *mut i32) -> i32 {
    *out = NORN_MPI_ACTIVE;
    NORN_MPI_OK
}

unsafe extern "C" fn library_text(text: *mut c_char, size: usize) -> i32 {
    write_text("sim: MPI inside one process", text, size)
}

unsafe extern "C" fn error_text(error: i32, text: *mut c_char, size: usize) -> i32 {
    let words = match error {
        DEAD => "the other process has failed",
        15 => "message truncated",
        PLANNED => "failed as planned",
        NORN_MPI_INVALID => "invalid argument",
        _ => "unknown error",
    };
    write_text(words, text, size)
}

unsafe extern "C" fn thread(comm: i32, level: *mut i32, is_main: *mut i32) -> i32 {
    let state = state();
    if state.member(comm).is_none() {
        return NORN_MPI_INVALID;
    }
    let owner = &OWNERS[state.owner_of(comm)];
    *level = owner.level.load(SeqCst) as i32;
    *is_main = i32::from(owner.main.load(SeqCst) == thread_number());
    NORN_MPI_OK
}

unsafe extern "C" fn world(comm: i32, rank: *mut i32, size: *mut i32) -> i32 {
    let state = state();
    let Some(member) = state.member(comm) else {
        return NORN_MPI_INVALID;
    };
    *rank = member.rank as i32;
    *size = state.comms[member.comm].size as i32;
    NORN_MPI_OK
}

unsafe extern "C" fn device_aware(answer: *mut i32, reason: *mut c_char, size: usize) -> i32 {
    *answer = 0;
    write_text("sim knows no devices", reason, size)
}

unsafe extern "C" fn abort(_comm: i32, code: i32) {
    eprintln!("sim: abort with code {code}");
    std::process::exit(code);
}

unsafe extern "C" fn comm_info(comm: i32, info: *mut norn_mpi_comm_info) -> i32 {
    let _inside = Inside::of_comm(comm);
    let state = state();
    let Some(member) = state.member(comm) else {
        return NORN_MPI_INVALID;
    };
    let found = &state.comms[member.comm];
    *info = norn_mpi_comm_info {
        rank: member.rank as i32,
        size: found.size as i32,
        tag_ub: state.jobs[found.job].config.tag_ub,
        inter: 0,
    };
    NORN_MPI_OK
}

unsafe extern "C" fn comm_free(comm: i32) -> i32 {
    let _inside = Inside::of_comm(comm);
    let state = &mut *state();
    let Some(member) = state.member(comm) else {
        return NORN_MPI_INVALID;
    };
    if state.comms[member.comm].mailboxes[member.rank].pending > 0 {
        violation("a communicator is freed while requests on it are pending");
    }
    state.members[comm as usize] = None;
    let found = &mut state.comms[member.comm];
    found.freed += 1;
    if found.freed == found.size {
        let mut left = (0..).zip(&found.mailboxes);
        if let Some((to, ((from, tag), list))) =
            left.find_map(|(to, mailbox): (usize, _)| Some((to, mailbox.arrived.iter().next()?)))
        {
            let data = &list[0].data;
            violation(&format!(
                "a communicator is freed with a message of {} B from rank {from} to rank {to}, tag {tag}, that nobody has received: {:?}",
                data.len(),
                &data[..data.len().min(24)]
            ));
        }
        found.last_arrival.clear();
        found.mailboxes = Vec::new();
        found.calls = Vec::new();
        found.handles = Vec::new();
    }
    NORN_MPI_OK
}

unsafe extern "C" fn type_builtin(number: i32, handle: *mut i32) -> i32 {
    match types::builtin(number) {
        Some(found) => {
            *handle = found;
            NORN_MPI_OK
        }
        None => NORN_MPI_UNSUPPORTED,
    }
}

unsafe extern "C" fn type_info(comm: i32, handle: i32, info: *mut norn_mpi_type_info) -> i32 {
    let _inside = Inside::of_comm(comm);
    match types::info(&state().types, handle) {
        Some(found) => {
            *info = found;
            NORN_MPI_OK
        }
        None => NORN_MPI_INVALID,
    }
}

unsafe extern "C" fn type_blocks(
    base: i32,
    count: i64,
    blocks: i64,
    stride: i64,
    planes: i64,
    plane_stride: i64,
    handle: *mut i32,
) -> i32 {
    let state = &mut *state();
    if types::info(&state.types, base).is_none() {
        return NORN_MPI_INVALID;
    }
    let made = Some(Type {
        base,
        count,
        blocks,
        stride,
        planes,
        plane_stride,
    });
    // Never used again: a type that is freed lives on in pending requests.
    state.types.push(made);
    *handle = types::made(state.types.len() - 1);
    NORN_MPI_OK
}

unsafe extern "C" fn type_free(handle: i32) -> i32 {
    match types::index_of_made(handle) {
        Some(index) if index < state().types.len() => NORN_MPI_OK,
        _ => NORN_MPI_INVALID,
    }
}

unsafe extern "C" fn op_builtin(number: i32, handle: *mut i32) -> i32 {
    match types::op(number) {
        Some(found) => {
            *handle = found;
            NORN_MPI_OK
        }
        None => NORN_MPI_UNSUPPORTED,
    }
}

unsafe extern "C" fn op_check(op: i32, datatype: i32) -> i32 {
    match types::is_op(op) && types::info(&state().types, datatype).is_some() {
        true => NORN_MPI_OK,
        false => NORN_MPI_INVALID,
    }
}

unsafe extern "C" fn iprobe(
    source: i32,
    tag: i32,
    comm: i32,
    found: *mut i32,
    message: *mut norn_mpi_done,
) -> i32 {
    let _inside = Inside::of_comm(comm);
    let state = &mut *state();
    let Some(member) = state.member(comm) else {
        return NORN_MPI_INVALID;
    };
    state.tick();
    let probed = state.probe(member, source, tag);
    *found = i32::from(probed.is_some());
    if let Some(probed) = probed {
        *message = probed;
    }
    NORN_MPI_OK
}

unsafe extern "C" fn at_finalize(comm: i32, then: norn_mpi_then_fn) -> i32 {
    state().then.insert(comm, then);
    NORN_MPI_OK
}

unsafe extern "C" fn alloc(bytes: u64, address: *mut *mut c_void) -> i32 {
    *address = match bytes {
        0 => std::ptr::null_mut(),
        bytes => libc_malloc(bytes as usize),
    };
    NORN_MPI_OK
}

unsafe extern "C" fn free(address: *mut c_void) -> i32 {
    libc_free(address);
    NORN_MPI_OK
}

unsafe extern "C" {
    #[link_name = "malloc"]
    fn libc_malloc(bytes: usize) -> *mut c_void;
    #[link_name = "free"]
    fn libc_free(address: *mut c_void);
}

/// A table whose texts are static.
struct Shared(norn_mpi_table);
// SAFETY: constant.
unsafe impl Sync for Shared {}

static TABLE: Shared = Shared(norn_mpi_table {
    version: NORN_MPI_TABLE_VERSION,
    struct_size: size_of::<norn_mpi_table>() as u32,
    family: c"sim".as_ptr(),
    built_for: c"sim".as_ptr(),
    state: library_state,
    library_text,
    error_text,
    thread,
    world,
    device_aware,
    abort,
    comm_info,
    comm_idup,
    comm_free,
    type_builtin,
    type_info,
    type_blocks,
    type_free,
    op_builtin,
    requests_open,
    requests_close,
    isend,
    irecv,
    icollective,
    count_limit,
    test,
    cancel,
    iprobe,
    alloc,
    free,
    at_finalize,
    op_check,
});

/// The table.
pub fn table() -> *const norn_mpi_table {
    &raw const TABLE.0
}
