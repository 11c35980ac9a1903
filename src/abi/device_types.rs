//! Structures and values of the calls on devices (`device`).
#![allow(non_camel_case_types)] // C spelling, read by cbindgen

use core::ffi::{c_char, c_void};

use super::types::norn_data;

/// The device that is current on the calling thread; the first one where none is.
pub const NORN_DEVICE_CURRENT: i32 = 0;
/// The device of this process's rank among those on its node, as the launcher says it, modulo the devices that are visible.
pub const NORN_DEVICE_LOCAL_RANK: i32 = 1;
/// The visible device with number `ordinal`.
pub const NORN_DEVICE_ORDINAL: i32 = 2;
/// The visible device with the UUID `uuid`.
pub const NORN_DEVICE_UUID: i32 = 3;

/// Which device to open and how. Fill it from `NORN_DEVICE_CONFIG_INIT`; zero means the default everywhere.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_device_config {
    /// `sizeof(norn_device_config)`.
    pub struct_size: usize,
    /// How the device is named: one of `NORN_DEVICE_*`.
    pub select: i32,
    /// For NORN_DEVICE_ORDINAL.
    pub ordinal: i32,
    /// For NORN_DEVICE_UUID: "GPU-" and the groups of digits, or the digits alone. Copied.
    pub uuid: *const c_char,
    /// Ceiling on the device memory that norn allocates. 0: none.
    pub max_bytes: u64,
    /// Streams that operations are put on: how many independent ones are on the device at once. 0: 32.
    pub streams: i32,
    /// Reserved, 0.
    pub flags: u32,
}

/// What is known of an open device. Set `struct_size` before the call that fills it (`NORN_DEVICE_INFO_INIT`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_device_info {
    /// `sizeof(norn_device_info)`.
    pub struct_size: usize,
    /// Number among the devices that this process sees.
    pub ordinal: i32,
    /// Streams of the pool.
    pub streams: i32,
    /// Compute capability, 10 times the major number plus the minor.
    pub capability: i32,
    /// 1 after a fault: everything on the device fails, and only closing the runtime is left.
    pub failed: i32,
    /// Memory of the device.
    pub total_bytes: u64,
    /// Of this, what norn's data take.
    pub used_bytes: u64,
    /// Pinned host memory that norn's data take, of all devices.
    pub pinned_bytes: u64,
    /// Operations handed to the device so far.
    pub issued: u64,
    /// Waits between streams so far.
    pub waits: u64,
    /// Its name.
    pub name: [c_char; 128],
    /// Its UUID as text, "GPU-..." .
    pub uuid: [c_char; 48],
}

/// A module of kernels on one device. `{0}` is none. It lives until the runtime closes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct norn_module {
    /// Opaque.
    pub id: u64,
}

/// A kernel of a module. `{0}` is none. It lives until the runtime closes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct norn_kernel {
    /// Opaque.
    pub id: u64,
}

/// An argument is `bytes` bytes at `value`, copied in the call.
pub const NORN_ARGUMENT_VALUE: i32 = 0;
/// An argument is the device pointer of a datum, `offset` bytes from its start.
pub const NORN_ARGUMENT_DATA: i32 = 1;

/// One argument of a kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_argument {
    /// `NORN_ARGUMENT_VALUE` or `NORN_ARGUMENT_DATA`.
    pub kind: i32,
    /// For a datum: the access that the kernel makes (`NORN_READ`, `NORN_WRITE`, `NORN_READ_WRITE`, `NORN_COMMUTE`), which is
    /// added to those of the operation; 0: none is added.
    pub mode: i32,
    /// For a value: its size, at most 4096.
    pub bytes: u64,
    /// For a value: where it is.
    pub value: *const c_void,
    /// For a datum: the datum.
    pub data: norn_data,
    /// For a datum: bytes from its start to where the pointer shall point, which is a byte of it or its end. What lies between
    /// the rows of a piece is not of it.
    pub offset: u64,
}

/// A kernel launch. Fill it from `NORN_LAUNCH_INIT`. Zero in `grid` and `block` means 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct norn_launch_desc {
    /// `sizeof(norn_launch_desc)`.
    pub struct_size: usize,
    /// The kernel.
    pub kernel: norn_kernel,
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Reserved, 0.
    pub flags: u32,
    /// `argument_count` arguments in the kernel's order; read during the call only.
    pub arguments: *const norn_argument,
    /// Number of arguments.
    pub argument_count: u64,
}

/// A cuBLAS handle (`cublasHandle_t`).
pub const NORN_PROVIDER_CUBLAS: i32 = 1;
/// A dense cuSOLVER handle (`cusolverDnHandle_t`).
pub const NORN_PROVIDER_CUSOLVER: i32 = 2;
