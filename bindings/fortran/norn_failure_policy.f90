! What becomes of the status of a call: stat and errmsg as Fortran has them, or the failure policy of the runtime.
!
! Without stat an error is one more first cause for the runtime: the text is given to a promise that fails. So
! norn_config.on_failure decides: ABORT ends the job (under MPI all of it), CALL calls the application's callback, which
! may do the same. Where the policy lets the call come back there is nobody to tell, and the image stops with the text.
!
! SPDX-License-Identifier: Apache-2.0 OR MIT
module norn_failure_policy
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int32_t, c_int64_t, c_loc, c_null_char, &
    c_null_ptr, c_ptr, c_size_t
  use norn_c, only: NORN_OK, norn_runtime, norn_token, c_await => norn_await, c_fail => norn_fail, &
    c_intern => norn_intern, c_last_error => norn_last_error, c_promise => norn_promise, c_status_name => norn_status_name
  implicit none
  private
  public :: conclude, stop_with, c_text, norn_last_error, norn_status_name, norn_text

  ! Names that C has too are generic everywhere in this binding: GCC compares a procedure with the C function of its name.

  ! Text of the calling thread's last error.
  interface norn_last_error
    procedure last_error
  end interface

  ! Name of a status, such as "NORN_E_INVALID".
  interface norn_status_name
    procedure status_name
  end interface

  ! The text of a C string: a pointer, or an array of characters as in norn_error_info.
  interface norn_text
    procedure text_at, text_of_array
  end interface

  ! How long a stopping image waits for the policy, which another thread may have to carry out.
  integer(c_int64_t), parameter :: policy_timeout_ns = 10000000000_c_int64_t

  interface
    pure integer(c_size_t) function strlen(text) bind(c)
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! Hands the status of `call` to its caller. `text`: the binding's own sentence; without it norn's last one.
  subroutine conclude(status, call, rt, stat, errmsg, text)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: call
    type(norn_runtime), intent(in) :: rt
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(*), intent(in), optional :: text

    if (present(stat)) stat = int(status)
    if (status == NORN_OK) return
    if (present(text)) then
      call report(norn_status_name(int(status)) // ": " // text)
    else
      call report(norn_status_name(int(status)) // ": " // norn_last_error())
    end if

  contains

    subroutine report(sentence)
      character(*), intent(in) :: sentence
      if (present(errmsg)) errmsg = sentence
      if (.not. present(stat)) call stop_with(status, call, rt, sentence)
    end subroutine
  end subroutine

  ! Does not come back.
  subroutine stop_with(status, call, rt, sentence)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: call, sentence
    type(norn_runtime), intent(in) :: rt
    character(kind=c_char, len=:), allocatable, target :: name, message
    type(c_ptr) :: lasting
    type(norn_token) :: promise
    integer(c_int32_t) :: ignored

    ! A runtime that is closed, or no runtime, has no policy; every step then fails and is passed over.
    name = c_text(call)
    message = c_text(sentence)
    if (c_intern(rt, c_loc(name), lasting) == NORN_OK) then
      if (c_promise(rt, lasting, promise) == NORN_OK) then
        if (c_fail(rt, promise, status, c_loc(message)) == NORN_OK) ignored = c_await(rt, promise, policy_timeout_ns)
      end if
    end if
    error stop call // ": " // sentence
  end subroutine

  ! As C wants it: without the blanks that fill up a Fortran string, zero-terminated.
  pure function c_text(text) result(copy)
    character(*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: copy
    copy = trim(text) // c_null_char
  end function

  function text_at(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: copy
    character(kind=c_char), pointer :: letters(:)
    if (.not. c_associated(text)) then
      copy = ""
      return
    end if
    call c_f_pointer(text, letters, [strlen(text)])
    copy = from_letters(letters)
  end function

  pure function text_of_array(letters) result(copy)
    character(kind=c_char), intent(in) :: letters(:)
    character(:), allocatable :: copy
    integer :: length
    length = findloc(letters == c_null_char, .true., dim=1) - 1
    if (length < 0) length = size(letters)
    copy = from_letters(letters(:length))
  end function

  pure function from_letters(letters) result(copy)
    character(kind=c_char), intent(in) :: letters(:)
    character(:), allocatable :: copy
    integer :: i
    allocate(character(len=size(letters)) :: copy)
    do i = 1, size(letters)
      copy(i:i) = letters(i)
    end do
  end function

  function last_error() result(text)
    character(:), allocatable :: text
    text = text_at(c_last_error())
  end function

  function status_name(status) result(name)
    integer, intent(in) :: status
    character(:), allocatable :: name
    name = text_at(c_status_name(int(status, c_int32_t)))
  end function
end module
