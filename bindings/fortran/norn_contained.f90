! Tells the address of a contained (internal) procedure that uses variables of its host: compilers make a small piece of
! code for it in the host's stack frame, which is gone when the host returns. norn would call it after that.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_contained
  use, intrinsic :: iso_c_binding, only: c_funptr, c_int, c_intptr_t, c_loc, c_ptr
  implicit none
  private
  public :: is_contained, contained_text

  character(*), parameter :: contained_text = "the procedure is contained in another one and uses its variables: its code is " // &
    "on the stack, and gone when that one returns. Give a module procedure"

  ! Farther away than this is no frame of a caller.
  integer(c_intptr_t), parameter :: deepest_stack = 2_c_intptr_t**30

  interface
    integer(c_int) function dladdr(address, found) bind(c)
      import
      type(c_funptr), value :: address
      type(c_ptr), value :: found
    end function
  end interface

contains

  ! The frames of callers lie above the one of this function. Only what is there is looked up among the program's
  ! libraries, one of which may be mapped just above the stack of a thread; the usual procedure costs a subtraction.
  logical function is_contained(procedure)
    type(c_funptr), intent(in) :: procedure
    integer(c_intptr_t), target :: found(4)
    integer(c_intptr_t) :: above
    above = transfer(procedure, above) - transfer(c_loc(found), above)
    is_contained = above > 0 .and. above < deepest_stack
    if (is_contained) is_contained = dladdr(procedure, c_loc(found)) == 0
  end function
end module
