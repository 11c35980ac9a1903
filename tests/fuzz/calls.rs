//! The coverage-guided fuzzer: libFuzzer makes the bytes, `norn_fuzz::run` makes calls of them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| norn_fuzz::run(bytes));
