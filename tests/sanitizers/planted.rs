//! Faults planted for the sanitizers, in Rust: `run.sh` asks for one by name and demands its report. They are left
//! out of every other run, where they would pass or crash.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use norn::abi::runtime::*;
use norn::abi::status::NORN_OK;
use norn::abi::task::*;
use norn::abi::types::*;

const HEADER: i32 = NORN_VERSION_MAJOR * 1_000_000 + NORN_VERSION_MINOR * 1000 + NORN_VERSION_PATCH;

type Body = unsafe extern "C" fn(*mut norn_self, *mut c_void) -> i32;

/// Runs a body so many times on a runtime of two workers.
fn run(body: Body, times: usize) {
    // SAFETY: all-zero is a valid value of both structures: numbers, NULL pointers and no functions.
    let (mut config, mut task): (norn_config, norn_task) = unsafe { std::mem::zeroed() };
    config.struct_size = size_of::<norn_config>();
    config.workers = 2;
    task.struct_size = size_of::<norn_task>();
    task.run = Some(body);
    let mut rt = null_mut();
    // SAFETY: the structures are readable, the output is writable, and the bodies need no argument.
    unsafe {
        assert_eq!(norn_open_version(HEADER, &config, &mut rt), NORN_OK);
        for _ in 0..times {
            assert_eq!(norn_submit(rt, &task, null_mut()), NORN_OK);
        }
        assert_eq!(norn_close(rt), NORN_OK);
    }
}

unsafe extern "C" fn overruns(_: *mut norn_self, _: *mut c_void) -> i32 {
    let memory = black_box(vec![0u8; 16]);
    // SAFETY: none. This is the fault.
    unsafe { black_box(memory.as_ptr().add(16).cast_mut()).write_volatile(1) };
    0
}

unsafe extern "C" fn leaks(_: *mut norn_self, _: *mut c_void) -> i32 {
    std::mem::forget(black_box(vec![0u8; 4321]));
    0
}

static RUNNING: AtomicU32 = AtomicU32::new(0);
static mut SHARED: u32 = 0;

/// Both bodies are running when they write, and nothing orders them: a relaxed counter is no order. Many writes and
/// nothing but writes, as in `planted.c`.
unsafe extern "C" fn races(_: *mut norn_self, _: *mut c_void) -> i32 {
    RUNNING.fetch_add(1, Relaxed);
    while RUNNING.load(Relaxed) < 2 {
        std::thread::yield_now();
    }
    for i in 0..1000 {
        // SAFETY: none. This is the fault.
        unsafe { black_box(&raw mut SHARED).write_volatile(i) };
        if i % 10 == 0 {
            std::thread::yield_now();
        }
    }
    0
}

#[test]
#[ignore = "a fault planted for the address sanitizer"]
fn a_body_overruns() {
    run(overruns, 1);
}

#[test]
#[ignore = "a fault planted for the leak sanitizer"]
fn a_body_leaks() {
    run(leaks, 1);
}

#[test]
#[ignore = "a fault planted for the thread sanitizer"]
fn two_bodies_race() {
    run(races, 2);
}
