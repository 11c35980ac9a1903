//! Types and operations, and types of memory that is not contiguous.

use core::ffi::c_int;

use mpi_sys::*;

use crate::codes::{Code, check};
use crate::datatype::*;
use crate::quiet::Quiet;
use crate::table::*;
use crate::this_mpi::{
    comm_of, norn_mpi_byte, norn_mpi_is_logical, norn_mpi_is_real, norn_mpi_is_type, op_of, type_of,
};

pub unsafe extern "C" fn type_builtin(number: i32, handle: *mut i32) -> i32 {
    // SAFETY: constants that were filled in when the plug-in was loaded, which is after MPI.
    let datatype = unsafe {
        match norn_type::from(number) {
            NORN_BYTE => norn_mpi_byte(),
            NORN_I8 => RSMPI_INT8_T,
            NORN_U8 => RSMPI_UINT8_T,
            NORN_I16 => RSMPI_INT16_T,
            NORN_U16 => RSMPI_UINT16_T,
            NORN_I32 => RSMPI_INT32_T,
            NORN_U32 => RSMPI_UINT32_T,
            NORN_I64 => RSMPI_INT64_T,
            NORN_U64 => RSMPI_UINT64_T,
            NORN_F32 => RSMPI_FLOAT,
            NORN_F64 => RSMPI_DOUBLE,
            NORN_C64 => RSMPI_FLOAT_COMPLEX,
            NORN_C128 => RSMPI_DOUBLE_COMPLEX,
            _ => return NORN_MPI_INVALID,
        }
    };
    if norn_mpi_is_type(datatype) == 0 {
        return NORN_MPI_UNSUPPORTED;
    }
    // SAFETY: no null handle, and `handle` is writable, as the table says.
    unsafe { handle.write(RSMPI_Type_c2f(datatype)) };
    NORN_MPI_OK
}

pub unsafe extern "C" fn op_builtin(number: i32, handle: *mut i32) -> i32 {
    // SAFETY: as in `type_builtin`; every MPI has these operations.
    unsafe {
        let op = match norn_op::from(number) {
            NORN_SUM => RSMPI_SUM,
            NORN_PROD => RSMPI_PROD,
            NORN_MIN => RSMPI_MIN,
            NORN_MAX => RSMPI_MAX,
            NORN_LAND => RSMPI_LAND,
            NORN_LOR => RSMPI_LOR,
            NORN_LXOR => RSMPI_LXOR,
            NORN_BAND => RSMPI_BAND,
            NORN_BOR => RSMPI_BOR,
            NORN_BXOR => RSMPI_BXOR,
            _ => return NORN_MPI_INVALID,
        };
        handle.write(RSMPI_Op_c2f(op));
    }
    NORN_MPI_OK
}

pub unsafe extern "C" fn type_info(comm: i32, handle: i32, info: *mut norn_mpi_type_info) -> i32 {
    let (Some(comm), Some(datatype)) = (comm_of(comm), type_of(handle)) else {
        return NORN_MPI_INVALID;
    };
    let read = || -> Result<norn_mpi_type_info, Code> {
        let mut found = norn_mpi_type_info::default();
        let (mut lb, mut position): (MPI_Count, c_int) = (0, 0);
        let (from, mut to) = (0_u8, 0_u8);
        // SAFETY: MPI is active and `comm` a communicator that returns errors as codes, as the table says; `datatype`
        // is no null handle, and MPI_Pack is the first to see it, so the others get a type. It reads and writes nothing
        // of either byte for no elements. The outputs are writable.
        unsafe {
            // No call tells whether a type is committed; this one refuses what is not, even for no elements. It has a
            // communicator, too, whose handler then gets the error.
            check(MPI_Pack(
                (&raw const from).cast(),
                0,
                datatype,
                (&raw mut to).cast(),
                1,
                &mut position,
                comm,
            ))?;
            check(MPI_Type_size_x(datatype, &mut found.size))?;
            check(MPI_Type_get_extent_x(datatype, &mut lb, &mut found.extent))?;
            check(MPI_Type_get_true_extent_x(
                datatype,
                &mut found.true_lb,
                &mut found.true_extent,
            ))?;
        }
        Ok(found)
    };
    match read() {
        // SAFETY: writable, as the table says.
        Ok(found) => unsafe { info.write(found) },
        Err(code) => return code.0,
    }
    NORN_MPI_OK
}

pub unsafe extern "C" fn op_check(op: i32, datatype: i32) -> i32 {
    let (Some(op), Some(datatype)) = (op_of(op), type_of(datatype)) else {
        return NORN_MPI_INVALID;
    };
    if norn_mpi_is_logical(op) != 0 && norn_mpi_is_real(datatype) != 0 {
        return MPI_ERR_OP as i32;
    }
    let _quiet = Quiet::new();
    let (from, mut to) = (0_u8, 0_u8);
    // SAFETY: MPI is active, and reads and writes nothing of either byte for no elements. It looks at both handles first.
    unsafe {
        MPI_Reduce_local(
            (&raw const from).cast(),
            (&raw mut to).cast(),
            0,
            datatype,
            op,
        )
    }
}

/// A type of this plug-in's own, freed when dropped.
pub struct Made(pub MPI_Datatype);

