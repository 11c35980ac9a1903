//! A panic that is caught on this thread and one on another, in a library with
//! its own copy of Rust's standard library.

use std::panic::catch_unwind;

/// Returns how many of the two panics were caught here.
#[no_mangle]
pub extern "C" fn second_rust_catches() -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let here = catch_unwind(|| panic!("here"));
    let there = std::thread::spawn(|| panic!("there")).join();
    i32::from(here.is_err()) + i32::from(there.is_err())
}
