! Where an array lies in memory, for registering it as a datum.
!
! The dummy arguments are pointers with INTENT(IN), of any rank: then the actual argument must be a target (or a pointer),
! an expression is no target, and no compiler makes a temporary copy of a section, which it may for every other kind of
! dummy argument. So a wrong argument does not compile, and a section that is not contiguous arrives as what it is.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_memory_of
  use, intrinsic :: iso_c_binding, only: c_associated, c_bool, c_f_pointer, c_f_procpointer, c_funloc, c_int8_t, c_int32_t, &
    c_int64_t, c_intptr_t, c_loc, c_null_ptr, c_ptr, c_ptrdiff_t, c_size_t
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  implicit none
  private
  public :: norn_memory, norn_memory_problem

  ! What can be wrong with an array.
  enum, bind(c)
    enumerator :: fine = 0, absent, scattered, endless
  end enum

  ! The memory of an array. What is wrong with it is reported where it is used.
  type :: norn_memory
    type(c_ptr) :: address = c_null_ptr
    integer(c_int64_t) :: bytes = 0
    integer :: problem = fine
  end type

  ! norn_memory(array): a variable of any intrinsic type (8-bit characters, kinds up to 8 bytes) and any rank, a target.
  interface norn_memory
    procedure of_int8, of_int16, of_int32, of_int64, of_real32, of_real64, of_complex32, of_complex64, of_bool, of_logical, &
      of_character
  end interface

  ! The head of a C descriptor: the standard fixes the order of the first two, and that the dimensions come last. The
  ! rest is as in GCC and Flang, and is trusted where the extents agree with SIZE. IS_CONTIGUOUS alone would do, but GCC
  ! answers wrongly for sections with extents of 1.
  type, bind(c) :: c_dimension
    integer(c_ptrdiff_t) :: lower_bound, extent, stride
  end type
  type, bind(c) :: c_descriptor
    type(c_ptr) :: base
    integer(c_size_t) :: element_bytes
    integer(c_int32_t) :: version
    integer(c_int8_t) :: small(4)
    type(c_dimension) :: dimensions(15)
  end type
  type, bind(c) :: head
    type(c_ptr) :: base
    integer(c_size_t) :: element_bytes
    integer(c_int64_t) :: extents(15)
    integer(c_int64_t) :: strides(15)
  end type
  abstract interface
    subroutine head_of(array, rank, found) bind(c)
      import
      type(*), dimension(..), intent(in), target :: array
      integer(c_int32_t), value :: rank
      type(head), intent(inout) :: found
    end subroutine
  end interface

contains

  ! The C side of `head_of`: an assumed-rank argument arrives as the address of its descriptor.
  subroutine read_head(descriptor, rank, found) bind(c, name="")
    type(c_ptr), value :: descriptor
    integer(c_int32_t), value :: rank
    type(head), intent(inout) :: found
    type(c_descriptor), pointer :: it
    call c_f_pointer(descriptor, it)
    found%base = it%base
    found%element_bytes = it%element_bytes
    found%extents(:rank) = it%dimensions(:rank)%extent
    found%strides(:rank) = it%dimensions(:rank)%stride
  end subroutine

  ! `element_bits`: of the declared type. GCC gives a component of an array of structures (a%x) the element size of the
  ! structure; the two differ then.
  function described(array, element_bits) result(memory)
    type(*), dimension(..), intent(in), target :: array
    integer, intent(in) :: element_bits
    type(norn_memory) :: memory
    procedure(head_of), pointer :: get
    type(head) :: found
    integer(c_int64_t) :: element_bytes, run
    logical :: trusted, dense
    integer :: i

    call c_f_procpointer(c_funloc(read_head), get)
    call get(array, int(rank(array), c_int32_t), found)
    if (.not. c_associated(found%base)) memory%problem = absent
    if (size(array, kind=c_int64_t) < 0) memory%problem = endless
    if (memory%problem /= fine) return

    element_bytes = element_bits / 8
    run = element_bytes
    trusted = .true.
    dense = .true.
    do i = 1, rank(array)
      trusted = trusted .and. found%extents(i) == size(array, i, c_int64_t)
      if (found%extents(i) > 1) dense = dense .and. found%strides(i) == run
      run = run * size(array, i, c_int64_t)
    end do
    if (.not. trusted) dense = is_contiguous(array)
    memory%bytes = run
    ! Nothing lies in an array of no elements: to norn it is a name to order by.
    if (run == 0) return
    memory%address = found%base
    if (.not. dense .or. found%element_bytes /= element_bytes) memory%problem = scattered
  end function

  ! Why an array cannot be a datum; empty: it can.
  function norn_memory_problem(memory) result(problem)
    type(norn_memory), intent(in) :: memory
    character(:), allocatable :: problem
    select case (memory%problem)
    case (fine)
      problem = ""
    case (absent)
      problem = "the array is not allocated, or a pointer that is not associated"
    case (endless)
      problem = "the array has assumed size (*), and nobody knows where it ends: register a(1:n)"
    case default
      problem = "the array is a section that is not contiguous: register the whole array, or contiguous pieces of it"
    end select
  end function

  function of_int8(array) result(memory)
    integer(int8), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_int16(array) result(memory)
    integer(int16), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_int32(array) result(memory)
    integer(int32), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_int64(array) result(memory)
    integer(int64), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_real32(array) result(memory)
    real(real32), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_real64(array) result(memory)
    real(real64), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_complex32(array) result(memory)
    complex(real32), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_complex64(array) result(memory)
    complex(real64), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_bool(array) result(memory)
    logical(c_bool), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  function of_logical(array) result(memory)
    logical, pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    memory = described(array, storage_size(array))
  end function

  ! GCC says of a section of substrings (a(:)(2:3)) that it were contiguous; the distance of two elements tells.
  function of_character(array) result(memory)
    character(*), pointer, asynchronous, intent(in) :: array(..)
    type(norn_memory) :: memory
    type(c_ptr) :: second
    memory = described(array, 8 * len(array))
    if (memory%problem /= fine .or. memory%bytes == 0) return
    second = c_null_ptr
    select rank (array)
    rank (1)
      if (size(array, 1) > 1) second = c_loc(array(lbound(array, 1) + 1))
    rank (2)
      if (size(array, 1) > 1) second = c_loc(array(lbound(array, 1) + 1, lbound(array, 2)))
    rank (3)
      if (size(array, 1) > 1) second = c_loc(array(lbound(array, 1) + 1, lbound(array, 2), lbound(array, 3)))
    rank (4)
      if (size(array, 1) > 1) second = c_loc(array(lbound(array, 1) + 1, lbound(array, 2), lbound(array, 3), lbound(array, 4)))
    rank (5)
      if (size(array, 1) > 1) second = c_loc(array(lbound(array, 1) + 1, lbound(array, 2), &
        lbound(array, 3), lbound(array, 4), lbound(array, 5)))
    rank (6)
      if (size(array, 1) > 1) second = c_loc(array(lbound(array, 1) + 1, lbound(array, 2), lbound(array, 3), &
        lbound(array, 4), lbound(array, 5), lbound(array, 6)))
    rank (7)
      if (size(array, 1) > 1) second = c_loc(array(lbound(array, 1) + 1, lbound(array, 2), lbound(array, 3), &
        lbound(array, 4), lbound(array, 5), lbound(array, 6), lbound(array, 7)))
    end select
    if (.not. c_associated(second)) return
    if (transfer(second, 0_c_intptr_t) - transfer(memory%address, 0_c_intptr_t) /= len(array)) memory%problem = scattered
  end function
end module