impl Made {
    /// Gives the handle away.
    fn keep(self) -> MPI_Datatype {
        let datatype = self.0;
        core::mem::forget(self);
        datatype
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: a type of this plug-in's own, freed once. MPI is active: a call of the table is under way. Requests
        // that use the type keep it.
        unsafe { MPI_Type_free(&mut self.0) };
    }
}

/// The handle that a call makes.
fn made(call: impl FnOnce(*mut MPI_Datatype) -> c_int) -> Result<Made, Code> {
    // SAFETY: as in `type_builtin`.
    let mut datatype = unsafe { RSMPI_DATATYPE_NULL };
    check(call(&mut datatype))?;
    Ok(Made(datatype))
}

fn strided(count: i64, stride: MPI_Aint, base: MPI_Datatype) -> Result<Made, Code> {
    let count = c_int::try_from(count).map_err(|_| Code(NORN_MPI_TOO_LARGE))?;
    // SAFETY: MPI is active and `base` a type, which need not be committed; `out` is writable.
    made(|out| unsafe { MPI_Type_create_hvector(count, 1, stride, base, out) })
}

fn extent_of(datatype: MPI_Datatype) -> Result<(MPI_Aint, MPI_Aint), Code> {
    let (mut lb, mut extent) = (0, 0);
    // SAFETY: MPI is active and `datatype` a type; the outputs are writable.
    check(unsafe { MPI_Type_get_extent(datatype, &mut lb, &mut extent) })?;
    Ok((lb, extent))
}

/// `count` times `base`, `stride` bytes apart, not committed. A count that an int cannot hold becomes blocks of 2^30
/// and a rest; the result is given the extent that the simple type would have, which MPI might round.
fn repeated(base: MPI_Datatype, count: i64, stride: MPI_Aint) -> Result<Made, Code> {
    const BLOCK: i64 = 1 << 30;
    let (lb, extent) = extent_of(base)?;
    if let Ok(small) = c_int::try_from(count) {
        if stride == extent {
            // SAFETY: as in `strided`.
            return made(|out| unsafe { MPI_Type_contiguous(small, base, out) });
        }
        return strided(count, stride, base);
    }
    let whole_extent = stride
        .checked_mul(count as MPI_Aint)
        .ok_or(Code(NORN_MPI_TOO_LARGE))?;
    let blocks = {
        let block = strided(BLOCK, stride, base)?;
        strided(count / BLOCK, BLOCK as MPI_Aint * stride, block.0)?
    };
    let rest = strided(count % BLOCK, stride, base)?;
    let lengths: [c_int; 2] = [1, 1];
    let places = [0, (count / BLOCK) as MPI_Aint * BLOCK as MPI_Aint * stride];
    let parts = [blocks.0, rest.0];
    // SAFETY: the three arrays have two elements each and outlive the call, and MPI keeps none of them; the rest as
    // in `strided`.
    let whole = made(|out| unsafe {
        MPI_Type_create_struct(2, lengths.as_ptr(), places.as_ptr(), parts.as_ptr(), out)
    })?;
    // SAFETY: as in `strided`. The new type keeps what it needs of `whole`.
    made(|out| unsafe { MPI_Type_create_resized(whole.0, lb, whole_extent, out) })
}

fn commit(mut datatype: Made) -> Result<Made, Code> {
    // SAFETY: a type of this plug-in's own, and MPI is active.
    check(unsafe { MPI_Type_commit(&mut datatype.0) })?;
    Ok(datatype)
}

/// `count` times `datatype` as one type, for an MPI whose counts are ints.
pub fn large_type(datatype: MPI_Datatype, count: i64) -> Result<Made, Code> {
    commit(repeated(datatype, count, extent_of(datatype)?.1)?)
}

pub unsafe extern "C" fn type_blocks(
    base: i32,
    count: i64,
    blocks: i64,
    stride: i64,
    planes: i64,
    plane_stride: i64,
    handle: *mut i32,
) -> i32 {
    let Some(base) = type_of(base).filter(|_| count >= 0 && blocks >= 0 && planes >= 0) else {
        return NORN_MPI_INVALID;
    };
    let _quiet = Quiet::new();
    let make = || -> Result<Made, Code> {
        let extent = extent_of(base)?.1;
        let bytes = |stride: i64| {
            extent
                .checked_mul(stride as MPI_Aint)
                .ok_or(Code(NORN_MPI_TOO_LARGE))
        };
        let mut datatype = repeated(base, count, extent)?;
        if blocks != 1 {
            datatype = repeated(datatype.0, blocks, bytes(stride)?)?;
        }
        if planes != 1 {
            datatype = repeated(datatype.0, planes, bytes(plane_stride)?)?;
        }
        commit(datatype)
    };
    match make() {
        // SAFETY: a committed type, given away to the caller, who frees it; `handle` is writable, as the table says.
        Ok(datatype) => unsafe { handle.write(RSMPI_Type_c2f(datatype.keep())) },
        Err(code) => return code.0,
    }
    NORN_MPI_OK
}

pub unsafe extern "C" fn type_free(handle: i32) -> i32 {
    let Some(mut datatype) = type_of(handle) else {
        return NORN_MPI_INVALID;
    };
    let _quiet = Quiet::new();
    // SAFETY: a type from `type_blocks`, freed once, as the table says.
    unsafe { MPI_Type_free(&mut datatype) }
}
