//! Types: how elements lie in memory, and reductions of the predefined ones.

use super::table::norn_mpi_type_info;

/// First handle of a predefined type; further on are those made by `type_blocks`.
const FIRST_BUILTIN: i32 = 100;
const FIRST_MADE: i32 = 1000;
const BYTES: [usize; 13] = [1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16];
const FIRST_OP: i32 = 200;

#[derive(Clone, Copy)]
pub struct Type {
    pub base: i32,
    pub count: i64,
    pub blocks: i64,
    pub stride: i64,
    pub planes: i64,
    pub plane_stride: i64,
}

pub fn builtin(number: i32) -> Option<i32> {
    ((number as usize) < BYTES.len()).then_some(FIRST_BUILTIN + number)
}

pub fn op(number: i32) -> Option<i32> {
    (0..10).contains(&number).then_some(FIRST_OP + number)
}

pub fn is_op(handle: i32) -> bool {
    op(handle - FIRST_OP).is_some()
}

pub fn made(index: usize) -> i32 {
    FIRST_MADE + index as i32
}

pub fn index_of_made(handle: i32) -> Option<usize> {
    usize::try_from(handle - FIRST_MADE).ok()
}

pub fn info(types: &[Option<Type>], handle: i32) -> Option<norn_mpi_type_info> {
    let number = handle - FIRST_BUILTIN;
    if (0..BYTES.len() as i32).contains(&number) {
        let bytes = BYTES[number as usize] as i64;
        return Some(norn_mpi_type_info {
            size: bytes,
            extent: bytes,
            true_lb: 0,
            true_extent: bytes,
        });
    }
    let what = (*types.get(index_of_made(handle)?)?)?;
    let base = info(types, what.base)?;
    let last = (what.planes - 1) * what.plane_stride + (what.blocks - 1) * what.stride + what.count;
    let empty = what.count * what.blocks * what.planes == 0;
    let extent = if empty { 0 } else { last * base.extent };
    Some(norn_mpi_type_info {
        size: base.size * what.count * what.blocks * what.planes,
        extent,
        true_lb: 0,
        true_extent: extent,
    })
}

/// Calls `each` with offset and length of every run of bytes of `count` elements.
pub fn runs(
    types: &[Option<Type>],
    handle: i32,
    count: i64,
    at: i64,
    each: &mut dyn FnMut(i64, usize),
) {
    let Some(known) = info(types, handle) else {
        return;
    };
    let made = index_of_made(handle).and_then(|index| types.get(index).copied().flatten());
    match made {
        None => each(at, (known.size * count) as usize),
        Some(what) => {
            let Some(base) = info(types, what.base) else {
                return;
            };
            for element in 0..count {
                for plane in 0..what.planes {
                    for block in 0..what.blocks {
                        let offset = plane * what.plane_stride + block * what.stride;
                        let start = at + element * known.extent + offset * base.extent;
                        runs(types, what.base, what.count, start, each);
                    }
                }
            }
        }
    }
}

/// Copies elements out of memory.
///
/// # Safety
/// The elements are readable.
pub unsafe fn pack(types: &[Option<Type>], address: *const u8, handle: i32, count: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    runs(types, handle, count, 0, &mut |offset, length| {
        if length > 0 {
            // SAFETY: passed on from the caller.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(address.offset(offset as isize), length)
            });
        }
    });
    bytes
}

/// Copies bytes into elements in memory, as far as both go.
///
/// # Safety
/// The elements are writable.
pub unsafe fn unpack(
    types: &[Option<Type>],
    bytes: &[u8],
    address: *mut u8,
    handle: i32,
    count: i64,
) {
    let mut left = bytes;
    runs(types, handle, count, 0, &mut |offset, length| {
        let length = length.min(left.len());
        let (head, rest) = left.split_at(length);
        left = rest;
        if length > 0 {
            // SAFETY: passed on from the caller.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    head.as_ptr(),
                    address.offset(offset as isize),
                    length,
                );
            }
        }
    });
}

macro_rules! fold {
    ($type:ty, $into:expr, $from:expr, $combine:expr) => {
        for (into, from) in $into
            .chunks_exact_mut(size_of::<$type>())
            .zip($from.chunks_exact(size_of::<$type>()))
        {
            let a = <$type>::from_ne_bytes((&*into).try_into().expect("an element"));
            let b = <$type>::from_ne_bytes(from.try_into().expect("an element"));
            let combined: $type = $combine(a, b);
            into.copy_from_slice(&combined.to_ne_bytes());
        }
    };
}

macro_rules! whole {
    ($type:ty, $into:expr, $from:expr, $op:expr) => {
        match $op {
            0 => fold!($type, $into, $from, |a: $type, b: $type| a.wrapping_add(b)),
            1 => fold!($type, $into, $from, |a: $type, b: $type| a.wrapping_mul(b)),
            2 => fold!($type, $into, $from, |a: $type, b: $type| a.min(b)),
            3 => fold!($type, $into, $from, |a: $type, b: $type| a.max(b)),
            4 => fold!($type, $into, $from, |a, b| (a != 0 && b != 0) as $type),
            5 => fold!($type, $into, $from, |a, b| (a != 0 || b != 0) as $type),
            6 => fold!($type, $into, $from, |a, b| ((a != 0) != (b != 0)) as $type),
            7 => fold!($type, $into, $from, |a, b| a & b),
            8 => fold!($type, $into, $from, |a, b| a | b),
            _ => fold!($type, $into, $from, |a, b| a ^ b),
        }
    };
}

macro_rules! real {
    ($type:ty, $into:expr, $from:expr, $op:expr) => {
        match $op {
            0 => fold!($type, $into, $from, |a: $type, b: $type| a + b),
            1 => fold!($type, $into, $from, |a: $type, b: $type| a * b),
            2 => fold!($type, $into, $from, |a: $type, b: $type| a.min(b)),
            3 => fold!($type, $into, $from, |a: $type, b: $type| a.max(b)),
            _ => return false,
        }
    };
}

/// Reduces `from` into `into`; false for an operation that the type has not.
pub fn reduce(into: &mut [u8], from: &[u8], handle: i32, op: i32) -> bool {
    let op = op - FIRST_OP;
    match handle - FIRST_BUILTIN {
        0 | 2 => whole!(u8, into, from, op),
        1 => whole!(i8, into, from, op),
        3 => whole!(i16, into, from, op),
        4 => whole!(u16, into, from, op),
        5 => whole!(i32, into, from, op),
        6 => whole!(u32, into, from, op),
        7 => whole!(i64, into, from, op),
        8 => whole!(u64, into, from, op),
        9 => real!(f32, into, from, op),
        10 => real!(f64, into, from, op),
        11 if op == 0 => real!(f32, into, from, op),
        12 if op == 0 => real!(f64, into, from, op),
        _ => return false,
    }
    true
}
