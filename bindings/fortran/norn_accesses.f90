! Accesses of tasks to data, and how an array of them goes to C.
!
! An access may carry the memory of the array that the caller means: norn_read(data, norn_memory(u)). It is then compared
! with what the datum was registered with, each time: an array that an assignment has allocated anew is found at the next
! call that names it, in every mode.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_accesses
  use, intrinsic :: iso_c_binding, only: c_associated, c_int32_t, c_int64_t, c_null_ptr, c_ptr
  use norn_c, only: NORN_ACCESS_COMMUTE, NORN_ACCESS_READ, NORN_ACCESS_READ_WRITE, NORN_ACCESS_REDUCE, NORN_ACCESS_WRITE, &
    NORN_E_INVALID, NORN_E_STATE, NORN_OK, norn_data, norn_runtime, c_access => norn_access, c_pointer => norn_data_pointer
  use norn_memory_of, only: norn_memory, norn_memory_problem
  implicit none
  private
  public :: norn_access, norn_read, norn_write, norn_update, norn_commute, norn_reduce_into
  public :: compare_memory, to_c

  type :: norn_access
    type(norn_data) :: data
    ! A place that norn_reserve gave, or 0.
    integer(c_int64_t) :: slot = 0
    integer(c_int32_t) :: mode = NORN_ACCESS_READ
    type(norn_memory) :: memory
    logical :: names_memory = .false.
  end type

  interface norn_read
    procedure read_datum, read_memory
  end interface
  interface norn_write
    procedure write_datum, write_memory
  end interface
  interface norn_update
    procedure update_datum, update_memory
  end interface
  interface norn_commute
    procedure commute_datum, commute_memory
  end interface
  interface norn_reduce_into
    procedure reduce_datum
  end interface

contains

  ! The C form. `status` and `problem` say what is wrong with an access.
  subroutine to_c(rt, accesses, c_accesses, status, problem)
    type(norn_runtime), intent(in) :: rt
    type(norn_access), intent(in) :: accesses(:)
    type(c_access), intent(out) :: c_accesses(:)
    integer(c_int32_t), intent(out) :: status
    character(:), allocatable, intent(out) :: problem
    character(12) :: number
    integer :: i
    status = NORN_OK
    do i = 1, size(accesses)
      c_accesses(i) = c_access(accesses(i)%data, accesses(i)%slot, accesses(i)%mode, 0)
      if (.not. accesses(i)%names_memory) cycle
      call compare_memory(rt, accesses(i)%data, accesses(i)%memory, status, problem)
      if (status == NORN_OK) cycle
      write (number, "(i0)") i
      if (allocated(problem)) problem = "access " // trim(number) // ": " // problem
      return
    end do
  end subroutine

  ! Whether a datum is still where the array is; in a body that reduces it, whether the array is the private copy: norn
  ! does not say which of the two an address is. `problem` stays unallocated where the text is norn's own.
  subroutine compare_memory(rt, data, memory, status, problem)
    type(norn_runtime), intent(in) :: rt
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in) :: memory
    integer(c_int32_t), intent(out) :: status
    character(:), allocatable, intent(out) :: problem
    type(c_ptr) :: address
    integer(c_int64_t) :: bytes
    character(20) :: is, was
    character(:), allocatable :: wrong

    wrong = norn_memory_problem(memory)
    if (len(wrong) > 0) then
      status = NORN_E_INVALID
      problem = wrong
      return
    end if
    status = c_pointer(rt, data, address, bytes)
    if (status /= NORN_OK) return
    if (bytes /= memory%bytes) then
      write (is, "(i0)") memory%bytes
      write (was, "(i0)") bytes
      status = NORN_E_STATE
      problem = "the array has " // trim(is) // " bytes, the datum " // trim(was) // &
        ": was it allocated anew, by an assignment? norn_data_rebind tells norn"
    else if (bytes > 0 .and. .not. c_associated(address, memory%address)) then
      status = NORN_E_STATE
      problem = "the array is not where the datum is: was it allocated anew, by an assignment (norn_data_rebind tells " // &
        "norn), or is it another array? In a body that reduces the datum, it is the private copy (norn_data_pointer)"
    end if
  end subroutine

  ! Reads; runs beside other readers.
  elemental function read_datum(data) result(access)
    type(norn_data), intent(in) :: data
    type(norn_access) :: access
    access%data = data
    access%mode = NORN_ACCESS_READ
  end function

  elemental function read_memory(data, memory) result(access)
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in) :: memory
    type(norn_access) :: access
    access = norn_access(data, mode=NORN_ACCESS_READ, memory=memory, names_memory=.true.)
  end function

  ! Overwrites all of it without reading it. Heals a failed datum.
  elemental function write_datum(data) result(access)
    type(norn_data), intent(in) :: data
    type(norn_access) :: access
    access%data = data
    access%mode = NORN_ACCESS_WRITE
  end function

  elemental function write_memory(data, memory) result(access)
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in) :: memory
    type(norn_access) :: access
    access = norn_access(data, mode=NORN_ACCESS_WRITE, memory=memory, names_memory=.true.)
  end function

  ! Reads and writes.
  elemental function update_datum(data) result(access)
    type(norn_data), intent(in) :: data
    type(norn_access) :: access
    access%data = data
    access%mode = NORN_ACCESS_READ_WRITE
  end function

  elemental function update_memory(data, memory) result(access)
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in) :: memory
    type(norn_access) :: access
    access = norn_access(data, mode=NORN_ACCESS_READ_WRITE, memory=memory, names_memory=.true.)
  end function

  ! Reads and writes, in any order with its neighbours of this mode.
  elemental function commute_datum(data) result(access)
    type(norn_data), intent(in) :: data
    type(norn_access) :: access
    access%data = data
    access%mode = NORN_ACCESS_COMMUTE
  end function

  elemental function commute_memory(data, memory) result(access)
    type(norn_data), intent(in) :: data
    type(norn_memory), intent(in) :: memory
    type(norn_access) :: access
    access = norn_access(data, mode=NORN_ACCESS_COMMUTE, memory=memory, names_memory=.true.)
  end function

  ! Adds into a private copy, which norn_data_pointer gives.
  elemental function reduce_datum(data) result(access)
    type(norn_data), intent(in) :: data
    type(norn_access) :: access
    access%data = data
    access%mode = NORN_ACCESS_REDUCE
  end function
end module
