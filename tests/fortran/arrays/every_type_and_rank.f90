! Arrays of every intrinsic type and of every rank become data of their own memory, without a copy.
module seen
  use check
  use norn
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  implicit none
  type(norn_runtime) :: rt
contains
  subroutine lies_at(data, address, bytes, what)
    type(norn_data), intent(in) :: data
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: bytes
    character(*), intent(in) :: what
    type(c_ptr) :: found
    integer(c_int64_t) :: length
    call norn_data_pointer(rt, data, found, length)
    call expect(c_associated(found, address), what // " is registered where it lies")
    call expect_equal(length, int(bytes, c_int64_t), what // " bytes")
    call norn_data_unregister(rt, data)
  end subroutine
end module

program test
  use seen
  implicit none
  type(norn_data) :: data
  integer(int8), target :: i8(3)
  integer(int16), target :: i16(3)
  integer(int32), target :: i32(3)
  integer(int64), target :: i64(3)
  real(real32), target :: r32(3)
  real(real64), target :: r64(3)
  complex(real32), target :: c32(3)
  complex(real64), target :: c64(3)
  logical(c_bool), target :: bool(3)
  logical, target :: flag(3)
  character(5), target :: text(3)
  character, target :: letters(3)
  real, target :: x0, x1(2), x2(2, 3), x3(2, 3, 2), x4(2, 3, 2, 2), x5(2, 3, 2, 2, 2), x6(2, 3, 2, 2, 2, 2), &
    x7(2, 3, 2, 2, 2, 2, 2)
  real(real64), allocatable, target :: heap(:, :), low(:)
  real(real64), pointer :: view(:)
  type :: field
    real(real64), allocatable :: u(:, :)
    real(real64) :: w(3)
  end type
  type(field), target :: f

  call norn_open(rt)
  call norn_data_register(rt, i8, data);  call lies_at(data, c_loc(i8), 3, "int8")
  call norn_data_register(rt, i16, data); call lies_at(data, c_loc(i16), 6, "int16")
  call norn_data_register(rt, i32, data); call lies_at(data, c_loc(i32), 12, "int32")
  call norn_data_register(rt, i64, data); call lies_at(data, c_loc(i64), 24, "int64")
  call norn_data_register(rt, r32, data); call lies_at(data, c_loc(r32), 12, "real32")
  call norn_data_register(rt, r64, data); call lies_at(data, c_loc(r64), 24, "real64")
  call norn_data_register(rt, c32, data); call lies_at(data, c_loc(c32), 24, "complex32")
  call norn_data_register(rt, c64, data); call lies_at(data, c_loc(c64), 48, "complex64")
  call norn_data_register(rt, bool, data); call lies_at(data, c_loc(bool), 3, "logical(c_bool)")
  call norn_data_register(rt, flag, data); call lies_at(data, c_loc(flag), 3 * storage_size(flag) / 8, "logical")
  call norn_data_register(rt, text, data); call lies_at(data, c_loc(text), 15, "character(5)")
  call norn_data_register(rt, letters, data); call lies_at(data, c_loc(letters), 3, "character")

  call norn_data_register(rt, x0, data); call lies_at(data, c_loc(x0), 4, "scalar")
  call norn_data_register(rt, x1, data); call lies_at(data, c_loc(x1), 8, "rank 1")
  call norn_data_register(rt, x2, data); call lies_at(data, c_loc(x2), 24, "rank 2")
  call norn_data_register(rt, x3, data); call lies_at(data, c_loc(x3), 48, "rank 3")
  call norn_data_register(rt, x4, data); call lies_at(data, c_loc(x4), 96, "rank 4")
  call norn_data_register(rt, x5, data); call lies_at(data, c_loc(x5), 192, "rank 5")
  call norn_data_register(rt, x6, data); call lies_at(data, c_loc(x6), 384, "rank 6")
  call norn_data_register(rt, x7, data); call lies_at(data, c_loc(x7), 768, "rank 7")

  ! Allocatables, components, pointers, bounds that do not begin with 1, contiguous sections.
  allocate (heap(4, 5), low(-3:3), f%u(2, 2))
  call norn_data_register(rt, heap, data); call lies_at(data, c_loc(heap), 160, "allocatable")
  call norn_data_register(rt, heap(:, 2:3), data); call lies_at(data, c_loc(heap(1, 2)), 64, "columns")
  call norn_data_register(rt, heap(2:3, 4), data); call lies_at(data, c_loc(heap(2, 4)), 16, "part of a column")
  call norn_data_register(rt, heap(3, 3), data); call lies_at(data, c_loc(heap(3, 3)), 8, "element")
  call norn_data_register(rt, low, data); call lies_at(data, c_loc(low), 56, "bounds below 1")
  call norn_data_register(rt, f%u, data); call lies_at(data, c_loc(f%u), 32, "allocatable component")
  call norn_data_register(rt, f%w, data); call lies_at(data, c_loc(f%w), 24, "component")
  view => heap(:, 4)
  call norn_data_register(rt, view, data); call lies_at(data, c_loc(heap(1, 4)), 32, "pointer")
  call explicit(heap, 4, 5)
  call assumed(heap)

  ! Without an own form: a derived type, described by its address.
  call norn_data_register_memory(rt, norn_memory(c_loc(f), storage_size(f, c_int64_t) / 8), data)
  call lies_at(data, c_loc(f), storage_size(f) / 8, "derived type")
  call norn_close(rt)

contains

  subroutine explicit(a, n, m)
    integer, intent(in) :: n, m
    real(real64), intent(inout), target :: a(n, m)
    call norn_data_register(rt, a, data); call lies_at(data, c_loc(heap), 160, "explicit shape")
  end subroutine

  subroutine assumed(a)
    real(real64), intent(inout), target :: a(:, :)
    call norn_data_register(rt, a, data); call lies_at(data, c_loc(heap), 160, "assumed shape")
  end subroutine
end program
