! Tells the address of a contained (internal) procedure that is reached through a small piece of code made at run time, in
! the host's stack frame or on the heap: it is gone when the host returns, and norn would call it after that.
!
! Such code is in no file that the loader has mapped, whichever thread's stack it is on, and every other procedure is. The
! program headers are asked rather than dladdr, which goes through all symbols of a library, and finds nothing in a
! program that is linked statically. (Code that a JIT compiler made is taken for the same; it can be submitted as a
! norn_task, the structure of C, which is not looked at.)
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_contained
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_funloc, c_funptr, c_int, c_int32_t, c_intptr_t, &
    c_loc, c_ptr, c_size_t
  implicit none
  private
  public :: is_contained, contained_text

  character(*), parameter :: contained_text = "the procedure is contained in another one and reached through code on the " // &
    "stack of that one, which is gone when it returns. Give a module procedure"

  ! dl_phdr_info, as far as it is used, and Elf64_Phdr.
  type, bind(c) :: loaded_object
    integer(c_intptr_t) :: base
    type(c_ptr) :: name, headers
    integer(c_int32_t) :: count ! 16 bits; the padding behind them is not looked at
  end type
  type, bind(c) :: program_header
    integer(c_int32_t) :: kind, flags
    integer(c_intptr_t) :: file_offset, address, physical_address, file_bytes, bytes, alignment
  end type
  integer(c_int32_t), parameter :: pt_load = 1

  type, bind(c) :: search
    integer(c_intptr_t) :: wanted
  end type

  interface
    integer(c_int) function dl_iterate_phdr(callback, arg) bind(c)
      import
      type(c_funptr), value :: callback
      type(c_ptr), value :: arg
    end function
  end interface

contains

  ! No procedure at all is left to norn to refuse. The program itself is the first object: what it holds costs one step.
  logical function is_contained(procedure)
    type(c_funptr), intent(in) :: procedure
    type(search), target :: it
    type(c_funptr) :: callback
    is_contained = .false.
    if (.not. c_associated(procedure)) return
    it%wanted = transfer(procedure, it%wanted)
    callback = c_funloc(holds)
    is_contained = dl_iterate_phdr(callback, c_loc(it)) == 0
  end function

  ! 1, which ends the search, where the object holds the address.
  integer(c_int) function holds(object, info_bytes, arg) bind(c, name="")
    type(loaded_object), intent(in) :: object
    integer(c_size_t), value :: info_bytes
    type(c_ptr), value :: arg
    type(search), pointer :: it
    type(program_header), pointer :: headers(:)
    integer(c_intptr_t) :: inside
    integer :: i
    associate (not_used => info_bytes)
    end associate
    call c_f_pointer(arg, it)
    call c_f_pointer(object%headers, headers, [iand(object%count, int(z"ffff", c_int32_t))])
    holds = 0
    do i = 1, size(headers)
      if (headers(i)%kind /= pt_load) cycle
      inside = it%wanted - object%base - headers(i)%address
      if (inside >= 0 .and. inside < headers(i)%bytes) holds = 1
    end do
  end function
end module
