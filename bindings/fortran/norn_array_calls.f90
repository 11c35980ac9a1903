! Arrays as data, directly: one form for each intrinsic type, any rank. norn_memory_of says why the arguments are pointers.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_array_calls
  use, intrinsic :: iso_c_binding, only: c_bool, c_int32_t
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use norn_c, only: norn_data, norn_place, norn_reduction, norn_runtime
  use norn_memory_of, only: norn_memory
  use norn_data_calls, only: norn_data_rebind_memory, norn_data_register_memory
  implicit none
  private
  public :: norn_data_register, norn_data_rebind

  ! norn_data_register(rt, array, data, [name, flags, kind, place, reduce, stat, errmsg])
  ! The array, a target of any intrinsic type and rank, becomes a datum; it must stay where it is until
  ! norn_data_unregister returns.
  interface norn_data_register
    procedure register_int8, register_int16, register_int32, register_int64, register_real32, register_real64, &
      register_complex32, register_complex64, register_bool, register_logical, register_character
  end interface

  ! norn_data_rebind(rt, data, array, [stat, errmsg])
  ! After the last access so far the datum is where the array is now; the caller has moved the contents.
  interface norn_data_rebind
    procedure rebind_int8, rebind_int16, rebind_int32, rebind_int64, rebind_real32, rebind_real64, rebind_complex32, &
      rebind_complex64, rebind_bool, rebind_logical, rebind_character
  end interface

contains
  subroutine register_int8(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(int8), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_int8(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    integer(int8), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_int16(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(int16), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_int16(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    integer(int16), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_int32(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(int32), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_int32(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    integer(int32), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_int64(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    integer(int64), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_int64(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    integer(int64), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_real32(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    real(real32), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_real32(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    real(real32), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_real64(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    real(real64), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_real64(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    real(real64), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_complex32(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    complex(real32), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_complex32(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    complex(real32), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_complex64(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    complex(real64), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_complex64(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    complex(real64), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_bool(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    logical(c_bool), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_bool(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    logical(c_bool), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_logical(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    logical, pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_logical(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    logical, pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine

  subroutine register_character(rt, array, data, name, flags, kind, place, reduce, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    character(*), pointer, asynchronous, intent(in) :: array(..)
    type(norn_data), intent(inout) :: data
    character(*), intent(in), optional :: name
    integer(c_int32_t), intent(in), optional :: flags, kind
    type(norn_place), intent(in), optional :: place
    type(norn_reduction), intent(in), optional :: reduce
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_register_memory(rt, norn_memory(array), data, name, flags, kind, place, reduce, stat, errmsg)
  end subroutine

  subroutine rebind_character(rt, data, array, stat, errmsg)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    character(*), pointer, asynchronous, intent(in) :: array(..)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call norn_data_rebind_memory(rt, data, norn_memory(array), stat, errmsg)
  end subroutine
end module
